mod billions;
mod queued;

use super::table::{Launch, Way};
use super::*;
use crate::Offset;
use crate::cpu::{self, Order, Parallel};
use crate::device::DeviceChoice;
use crate::{DotProduct, Scan, all, argmax, count_nonzero, mean, min, norm1, product, variance};
use bytemuck::Zeroable;
use proptest::prelude::{Just, ProptestConfig, prop_oneof, proptest};
use std::fmt::Debug;
use warpfold_device::columns::Layout;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;
use warpfold_device::{for_each_accumulator, for_each_element, for_each_operator};

fn emulator() -> Device {
    Device::open(&DeviceChoice::Emulator).expect("there is always an emulator")
}

/// Does something with a test's emulator, which loads a kernel once for all cases.
fn with_emulator<R>(act: impl FnOnce(&Device) -> R) -> R {
    thread_local! {
        static DEVICE: Device = emulator();
    }
    DEVICE.with(act)
}

/// The emulator, and a GPU where there is one.
fn devices() -> Vec<Device> {
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    [emulator()].into_iter().chain(gpu).collect()
}

/// A value of the input.
trait Made: Reducible + Sync {
    /// One of a few whole numbers, so that there are ties, and so that sums lose nothing.
    fn whole(number: u64) -> Self;
    /// Now and then what is no number, or no usual one.
    fn special(number: u64) -> Self;
    /// Of floats one with a fraction, so that sums are rounded.
    fn rough(number: u64) -> Self;
}

/// A result as numbers to compare.
trait Outcome: Debug {
    fn numbers(&self) -> [f64; 2];
}

macro_rules! made {
    ($($value:ty: |$small:ident| $made:expr, |$it:ident| $number:expr;)*) => {$(
        impl Made for $value {
            fn whole(number: u64) -> Self {
                let $small = (number % 13) as i8 - 5;
                $made
            }
            fn special(number: u64) -> Self {
                Self::whole(number / 7)
            }
            fn rough(number: u64) -> Self {
                Self::whole(number)
            }
        }
        made! { @outcome $value: |$it| $number; }
    )*};
    ($(float $value:ty: |$small:ident| $made:expr, |$it:ident| $number:expr;)*) => {$(
        impl Made for $value {
            fn whole(number: u64) -> Self {
                let $small = f32::from((number % 13) as i8 - 5);
                $made
            }
            fn special(number: u64) -> Self {
                let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1.0, 0.0, -0.0];
                let $small = values[(number % 31).min(7) as usize];
                $made
            }
            fn rough(number: u64) -> Self {
                let $small = (number % (1 << 24)) as f32 / 1e6 - 7.0;
                $made
            }
        }
        made! { @outcome $value: |$it| $number; }
    )*};
    (@outcome $value:ty: |$it:ident| $number:expr;) => {
        impl Outcome for $value {
            fn numbers(&self) -> [f64; 2] {
                let $it = *self;
                [$number, 0.0]
            }
        }
    };
}

made! {
    i8: |small| small, |it| it.into();
    u8: |small| small.unsigned_abs(), |it| it.into();
    i16: |small| small.into(), |it| it.into();
    u16: |small| small.unsigned_abs().into(), |it| it.into();
    i32: |small| small.into(), |it| it.into();
    u32: |small| small.unsigned_abs().into(), |it| it.into();
    i64: |small| small.into(), |it| it as f64;
    u64: |small| small.unsigned_abs().into(), |it| it as f64;
    Bool: |small| Bool(small.unsigned_abs()), |it| u32::from(it).into();
}

made! {
    float f32: |small| small, |it| it.into();
    float f64: |small| small.into(), |it| it;
    float F16: |small| Self::from_f32(small), |it| it.into();
    float Bf16: |small| Self::from_f32(small), |it| it.into();
}

impl<T: Outcome> Outcome for Extremes<T> {
    fn numbers(&self) -> [f64; 2] {
        [self.min.numbers()[0], self.max.numbers()[0]]
    }
}

/// Equal to the last bit, or, of numbers that are rounded, nearly equal.
fn is_same(found: f64, expected: f64) -> bool {
    found.to_bits() == expected.to_bits()
        || found.is_nan() && expected.is_nan()
        || found != 0.0 && (found - expected).abs() <= 2e-5 * expected.abs().max(1e-3)
}

/// Rows in memory: how many, how long, how far apart, and how many elements before the first.
type Place = (usize, usize, usize, usize);

/// What may reduce these rows or columns, in grids of few blocks, and what the table chooses.
fn launches(problem: &Problem) -> Vec<Launch> {
    let matrix = problem.matrix;
    let bytes = matrix.columns * problem.value_bytes;
    let is_packed = matrix.stride == matrix.columns && (1..=2032).contains(&bytes);
    let mut launches = vec![problem.choose()];
    let mut add = |way, blocks, block| launches.push(Launch { way, blocks, block });
    match (problem.along, problem.mode) {
        (Along::Rows, Mode::Fast) => {
            add(Way::Blocks(1), 2, 96);
            add(Way::Whole(33), matrix.rows as u32, 96);
            add(Way::Blocks(3), 5, 33);
            if matrix.rows == 1 {
                add(Way::Large(3), 3, 33);
                add(Way::Large(10), 1, 96);
            }
            add(Way::Lanes(1), 1, 64);
            add(Way::Lanes(8), 2, 32);
            add(Way::Lanes(32), 1, 96);
            if is_packed {
                add(Way::Packed, 2, 64);
            }
        }
        (Along::Rows, Mode::Deterministic) => {
            add(Way::FixedBlocks, 3, 256);
            if matrix.columns <= 256 {
                add(Way::FixedLanes(32), 1, 64);
            }
        }
        (Along::Columns, _) => {}
    }
    launches
}

/// As many values, made of random numbers.
fn random<T>(length: usize, seed: u64, value: impl Fn(u64) -> T) -> Vec<T> {
    let mut state = seed;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        value(state >> 40)
    };
    (0..length).map(next).collect()
}

/// Every launch for these rows, or columns, gives what the operator itself makes of each.
#[track_caller]
fn is_right<T: Made, O: BuiltIn<T, Output: Outcome>>(
    reduction: &mut Reduction<'_, T, O>,
    along: Along,
    (rows, columns, stride, skip): Place,
    value: impl Fn(u64) -> T,
) {
    let device = reduction.device;
    let matrix = Matrix {
        rows,
        columns,
        stride,
    };
    let length = skip + matrix.span().expect("it is small");
    let values = random(length, (length + columns) as u64, value);
    let buffer = device.upload(&values).expect("it fits");
    let at = |row: usize, column: usize| values[skip + row * stride + column];
    let count = if along == Along::Rows { rows } else { columns };
    let expected: Vec<[f64; 2]> = (0..count)
        .map(|result| {
            let found = match along {
                Along::Rows => reduction
                    .operator
                    .of((0..columns).map(|column| at(result, column))),
                Along::Columns => reduction.operator.of((0..rows).map(|row| at(row, result))),
            };
            found.numbers()
        })
        .collect();
    let launches = if count == 0 {
        Vec::new()
    } else {
        launches(&reduction.problem(along, matrix))
    };
    for launch in launches {
        let mut results = device
            .upload(&vec![O::Output::zeroed(); count])
            .expect("it fits");
        // SAFETY: the emulator checks every access, and a GPU is given what the kernels allow.
        unsafe { reduction.launch_by(None, buffer.slice(skip..), matrix, &mut results, launch) }
            .expect("it runs");
        let found = results.read().expect("it has run");
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let numbers = found.numbers();
            assert!(
                is_same(numbers[0], expected[0]) && is_same(numbers[1], expected[1]),
                "{}, number {row} of {along:?} of {matrix:?} from value {skip} on by {launch:?}: {found:?}, not {expected:?}",
                reduction.kernels()
            );
        }
    }
}

/// Segments of these lengths, the first of which begins after `skip` values, give what the operator itself makes of each: by the launch that
/// is chosen, by a single block, whose warps have many tiles, and, but for the last two, if their number is counted on the device. So do the
/// runs of keys that the segments with values are.
#[track_caller]
fn segments_are_right<T: Made, O: BuiltIn<T, Output: Outcome>, I: Offset + TryFrom<usize>>(
    reduction: &mut Reduction<'_, T, O>,
    lengths: &[usize],
    skip: usize,
    value: impl Fn(u64) -> T,
) {
    let device = reduction.device;
    let mut places = vec![skip];
    for length in lengths {
        places.push(places.last().unwrap() + length);
    }
    let values = random(*places.last().unwrap(), skip as u64, value);
    let offsets: Vec<I> = places
        .iter()
        .map(|&place| I::try_from(place).ok().expect("it is small"))
        .collect();
    let buffer = device.upload(&values).expect("it fits");
    let segments = Segments::new(device, &offsets).expect("they do not decrease");
    let chosen = reduction.segments(&buffer, &segments).expect("it runs");
    assert_eq!(chosen.len(), lengths.len());
    let of_one_block = device
        .upload(&vec![O::Output::zeroed(); lengths.len()])
        .expect("it fits");
    let untyped = &mut reduction.kept.untyped;
    let launch = Launch {
        blocks: 1,
        ..untyped.choose_for_segments(device, &segments, reduction.mode)
    };
    // SAFETY: any number of blocks may be launched for these segments, and the slices are of this operator's and this type's.
    let launched = unsafe {
        let (values, results) = (Slice::from(&buffer), Slice::from(&of_one_block));
        let parts = Parts::Segments(&segments);
        untyped.launch_by(device, None, values.bytes(), parts, results.bytes(), launch)
    };
    launched.expect("it runs");
    let of_one_block = of_one_block.read().expect("it has run");
    let count = lengths.len().saturating_sub(2);
    let before = reduction.operator.of(values.first().copied());
    let mut counted = device
        .upload(&vec![before; lengths.len()])
        .expect("it fits");
    let number = device.upload(&[count as u64]).expect("it fits");
    let on_device = device.upload(&offsets).expect("it fits");
    // SAFETY: they are the offsets above.
    let some = unsafe { Segments::on_device(&on_device, *places.last().unwrap()) };
    // SAFETY: it is fewer than there are.
    let some = some.and_then(|all| unsafe { all.counted_by(&number) });
    let stream = device.stream().expect("there are streams");
    reduction
        .queue_segments(&stream, &buffer, &some.expect("it is one"), &mut counted)
        .expect("it is queued");
    let counted = counted.read().expect("it has run");
    let with_values: Vec<u16> = lengths
        .iter()
        .zip(0..)
        .flat_map(|(&length, number)| vec![number; length])
        .collect();
    let keys = device.upload(&with_values).expect("it fits");
    let (keys, of_keys) = reduction
        .by_key(&keys, buffer.slice(skip..))
        .expect("it runs");
    let mut of_keys = keys.iter().zip(&of_keys).peekable();
    for (number, bounds) in places.windows(2).enumerate() {
        let of = values[bounds[0]..bounds[1]].iter().copied();
        let expected = reduction.operator.of(of);
        let or_before = if number < count { &expected } else { &before };
        let of_key = of_keys.next_if(|&(&key, _)| usize::from(key) == number);
        assert_eq!(of_key.is_some(), bounds[0] < bounds[1]);
        let found = [
            (Some(&chosen[number]), &expected, "blocks"),
            (Some(&of_one_block[number]), &expected, "one block"),
            (Some(&counted[number]), or_before, "blocks, counted"),
            (of_key.map(|(_, result)| result), &expected, "key"),
        ];
        for (found, expected, by) in found {
            let Some(found) = found else { continue };
            let (numbers, expected) = (found.numbers(), expected.numbers());
            assert!(
                is_same(numbers[0], expected[0]) && is_same(numbers[1], expected[1]),
                "{}, elements {bounds:?} by {by}: {numbers:?}, not {expected:?}",
                reduction.kernels()
            );
        }
    }
    assert!(of_keys.next().is_none());
}

/// Empty segments, a long one among short ones, and so many that a warp does not know all ends at once.
fn lengths() -> Vec<usize> {
    let short = (0..400).map(|place| place * 7 % 5);
    short.chain([0, 3000, 0, 40, 33, 32, 1, 0]).collect()
}

const PLACES: [Place; 14] = [
    (1, 0, 0, 0),
    (1, 1, 1, 3),
    (1, 4099, 4099, 1),
    (1, 20_011, 20_011, 0),
    (0, 7, 7, 0),
    (300, 1, 1, 1),
    (300, 2, 2, 0),
    (131, 3, 3, 5),
    (64, 16, 16, 0),
    (35, 33, 33, 2),
    (20, 33, 40, 1),
    (9, 100, 100, 0),
    (3, 511, 0, 0),
    (4, 1025, 1025, 7),
];

/// Segments of the lengths of all places.
fn awkward_lengths() -> Vec<usize> {
    PLACES.map(|(_, columns, _, _)| columns).to_vec()
}

/// In the deterministic order results have the same bits as on the cores, in every `step`-th place and of segments.
fn bits_are_those_of_the_cores<T: Made, O: BuiltIn<T, Output: Outcome> + Parallel<T>>(
    in_order: &mut Reduction<'_, T, O>,
    step: usize,
) {
    let (device, operator) = (in_order.device, in_order.operator);
    let kernels = in_order.kernels().to_owned();
    let is_alike = |found: Vec<O::Output>, expected: Vec<O::Output>, of: &dyn Debug| {
        // What is written tells all floats apart but those that are no numbers.
        assert_eq!(
            format!("{found:?}"),
            format!("{expected:?}"),
            "{kernels} {of:?}"
        );
    };
    for (rows, columns, stride, skip) in PLACES.into_iter().step_by(step) {
        let matrix = Matrix {
            rows,
            columns,
            stride,
        };
        let values = random(skip + matrix.span().expect("it is small"), 9, T::rough);
        let (buffer, values) = (device.upload(&values).expect("it fits"), &values[skip..]);
        let found = in_order
            .rows(buffer.slice(skip..), matrix)
            .expect("it runs");
        let expected = cpu::rows(operator, values, matrix, Order::Deterministic);
        is_alike(found, expected.expect("it is inside"), &(matrix, "rows"));
        let found = in_order
            .columns(buffer.slice(skip..), matrix)
            .expect("it runs");
        let expected = cpu::columns(operator, values, matrix, Order::Deterministic);
        is_alike(found, expected.expect("it is inside"), &(matrix, "columns"));
    }
    let mut offsets = vec![5_u32];
    for length in awkward_lengths() {
        offsets.push(offsets.last().unwrap() + length as u32);
    }
    let values = random(*offsets.last().unwrap() as usize, 9, T::rough);
    let buffer = device.upload(&values).expect("it fits");
    let segments = Segments::new(device, &offsets).expect("they do not decrease");
    let found = in_order.segments(&buffer, &segments).expect("it runs");
    let expected = cpu::segments(operator, &values, &offsets, Order::Deterministic);
    is_alike(found, expected.expect("they are inside"), &offsets);
}

/// In every `step`-th place.
fn pair_is_right<T: Made, O: BuiltIn<T, Output: Outcome> + Parallel<T>>(
    device: &Device,
    operator: O,
    step: usize,
) {
    let mut reduction = Reduction::new(device, operator).expect("the kernels are there");
    let is_product = operator.kernels().0 == "product";
    for place in PLACES.into_iter().step_by(step) {
        // A product of many numbers overflows or is 0.
        let whole = |number| {
            if is_product {
                T::whole(6 + u64::from(number % 64 == 0))
            } else {
                T::whole(number)
            }
        };
        for along in [Along::Rows, Along::Columns] {
            is_right(&mut reduction, along, place, whole);
            is_right(&mut reduction, along, place, T::special);
        }
    }
    let special = |number| {
        if is_product {
            T::whole(6)
        } else {
            T::special(number)
        }
    };
    segments_are_right::<T, O, u64>(&mut reduction, &lengths(), 3, special);
    segments_are_right::<T, O, u32>(&mut reduction, &awkward_lengths(), 1, special);
    let mut in_order = reduction.with_mode(Mode::Deterministic);
    for place in PLACES.into_iter().step_by(step) {
        for along in [Along::Rows, Along::Columns] {
            is_right(&mut in_order, along, place, T::special);
        }
    }
    bits_are_those_of_the_cores(&mut in_order, step);
}

macro_rules! each_operator {
    ($device:ident, $value:ty, $step:literal; $($name:ident: $operator:ty = $make:expr;)*) => {
        $(pair_is_right::<$value, $operator>(&$device, $make, $step);)*
    };
}

#[test]
fn every_operator_of_floats() {
    for device in devices() {
        for_each_operator!(each_operator, device, f32, 2);
    }
}

#[test]
fn every_operator_of_bytes() {
    for device in devices() {
        for_each_operator!(each_operator, device, i8, 3);
    }
}

macro_rules! each_type {
    ($device:ident, $make:expr; $($name:ident: $value:ty;)*) => {
        $(pair_is_right::<$value, _>(&$device, $make, 5);)*
    };
}

#[test]
fn some_operators_of_every_type() {
    for device in devices() {
        for_each_element!(each_type, device, Max);
        for_each_element!(each_type, device, Variance { ddof: 3 });
        for_each_element!(each_type, device, ArgMin::LAST);
    }
}

/// Dot products in this accumulator, of arrays of a few lengths.
fn dot_is_right<T: Made, A: Accumulator<T> + From<T> + Outcome>(device: &Device) {
    for n in [0, 1, 33, 4097] {
        let left = random(n, 3, T::whole);
        let right = random(n, 4, T::whole);
        let pairs = left.iter().copied().zip(right.iter().copied());
        let expected = DotIn::<A>::new().of(pairs).numbers();
        let left = device.upload(&left).expect("it fits");
        let right = device.upload(&right).expect("it fits");
        for mode in [Mode::Fast, Mode::Deterministic] {
            let dot = DotProduct::<T, A>::with_accumulator(device).expect("the kernels are there");
            let found = dot.with_mode(mode).of(&left, &right).expect("it runs");
            assert_eq!(found.numbers(), expected, "{} {n} {mode:?}", A::KERNELS);
        }
    }
}

/// Every operator with a wider accumulator, in every `step`-th place.
macro_rules! each_accumulator {
    ($device:ident, $step:literal; integers { $($integers:tt)* } floats { $($floats:tt)* }) => {
        each_accumulator! { @sums $device $step $($integers)* $($floats)* }
        each_accumulator! { @floats $device $step $($floats)* }
    };
    (@sums $device:ident $step:literal $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Sum), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Product), $step);
        dot_is_right::<$value, $wide>(&$device);
    )*};
    (@floats $device:ident $step:literal $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Mean), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Variance { ddof: 1 }), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(StdDev { ddof: 0 }), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Norm1), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Norm2), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(LogSumExp), $step);
    )*};
}

#[test]
fn some_wider_accumulators() {
    for device in devices() {
        for_each_accumulator!(each_accumulator, device, 5);
    }
}

#[test]
fn wider_accumulators_lose_nothing() {
    for device in devices() {
        let values = device.upload(&[i32::MAX; 4]).expect("it fits");
        let mut sum = Reduction::new(&device, As::<i64, _>::new(Sum)).expect("there are kernels");
        assert_eq!(sum.of(&values), Ok(4 * i64::from(i32::MAX)));
        let mut scan = Scan::inclusive(&device, As::<i64, _>::new(Sum)).expect("there are kernels");
        let found = scan.of(&values).and_then(|sums| Ok(sums.read()?));
        let sums = (1..5).map(|count| count * i64::from(i32::MAX)).collect();
        assert_eq!(found, Ok(sums));
        // 2^24 + 1 is no `f32`.
        let values = device.upload(&[16_777_216_f32, 1.0]).expect("it fits");
        let mut mean = Reduction::new(&device, As::<f64, _>::new(Mean)).expect("there are kernels");
        assert_eq!(mean.of(&values), Ok(8_388_608.5));
    }
}

/// A test for each type, and one for wider accumulators.
mod every_operator_of {
    use super::*;

    #[test]
    #[ignore = "a part of `cargo xtask matrix`"]
    fn wider_accumulators() {
        for device in devices() {
            for_each_accumulator!(each_accumulator, device, 1);
        }
    }

    macro_rules! tests {
        ($($name:ident: $value:ty;)*) => {$(
            #[test]
            #[ignore = "a part of `cargo xtask matrix`"]
            fn $name() {
                for device in devices() {
                    for_each_operator!(each_operator, device, $value, 1);
                }
            }
        )*};
    }
    for_each_element!(tests);
}

/// So many rows of small types that threads take many at once.
#[test]
fn columns_of_small_types_of_many_rows() {
    for device in &devices() {
        for place in [(60_000, 5, 5, 1), (60_000, 3, 8, 0), (20_011, 20, 24, 3)] {
            let argmax = &mut Reduction::new(device, ArgMax::FIRST).expect("there are kernels");
            is_right(argmax, Along::Columns, place, Bf16::special);
            let argmin = &mut Reduction::new(device, ArgMin::LAST).expect("there are kernels");
            is_right(argmin, Along::Columns, place, i8::whole);
            let argmax = &mut Reduction::new(device, ArgMax::LAST).expect("there are kernels");
            is_right(argmax, Along::Columns, place, F16::special);
            let mean = &mut Reduction::new(device, Mean).expect("there are kernels");
            is_right(mean, Along::Columns, place, u8::whole);
        }
    }
}

/// The best value in the rows around where a block's work meets another's, or its own next one, where rows are taken as one and the first begins
/// anywhere.
fn best_row_is_found<T: Made, O: BuiltIn<T, Output = u64>>(
    device: &Device,
    operator: O,
    (rows, columns, skip): (usize, usize, usize),
    (usual, best): (T, T),
) {
    let mut reduction = Reduction::new(device, operator).expect("there are kernels");
    let matrix = Matrix::contiguous(rows, columns);
    let chosen = reduction.problem(Along::Columns, matrix).choose();
    let Way::Columns(layout) = chosen.way else {
        unreachable!("columns have a layout");
    };
    assert!(layout.fold > 1, "{layout:?}");
    let lines = rows.div_ceil(layout.fold as usize);
    for line in (1..lines).step_by(lines.div_ceil(12)) {
        for row in [line * layout.fold as usize - 1, line * layout.fold as usize] {
            let mut values = vec![usual; skip + rows * columns];
            values[skip + row * columns..][..columns].fill(best);
            let buffer = device.upload(&values).expect("it fits");
            for slices in [layout.slices, layout.slices + 1] {
                let launch = Launch {
                    way: Way::Columns(Layout { slices, ..layout }),
                    blocks: slices,
                    ..chosen
                };
                let mut results = device.allocate(columns).expect("it fits");
                // SAFETY: the chosen launch, or one of more blocks.
                unsafe {
                    reduction.launch_by(None, buffer.slice(skip..), matrix, &mut results, launch)
                }
                .expect("it runs");
                assert_eq!(
                    results.read().expect("it has run"),
                    vec![row as u64; columns],
                    "{} of {matrix:?} from value {skip} on by {launch:?}",
                    reduction.kernels()
                );
            }
        }
    }
}

#[test]
fn the_best_row_is_found_where_blocks_meet() {
    for device in &devices() {
        let mut places = vec![(5440, 3, 1), (10_880, 3, 3), (20_000, 1, 7), (20_000, 7, 5)];
        // So many rows that there have to be more blocks.
        places.push((200_000, 1, 3));
        for place in places {
            let (less, more) = (0, 9);
            let pair = (i8::whole(less), i8::whole(more));
            best_row_is_found(device, ArgMax::FIRST, place, pair);
            let pair = (i16::whole(more), i16::whole(less));
            best_row_is_found(device, ArgMin::LAST, place, pair);
            let pair = (F16::whole(less), F16::whole(more));
            best_row_is_found(device, ArgMax::LAST, place, pair);
            let pair = (Bf16::whole(more), Bf16::whole(less));
            best_row_is_found(device, ArgMin::FIRST, place, pair);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Wherever rows lie, whatever is in them.
    #[test]
    fn rows_anywhere(
        rows in 0_usize..40,
        columns in 0_usize..200,
        gap in prop_oneof![Just(0), 0_usize..9],
        skip in 0_usize..20,
        bits in 0_u64..=u64::MAX,
    ) {
        let place = (rows, columns, columns + gap, skip);
        let along = if bits % 2 == 0 { Along::Rows } else { Along::Columns };
        let special = |number: u64| f32::special(number ^ bits);
        with_emulator(|device| {
            is_right(&mut Reduction::new(device, ArgMax::FIRST).unwrap(), along, place, special);
            is_right(&mut Reduction::new(device, MinMax).unwrap(), along, place, |number| Bf16::special(number ^ bits));
            is_right(&mut Reduction::new(device, ArgMax::FIRST).unwrap(), along, place, |number| Bf16::special(number ^ bits));
            is_right(&mut Reduction::new(device, ArgMin::LAST).unwrap(), along, place, |number| F16::special(number ^ bits));
            is_right(&mut Reduction::new(device, ArgMin::LAST).unwrap(), along, place, |number| i8::whole(number ^ bits));
            is_right(&mut Reduction::new(device, Mean).unwrap(), along, place, |number| i16::whole(number ^ bits));
            is_right(&mut Reduction::new(device, LogSumExp).unwrap(), along, place, special);
            is_right(&mut Reduction::new(device, Sum).unwrap(), along, place, |number| i8::whole(number ^ bits));
            is_right(&mut Reduction::new(device, StdDev { ddof: 1 }).unwrap(), along, place, f64::whole);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the lengths are.
    #[test]
    fn segments_anywhere(
        lengths in proptest::collection::vec(prop_oneof![Just(0), 0_usize..6, 0_usize..300, 0_usize..5000], 0..60),
        skip in 0_usize..20,
    ) {
        with_emulator(|device| {
            let mut sum = Reduction::new(device, Sum).expect("the kernels are there");
            segments_are_right::<i32, _, u32>(&mut sum, &lengths, skip, Made::whole);
            let mut argmax = Reduction::new(device, ArgMax::FIRST).expect("the kernels are there");
            segments_are_right::<f32, _, u64>(&mut argmax, &lengths, skip, Made::special);
        });
    }
}

/// With lengths like those of the tiles of a warp, of which each has none, one or a few ends.
#[test]
fn segments_about_as_long_as_a_tile() {
    let lengths: Vec<usize> = (0..60_usize)
        .map(|place| match place % 6 {
            0 => 1024,
            1 => place * 389 % 2900,
            2 => 0,
            3 => 128 * (place % 11),
            _ => place * 151 % 700,
        })
        .collect();
    fn of<T: Made, O: BuiltIn<T, Output: Outcome>>(
        device: &Device,
        operator: O,
        lengths: &[usize],
    ) {
        let mut reduction = Reduction::new(device, operator).expect("the kernels are there");
        for skip in [0, 3] {
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, T::whole);
            segments_are_right::<T, O, u32>(&mut reduction, lengths, skip, T::special);
            // Any floats but NaNs; then nothing but −∞, and nothing but ∞.
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, |number| {
                T::special(1 + number % 30)
            });
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, |_| T::special(2));
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, |_| T::special(1));
        }
    }
    for device in devices() {
        of::<f32, _>(&device, ArgMax::FIRST, &lengths);
        of::<f32, _>(&device, ArgMin::LAST, &lengths);
        of::<f32, _>(&device, Max, &lengths);
        of::<f32, _>(&device, Variance { ddof: 0 }, &lengths);
        of::<f64, _>(&device, ArgMax::LAST, &lengths);
        of::<f64, _>(&device, MinMax, &lengths);
        of::<i32, _>(&device, Sum, &lengths);
        of::<u64, _>(&device, ArgMin::FIRST, &lengths);
        of::<i8, _>(&device, ArgMax::FIRST, &lengths);
    }
}

#[test]
fn segments_that_are_none_are_refused() {
    let (device, other) = (emulator(), emulator());
    let refusal = |offsets: &[u32]| {
        let refused = Segments::new(&device, offsets).expect_err("these are no segments");
        refused.to_string()
    };
    assert_eq!(
        refusal(&[]),
        "there are no offsets: give one more than there are segments"
    );
    assert_eq!(
        refusal(&[0, 5, 4]),
        "segment 1 goes from element 5 to 4: offsets must not decrease"
    );
    let values = device.upload(&[1_i32; 6]).expect("it fits");
    let mut sum = Reduction::new(&device, Sum).expect("the kernels are there");
    let mut of = |device: &Device, offsets: &[u32]| {
        let segments = Segments::new(device, offsets).expect("they do not decrease");
        sum.segments(&values, &segments)
    };
    assert_eq!(of(&device, &[1, 1, 6]), Ok(vec![0, 5]));
    assert_eq!(of(&device, &[4]), Ok(vec![]));
    assert_eq!(
        of(&device, &[0, 7]).expect_err("there are 6").to_string(),
        "the last segment ends at element 7 of 6: give as many, or fewer segments"
    );
    assert_eq!(of(&other, &[0, 6]), Err(DeviceError::OtherDevice.into()));
}

#[test]
fn offsets_on_the_device_and_results_that_stay_there() {
    for device in devices() {
        let values = device.upload(&[1_i64, 2, 3, 4, 5]).expect("it fits");
        let offsets = device.upload(&[0_u64, 2, 2, 5]).expect("it fits");
        // SAFETY: they do not decrease, and end at 5.
        let segments = unsafe { Segments::on_device(&offsets, 5) }.expect("there are three");
        let mut max = Reduction::new(&device, Max).expect("the kernels are there");
        let plan = max.prepare_segments(&segments).expect("there is room");
        assert!(plan.workspace_bytes > 0);
        let mut results = device.allocate(3).expect("there is room");
        let stream = device.stream().expect("there is one");
        for _ in 0..2 {
            max.queue_segments(&stream, &values, &segments, &mut results)
                .expect("it is prepared");
        }
        stream.synchronize().expect("it runs");
        assert_eq!(results.read(), Ok(vec![2, i64::MIN, 5]));
    }
}

#[test]
fn an_offset_costs_no_digits() {
    for device in devices() {
        let values: Vec<f32> = (0..10_000)
            .map(|number| 1e6 + (number % 2) as f32)
            .collect();
        let variance = variance(&device, &values, 0).expect("it runs");
        assert!((variance - 0.25).abs() < 1e-3, "{variance}");
    }
}

#[test]
fn functions_take_values_anywhere() {
    for device in devices() {
        let values = [2_i16, -3, 7, 7, 0];
        let buffer = device.upload(&values).expect("it fits");
        assert_eq!(min(&device, &values), Ok(-3));
        assert_eq!(argmax(&device, buffer.slice(1..)), Ok(1));
        assert_eq!(mean(&device, &buffer), Ok(2.6));
        assert_eq!(count_nonzero(&device, &values), Ok(4));
        assert_eq!(all(&device, &values), Ok(Bool(0)));
        assert_eq!(norm1(&device, &values), Ok(19.0));
        // The same kernel with another parameter.
        assert_eq!(variance(&device, &values[..2], 0), Ok(6.25));
        assert_eq!(variance(&device, &values[..2], 1), Ok(12.5));
        assert_eq!(variance(&device, &values[..2], 0), Ok(6.25));
        assert_eq!(product::<i16>(&device, &[]), Ok(1));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (device, other) = (emulator(), emulator());
    let buffer = device.upload(&[1_u8; 20]).expect("it fits");
    let mut reduction = Reduction::new(&device, Max).expect("it is prepared");
    let matrix = Matrix {
        rows: 3,
        columns: 5,
        stride: 8,
    };
    let error = reduction.rows(&buffer, matrix).expect_err("it takes 21");
    assert_eq!(
        error.to_string(),
        "3 rows of 5 elements, 8 apart, do not lie within 20 elements: give as many, or fewer rows"
    );
    let overflowing = Matrix::contiguous(usize::MAX, 2);
    assert!(reduction.rows(&buffer, overflowing).is_err());
    let there = other.upload(&[1_u8; 21]).expect("it fits");
    let refused = Err(DeviceError::OtherDevice.into());
    assert_eq!(reduction.rows(&there, matrix), refused);
    for (shape, strides, axis) in [
        (&[2, 3, 2][..], &[6, -2, 1][..], 1),
        (&[2, 3], &[3], 0),
        (&[2, 3], &[3, 1], 2),
    ] {
        let error = reduction.axis(&buffer, shape, strides, axis);
        assert_eq!(
            error.expect_err("it is no axis").to_string(),
            format!(
                "axis {axis} of an array of shape {shape:?} with strides {strides:?} cannot be reduced: give a stride of 0 or more for each axis, and one of the axes"
            )
        );
    }
    // The last of the two matrices goes beyond the values.
    let error = reduction.axis(&buffer, &[2, 3, 2], &[15, 2, 1], 1);
    assert!(
        matches!(error, Err(Error::Outside { given: 5, .. })),
        "{error:?}"
    );
    let error = reduction.axis(&buffer, &[2, 2], &[isize::MAX, 1], 0);
    assert!(error.is_err());
    assert_eq!(
        reduction.rows(&buffer, Matrix { rows: 2, ..matrix }),
        Ok(vec![1, 1])
    );
}

/// The order of [`warpfold_device::fixed`] in plain Rust.
fn in_order<S: Copy>(operator: impl Combine<S>, states: &[S]) -> S {
    let slot = |slot: usize| {
        let mut states = states.iter().skip(slot).step_by(1024).copied();
        let first = states.next().expect("it has a state");
        states.fold(first, |left, right| operator.combine(left, right))
    };
    let mut slots: Vec<S> = (0..states.len().min(1024)).map(slot).collect();
    let mut distance = 512;
    while distance > 0 {
        for slot in 0..distance.min(slots.len().saturating_sub(distance)) {
            slots[slot] = operator.combine(slots[slot], slots[slot + distance]);
        }
        distance /= 2;
    }
    slots.first().copied().unwrap_or(operator.identity())
}

#[track_caller]
fn order_is_fixed<O: BuiltIn<f32, Output: Outcome>>(device: &Device, operator: O) {
    let reduction = Reduction::new(device, operator).expect("the kernels are there");
    let mut reduction = reduction.with_mode(Mode::Deterministic);
    // One slot has values of several chunks from 1024 chunks on.
    let lengths = [
        0, 1, 2, 3, 31, 33, 64, 65, 255, 257, 1000, 1025, 2100, 4096, 4097, 12_345,
    ];
    for n in lengths {
        let values: Vec<f32> = (0..n + 3)
            .map(|place| ((place * 7919) % 10_007) as f32 / 977.0 - 3.0)
            .collect();
        let buffer = device.upload(&values).expect("it fits");
        for skip in 0..3 {
            let values = &values[skip..skip + n];
            let lifted: Vec<_> = (0_u64..)
                .zip(values)
                .map(|(index, value)| operator.lift(*value, index))
                .collect();
            let chunks: Vec<_> = lifted
                .chunks(4096)
                .map(|chunk| in_order(operator, chunk))
                .collect();
            let expected = operator.finish(in_order(operator, &chunks), n as u64);
            let matrix = Matrix::contiguous(1, n);
            for launch in launches(&reduction.problem(Along::Rows, matrix)) {
                let mut result = device.allocate(1).expect("it fits");
                // SAFETY: as above.
                unsafe {
                    reduction.launch_by(None, buffer.slice(skip..), matrix, &mut result, launch)
                }
                .expect("it runs");
                let found = result.read().expect("it has run");
                // All NaN are one: which bits they have, no machine promises.
                let bits = |number: f64| (!number.is_nan()).then(|| number.to_bits());
                assert_eq!(
                    found[0].numbers().map(bits),
                    expected.numbers().map(bits),
                    "{} of {n} from value {skip} on by {launch:?}: {found:?}, not {expected:?}",
                    reduction.kernels()
                );
            }
        }
    }
}

#[test]
fn the_order_of_deterministic_reductions_is_that_of_their_model() {
    for device in devices() {
        order_is_fixed(&device, Sum);
        order_is_fixed(&device, Mean);
        order_is_fixed(&device, StdDev { ddof: 1 });
        order_is_fixed(&device, Norm2);
        order_is_fixed(&device, LogSumExp);
        order_is_fixed(&device, Product);
    }
}

/// Columns and segments against the deterministic order on the CPU, which has a definition of its own in its tests: to the last bit.
fn order_of_shapes_is_fixed<O: BuiltIn<f32> + Parallel<f32>>(device: &Device, operator: O)
where
    O::Output: Debug,
{
    let values: Vec<f32> = (0..40_000_u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 7.0)
        .collect();
    let buffer = device.upload(&values).expect("it fits");
    let reduction = Reduction::new(device, operator).expect("it is prepared");
    let mut reduction = reduction.with_mode(Mode::Deterministic);
    let bits = |results: &[O::Output]| format!("{results:?}");
    for (rows, columns, stride) in [
        (0, 3, 3),
        (1, 5, 5),
        (2, 1, 1),
        (33, 31, 40),
        (700, 32, 32),
        (1030, 33, 35),
        (4096, 2, 9),
        (4097, 7, 7),
        (9999, 4, 4),
    ] {
        let matrix = Matrix {
            rows,
            columns,
            stride,
        };
        let expected = cpu::columns(operator, &values, matrix, Order::Deterministic);
        for _ in 0..2 {
            let found = reduction.columns(&buffer, matrix).expect("it runs");
            assert_eq!(bits(&found), bits(expected.as_ref().unwrap()), "{matrix:?}");
        }
    }
    let mut ends: Vec<u32> = vec![0, 0, 1, 3, 19, 36, 36, 300, 301, 4397, 8494, 8494, 16_700];
    ends.extend((16_700..16_900).step_by(3));
    ends.extend([16_950, 39_000, 39_000, 40_000]);
    for skip in [0, 2, 5, 9] {
        let offsets = &ends[skip..];
        let expected = cpu::segments(operator, &values, offsets, Order::Deterministic);
        let segments = Segments::new(device, offsets).expect("they do not decrease");
        for _ in 0..2 {
            let found = reduction.segments(&buffer, &segments).expect("it runs");
            assert_eq!(
                bits(&found),
                bits(expected.as_ref().unwrap()),
                "from {skip}"
            );
        }
    }
}

#[test]
fn the_order_of_columns_and_segments_is_that_of_the_cpu() {
    for device in devices() {
        order_of_shapes_is_fixed(&device, Sum);
        order_of_shapes_is_fixed(&device, StdDev { ddof: 1 });
        order_of_shapes_is_fixed(&device, LogSumExp);
        order_of_shapes_is_fixed(&device, ArgMax::FIRST);
    }
}
