//! The parts of the library, against loops.

mod launch;

use launch::{Given, Random, Watched, bytes_of, machines, values_of};
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::math::Float;
use warpfold_device::operator::*;
use warpfold_example_kernels::parts::{Affine, Compose, Grouped, Parts, Raked};
use warpfold_example_kernels::{for_each_atomic, for_each_reduction};

/// With reductions of a warp by one instruction, and without.
const PTX: [(&str, u32); 2] = [
    (include_str!("../ptx/parts.sm_70.ptx"), 70),
    (include_str!("../ptx/parts.sm_80.ptx"), 80),
];

/// Blocks of every kind: less than a warp, whole warps, cut ones, the largest.
const BLOCKS: [u32; 14] = [1, 2, 7, 31, 32, 33, 63, 64, 96, 100, 512, 993, 1023, 1024];

fn maps(count: u32, seed: u64) -> Vec<Affine> {
    let mut random = Random(seed);
    let mut word = || random.next().unwrap() as u32;
    (0..count)
        .map(|_| Affine {
            factor: word() | 1,
            term: word(),
        })
        .collect()
}

fn fold(maps: &[Affine]) -> Affine {
    let compose = |left, &right| Compose.combine(left, right);
    maps.iter().fold(Compose.identity(), compose)
}

/// What each thread of a group must get; what only the first gets is 0 in the others.
fn expected(group: &[Affine]) -> impl Iterator<Item = Parts> + '_ {
    let sum = group
        .iter()
        .fold(0, |sum: i32, map| sum.wrapping_add(map.factor as i32));
    let max = group.iter().map(|map| map.factor).max().unwrap();
    (0..group.len()).map(move |rank| Parts {
        reduced: fold(group),
        inclusive: fold(&group[..=rank]),
        exclusive: fold(&group[..rank]),
        sum,
        max,
    })
}

/// Compares all that threads got in groups of `size` of each block.
#[track_caller]
fn compare(maps: &[Affine], found: &[Parts], block: usize, size: usize, what: &str) {
    let groups = maps.chunks(block).flat_map(|block| block.chunks(size));
    let mut thread = 0;
    for group in groups {
        for (rank, expected) in expected(group).enumerate() {
            let mut found = found[thread];
            if rank > 0 {
                (found.reduced, found.max) = (expected.reduced, expected.max);
            }
            assert_eq!(found, expected, "{what}, thread {thread}, rank {rank}");
            thread += 1;
        }
    }
}

#[test]
fn warps_in_sections_of_every_width() {
    for (ptx, sm) in PTX {
        for machine in machines(ptx, sm) {
            for block in BLOCKS {
                let maps = maps(2 * block, 1);
                let arguments = [Given::values(&maps), Given::room::<Parts>(maps.len())];
                for width in [1, 2, 4, 8, 16, 32] {
                    let kernel = format!("warp_{width}");
                    let left = machine.launch(&kernel, (2, block), &arguments, 1);
                    let what = format!("{kernel}, block {block}, sm_{sm}");
                    // A section is cut short by its block, and a warp begins with its block.
                    compare(&maps, &values_of(&left[1]), block as usize, width, &what);
                }
            }
        }
    }
}

#[test]
fn blocks_of_every_size() {
    for (ptx, sm) in PTX {
        for machine in machines(ptx, sm) {
            for block in BLOCKS {
                let maps = maps(3 * block, 2);
                let arguments = [
                    Given::values(&maps),
                    Given::room::<Parts>(maps.len()),
                    Given::room::<Affine>(maps.len()),
                ];
                let left = machine.launch("block_parts", (3, block), &arguments, 1);
                let (found, totals) = (values_of(&left[1]), values_of::<Affine>(&left[2]));
                let size = block as usize;
                compare(
                    &maps,
                    &found,
                    size,
                    size,
                    &format!("block {block}, sm_{sm}"),
                );
                for (thread, total) in totals.into_iter().enumerate() {
                    assert_eq!(total, fold(maps.chunks(size).nth(thread / size).unwrap()));
                }
            }
        }
    }
}

#[test]
fn a_block_of_one_warp_needs_no_memory() {
    for (ptx, sm) in PTX {
        for machine in machines(ptx, sm) {
            for block in 1..=32 {
                let values: Vec<u64> = Random(block).take(2 * block as usize).collect();
                let arguments = [Given::values(&values), Given::room::<u64>(2)];
                let left = machine.launch("little_block", (2, block as u32), &arguments, 1);
                let sums = values.chunks(block as usize);
                let sums: Vec<u64> = sums
                    .map(|values| values.iter().fold(0, |a: u64, &b| a.wrapping_add(b)))
                    .collect();
                assert_eq!(values_of::<u64>(&left[1]), sums, "block {block}");
            }
        }
    }
}

#[test]
fn blocks_of_every_size_are_raked() {
    let sum = |values: &[u64], lift: fn(u64) -> u64| {
        let lifted = values.iter().map(|&value| lift(value));
        lifted.fold(0, u64::wrapping_add)
    };
    for (ptx, sm) in PTX {
        for block in BLOCKS
            .into_iter()
            .chain([34, 129, 511, 513, 514, 515, 1000])
        {
            let values: Vec<u64> = Random(block.into()).take(2 * block as usize).collect();
            let arguments = [Given::values(&values), Given::room::<Raked>(2)];
            if [1, 33, 100, 512, 515, 1024].contains(&block) {
                let mut watched = Watched::new(ptx, "raking", (2, block), &arguments);
                watched.is_clean();
                watched.is_the_same_in(20);
            }
            let raked = values.chunks(block as usize).map(|values| Raked {
                product: (values.iter()).fold(1, |a: u32, &b| a.wrapping_mul(b as u32 | 1)),
                greatest: values.iter().map(|&value| value as u32).max().unwrap(),
                sum: sum(values, |value| value),
                sum_of_few: if block <= 100 {
                    sum(values, |value| value)
                } else {
                    0
                },
                sums: [
                    sum(values, |value| value),
                    sum(values, |value| value.wrapping_mul(value)),
                ],
            });
            let raked: Vec<Raked> = raked.collect();
            for machine in machines(ptx, sm) {
                let left = machine.launch("raking", (2, block), &arguments, 1);
                let found: Vec<Raked> = values_of(&left[1]);
                assert_eq!(found, raked, "block {block}, sm_{sm}");
            }
        }
    }
}

#[test]
fn parts_are_clean_in_every_order() {
    for (ptx, _) in PTX {
        for block in [7, 33, 100, 256] {
            let maps = maps(2 * block, 3);
            let (values, room) = (Given::values(&maps), Given::room::<Parts>(maps.len()));
            let totals = Given::room::<Affine>(maps.len());
            let arguments = [values.clone(), room.clone(), totals];
            let mut watched = Watched::new(ptx, "block_parts", (2, block), &arguments);
            watched.is_clean();
            watched.is_the_same_in(20);
            for width in [1, 4, 32] {
                let kernel = format!("warp_{width}");
                let arguments = [values.clone(), room.clone()];
                let mut watched = Watched::new(ptx, &kernel, (2, block), &arguments);
                watched.is_clean();
                watched.is_the_same_in(20);
            }
        }
    }
}

#[test]
fn groups_of_every_kind() {
    for (ptx, sm) in PTX {
        for block in [8, 32, 40, 64, 256, 1000, 1024] {
            let numbers = Random(block.into()).take(2 * block as usize);
            // The parity of neighbours differs at random; of some warps it is the same.
            let values: Vec<i32> = numbers
                .enumerate()
                .map(|(place, number)| {
                    let number = number as i32 >> 8;
                    if place / 32 % 3 == 1 {
                        number * 2
                    } else {
                        number
                    }
                })
                .collect();
            let arguments = [Given::values(&values), Given::room::<Grouped>(values.len())];
            if block < 300 {
                let mut watched = Watched::new(ptx, "groups", (2, block), &arguments);
                watched.is_clean();
                watched.is_the_same_in(20);
            }
            for machine in machines(ptx, sm) {
                let left = machine.launch("groups", (2, block), &arguments, 1);
                let found = values_of::<Grouped>(&left[1]);
                let sum = |values: &[i32]| values.iter().fold(0, |a: i32, &b| a.wrapping_add(b));
                for (thread, found) in found.into_iter().enumerate() {
                    let size = block as usize;
                    let (in_block, of_block) = (thread % size, thread / size * size);
                    let warp_end = (in_block / 32 * 32 + 32).min(size);
                    let parity = |place: &usize| values[*place] & 1 == values[thread] & 1;
                    let alike: Vec<usize> = (of_block + in_block / 32 * 32..of_block + warp_end)
                        .filter(parity)
                        .collect();
                    let rank = alike.iter().position(|&place| place == thread).unwrap();
                    assert_eq!((found.rank, found.size), (rank as u32, alike.len() as u32));
                    let of_parity =
                        sum(&alike.iter().map(|&place| values[place]).collect::<Vec<_>>());
                    if rank == 0 {
                        let both = (found.of_parity, found.of_parity_in_memory);
                        assert_eq!(both, (of_parity, of_parity), "thread {thread} of {block}");
                    }
                    if thread % 8 == 0 {
                        assert_eq!(found.of_tile, sum(&values[thread..thread + 8]));
                    }
                    if in_block == 0 {
                        assert_eq!(found.of_block, sum(&values[of_block..of_block + size]));
                    }
                }
            }
        }
    }
}

/// Values of a type from a few words: the bytes as they are, and small whole numbers where those would be no numbers.
trait Few: Copy {
    fn of(word: u64) -> Self;
}

macro_rules! few {
    ($($value:ty: |$word:ident| $made:expr;)*) => {$(
        impl Few for $value {
            fn of($word: u64) -> Self {
                $made
            }
        }
    )*};
}

few! {
    i8: |word| word as i8;
    u8: |word| (word % 3) as u8;
    u16: |word| word as u16;
    i32: |word| word as i32;
    u32: |word| word as u32;
    i64: |word| word as i64;
    u64: |word| word;
    f32: |word| (word % 64) as f32 - 31.0;
    f64: |word| (word % 1000) as f64 - 500.0;
    F16: |word| F16::from_f32((word % 16) as f32 - 8.0);
    Bool: |word| Bool(u8::from(word.is_multiple_of(5)) * 7);
}

fn few<T: Few>(n: usize) -> Vec<T> {
    Random(n as u64).take(n).map(T::of).collect()
}

macro_rules! in_turns {
    ($($name:ident: $operator:ident, $value:ty;)*) => {$({
        type State = <$operator as Operator<$value>>::State;
        for (ptx, sm) in PTX {
            for machine in machines(ptx, sm) {
                for (n, places, shape) in [(0, 0, (1, 32)), (1, 1, (2, 33)), (999, 3, (3, 100)), (5000, 0, (4, 256))] {
                    let values = few::<$value>(n);
                    let identity: State = $operator.identity();
                    let arguments = [
                        Given::shifted(&values, places),
                        Given::count(n),
                        Given::values(&[identity]),
                        Given::room::<State>(1),
                    ];
                    let left = machine.launch(stringify!($name), shape, &arguments, 1);
                    // Whole numbers: any order gives the same.
                    let expected = values.iter().fold(identity, |state, &value| {
                        $operator.combine(state, $operator.lift(value, 0))
                    });
                    let what = concat!(stringify!($name), ", the total");
                    assert_eq!(values_of::<State>(&left[2]), [expected], "{what} of {n}, {shape:?}");
                    assert_eq!(left[3], bytes_of(&[identity]), "the next total of {n}");
                    if n == 999 {
                        let mut watched = Watched::new(ptx, stringify!($name), shape, &arguments);
                        watched.is_clean();
                    }
                }
            }
        }
    })*};
}

#[test]
fn totals_in_turns() {
    for_each_atomic! { in_turns }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {$({
        type Output = <$operator as Operator<$value>>::Output;
        let operator: $operator = $make;
        let near = |found: Output, values: &[$value]| {
            let expected: Output = operator.of(values.iter().copied());
            let (found, expected) = (found as f64, expected as f64);
            // From left to right the CPU rounds more often.
            assert!(
                found == expected || (found - expected).abs() <= 1e-4 * expected.abs() || found.is_nan() && expected.is_nan(),
                "{} of {} values: {found}, which should be {expected}", stringify!($name), values.len()
            );
        };
        for (ptx, sm) in PTX {
            for machine in machines(ptx, sm) {
                for (n, places, shape) in [(0, 0, (2, 32)), (1, 1, (2, 33)), (998, 3, (3, 100)), (20_000, 1, (2, 256)), (70_000, 0, (2, 1024))] {
                    let values = few::<$value>(n);
                    let arguments = [
                        Given::shifted(&values, places),
                        Given::count(n),
                        Given::slots::<<$operator as Operator<$value>>::State>(shape.0 as usize),
                        Given::values(&[0_u32]),
                        Given::room::<Output>(1),
                    ];
                    let left = machine.launch(stringify!($name), shape, &arguments, 2);
                    near(values_of::<Output>(&left[4])[0], &values);
                    assert!(left[2].iter().chain(&left[3]).all(|&byte| byte == 0), "the slots and the counter");
                    if n == 998 {
                        let mut watched = Watched::new(ptx, stringify!($name), shape, &arguments);
                        watched.is_clean();
                        watched.is_the_same_in(20);
                    }
                }
                for (rows, columns, gap) in [(0, 5, 0), (1, 0, 1), (70, 1, 0), (13, 31, 1), (5, 200, 3), (3, 5001, 0)] {
                    let stride = columns + gap;
                    let values = few::<$value>(rows * stride);
                    for (suffix, number, shape) in
                        [("rows", 1, (2, 100)), ("rows", 3, (4, 65)), ("rows", 40, (7, 48)), ("short_rows", 1, (3, 96)), ("short_rows", 8, (1, 64)), ("short_rows", 32, (3, 96))]
                    {
                        let mut arguments = vec![
                            Given::values(&values),
                            Given::count(rows),
                            Given::count(columns),
                            Given::count(stride),
                            Given::count(0),
                            Given::Number(u32::into(number)),
                        ];
                        if suffix == "rows" {
                            arguments.push(Given::slots::<<$operator as Operator<$value>>::State>(rows * number as usize));
                            arguments.push(Given::values(&vec![0_u32; rows]));
                        }
                        arguments.push(Given::room::<Output>(rows));
                        let kernel = format!("{}_{suffix}", stringify!($name));
                        // Twice, because a launch leaves the counters to the next.
                        let left = machine.launch(&kernel, shape, &arguments, 2);
                        let found = values_of::<Output>(left.last().expect("there are arguments"));
                        assert_eq!(found.len(), rows);
                        for (row, found) in values.chunks(stride).zip(found) {
                            near(found, &row[..columns]);
                        }
                        if columns == 200 {
                            let mut watched = Watched::new(ptx, &kernel, shape, &arguments);
                            watched.is_clean();
                            watched.is_the_same_in(5);
                        }
                    }
                }
                for (rows, columns, gap) in [(3, 200, 1), (2, 5001, 0)] {
                    let stride = columns + gap;
                    let values = few::<$value>(rows * stride);
                    let matrix =
                        [Given::values(&values), Given::count(rows), Given::count(columns), Given::count(stride), Given::count(0)];
                    let states = Given::room::<<$operator as Operator<$value>>::State>(rows * 2);
                    let (counters, results) = (Given::values(&vec![0_u32; rows]), Given::room::<Output>(rows));
                    let lanes = Given::Number(32_u32.into());
                    for (suffix, shape, others) in [
                        ("fixed_rows", (3, 256), vec![states, counters, results.clone()]),
                        ("fixed_short_rows", (1, 64), vec![lanes, results]),
                    ] {
                        if suffix == "fixed_short_rows" && columns > 256 {
                            continue;
                        }
                        let kernel = format!("{}_{suffix}", stringify!($name));
                        let arguments = [&matrix[..], &others].concat();
                        let left = machine.launch(&kernel, shape, &arguments, 2);
                        let found = values_of::<Output>(left.last().expect("there are arguments"));
                        for (row, found) in values.chunks(stride).zip(found) {
                            near(found, &row[..columns]);
                        }
                        let mut watched = Watched::new(ptx, &kernel, shape, &arguments);
                        watched.is_clean();
                        watched.is_the_same_in(5);
                    }
                }
                for (rows, columns, places, shape) in [
                    (0, 5, 0, (1, 32)), (1, 1, 0, (1, 32)), (3000, 1, 3, (2, 64)), (700, 4, 0, (1, 256)), (301, 5, 1, (2, 32)), (70, 16, 0, (1, 64)),
                    (45, 17, 7, (1, 32)), (33, 64, 0, (2, 32)), (32, 100, 2, (1, 32)), (9, 127, 0, (1, 32)), (5, 256, 0, (1, 32)), (5, 257, 1, (2, 32)),
                    (3, 2032 / size_of::<$value>(), 1, (1, 32)),
                ] {
                    let values = few::<$value>(rows * columns);
                    let arguments = [Given::shifted(&values, places), Given::count(rows), Given::count(columns), Given::room::<Output>(rows)];
                    let kernel = concat!(stringify!($name), "_packed_rows");
                    let left = machine.launch(kernel, shape, &arguments, 1);
                    let found = values_of::<Output>(&left[3]);
                    assert_eq!(found.len(), rows);
                    for (row, found) in values.chunks(columns).zip(found) {
                        near(found, row);
                    }
                    if rows < 50 {
                        let mut watched = Watched::new(ptx, kernel, shape, &arguments);
                        watched.is_clean();
                        watched.is_the_same_in(5);
                    }
                }
            }
        }
    })*};
}

#[test]
fn whole_arrays_and_rows() {
    for_each_reduction! { reductions }
}

/// The same bits on every machine and on the host.
macro_rules! functions {
    ($value:ident, $bits:ident, $kernel:literal) => {
        let special = [0.0, -0.0, 1.0, $value::INFINITY, $value::NEG_INFINITY, $value::NAN, $value::MIN_POSITIVE, $value::MAX, 1e-40];
        // Of all sizes that a float may have, and of those that an exponential is no 0 or 1 of.
        let by_bits = Random(1).take(3000).map(|word| $value::from_bits(word as $bits));
        let medium = Random(2).take(3000).map(|word| (word % 1_000_000) as $value / 10_000.0 - 50.0);
        let values: Vec<$value> = special.into_iter().chain(by_bits).chain(medium).collect();
        let n = values.len();
        let arguments = [Given::values(&values), Given::room::<[$value; 5]>(n), Given::count(n)];
        for (ptx, sm) in PTX {
            for machine in machines(ptx, sm) {
                let left = machine.launch($kernel, (n.div_ceil(64) as u32, 64), &arguments, 1);
                for (index, found) in values_of::<[$value; 5]>(&left[1]).into_iter().enumerate() {
                    let (value, next) = (values[index], values[(index + 1) % n]);
                    let expected = [
                        (-value.abs()).exp_of_negative(),
                        value.logarithm(),
                        value.abs().square_root(),
                        Float::minimum(value, next),
                        Float::maximum(value, next),
                    ];
                    for (function, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                        assert!(
                            found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                            "function {function} of {value:e} and {next:e} on sm_{sm}: {found:e}, which should be {expected:e}"
                        );
                    }
                }
            }
        }
    };
}

#[test]
fn functions_give_the_same_bits_everywhere() {
    functions!(f32, u32, "functions_f32");
    functions!(f64, u64, "functions_f64");
}

#[test]
fn every_half_is_converted_as_on_the_host() {
    let halves: Vec<F16> = (0..=u16::MAX).map(F16).collect();
    let near_halves = halves.iter().map(|&half| f32::from(half));
    let floats: Vec<f32> = near_halves
        .zip(Random(3))
        .map(|(half, word)| match word % 4 {
            0 => f32::from_bits((word >> 32) as u32),
            1 => half.next_up(),
            2 => f32::from_bits(half.to_bits().wrapping_add(0x1000)),
            _ => half,
        })
        .collect();
    let n = halves.len();
    let arguments = [
        Given::values(&halves),
        Given::values(&floats),
        Given::room::<f32>(n),
        Given::room::<F16>(n),
        Given::room::<Bf16>(n),
    ];
    for (ptx, sm) in PTX {
        for machine in machines(ptx, sm) {
            let left = machine.launch("conversions", (n as u32 / 256, 256), &arguments, 1);
            let widened = values_of::<f32>(&left[2]);
            let (narrowed, brain) = (values_of::<F16>(&left[3]), values_of::<Bf16>(&left[4]));
            for index in 0..n {
                let expected = f32::from(halves[index]);
                assert!(
                    widened[index].to_bits() == expected.to_bits()
                        || widened[index].is_nan() && expected.is_nan(),
                    "{:?}",
                    halves[index]
                );
                let (float, same) = (floats[index], |a: f32, b: f32| {
                    a == b || a.is_nan() && b.is_nan()
                });
                assert!(
                    same(narrowed[index].into(), F16::from_f32(float).into()),
                    "{float:e}: {:?}",
                    narrowed[index]
                );
                assert!(
                    same(brain[index].into(), Bf16::from_f32(float).into()),
                    "{float:e}"
                );
            }
        }
    }
}
