//! Columns and segments, against the operators on the host.

mod launch;

use std::fmt::Debug;

use launch::{Given, Machine, Random, Watched, machines, values_of};
use warpfold::device::Shape;
use warpfold::reduce::Segments;
use warpfold::scan::ScanKind;
use warpfold::{Device, DeviceChoice, Matrix, Scan, cpu};
use warpfold_device::columns::{Layout, Limits, most_threads};
use warpfold_device::half::Bf16;
use warpfold_device::operator::*;
use warpfold_device::segments;
use warpfold_device::vector::Loaded;
use warpfold_example_kernels::for_each_shaped;
use warpfold_example_kernels::shapes::Parts;

const PTX: &str = include_str!("../ptx/shapes.sm_70.ptx");

/// A type of the tests' values.
trait Value: Loaded {
    /// A value from a random word: few different ones, so that there are ties.
    fn of(word: u64) -> Self;
}

macro_rules! values {
    ($($value:ty: |$word:ident| $made:expr;)*) => {$(
        impl Value for $value {
            fn of($word: u64) -> Self {
                $made
            }
        }
    )*};
}

values! {
    i8: |word| word as i8;
    Bf16: |word| Bf16::from_f32((word % 2000) as f32 - 1000.0);
    f32: |word| (word % 200) as f32 / 8.0 - 10.0;
    f64: |word| (word % 1000) as f64 / 8.0 - 30.0;
}

fn values<T: Value>(n: usize) -> Vec<T> {
    Random(n as u64).take(n).map(T::of).collect()
}

/// A type of results.
trait Outcome: Copy + Debug {
    /// Whether it is this result up to rounding.
    fn is_near(self, expected: Self) -> bool;
}

macro_rules! outcomes {
    ($($value:ty: |$found:ident, $expected:ident| $is_near:expr;)*) => {$(
        impl Outcome for $value {
            fn is_near(self, expected: Self) -> bool {
                let ($found, $expected) = (self, expected);
                $is_near
            }
        }
    )*};
}

outcomes! {
    i32: |found, expected| found == expected;
    u64: |found, expected| found == expected;
    Bf16: |found, expected| found == expected;
    f32: |found, expected| {
        found.is_nan() && expected.is_nan() || (found - expected).abs() <= 1e-3 * expected.abs().max(1.0)
    };
    [f64; 3]: |found, expected| found == expected;
    f64: |found, expected| {
        found.is_nan() && expected.is_nan() || found == expected || (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
    };
}

/// A matrix and how it is launched.
#[derive(Clone, Copy, Debug)]
struct Case {
    rows: usize,
    columns: usize,
    /// Elements between the end of a row and the next.
    gap: usize,
    /// How far the matrix begins after a multiple of 16 bytes.
    places: usize,
    /// How many such matrices, and the elements between the end of one and the next.
    matrices: usize,
    apart: usize,
    /// Threads of a block, or 0 for the most.
    block: u32,
    /// Threads that are wanted side by side, and blocks.
    width: u32,
    blocks: usize,
}

impl Case {
    fn stride(self) -> usize {
        self.columns + self.gap
    }

    fn span(self) -> usize {
        match self.rows {
            0 => 0,
            rows => (rows - 1) * self.stride() + self.columns,
        }
    }

    fn distance(self) -> usize {
        self.span() + self.apart
    }

    fn launch<T: Value, O: Operator<T>>(self) -> ((u32, u32), Vec<T>, Vec<Given>) {
        let most = most_threads::<T, O>();
        let block = match self.block {
            0 => most,
            block => block.min(most),
        };
        let (columns, lanes) = (self.columns, T::LANES);
        let layout = Layout::new(
            lanes,
            (self.rows, columns, self.stride()),
            Limits {
                threads: block,
                ..Limits::of::<T, O>()
            },
            self.width,
            (self.blocks, self.blocks),
        );
        let values = values::<T>((self.matrices - 1) * self.distance() + self.span());
        let grid = layout.grid(lanes, self.rows, columns, self.stride(), block) as u32;
        let arguments = vec![
            Given::shifted(&values, self.places),
            Given::count(self.rows),
            Given::count(columns),
            Given::count(self.stride()),
            Given::word(grid),
            Given::count(self.distance()),
            Given::Number(layout.width.into()),
            Given::Number(layout.fold.into()),
            Given::Number(layout.slices.into()),
            Given::room::<O::State>(self.matrices * layout.states(lanes, columns)),
            Given::values(&vec![0_u32; self.matrices * layout.strips(lanes, columns)]),
            Given::room::<O::Output>(self.matrices * columns),
        ];
        ((grid * self.matrices as u32, block), values, arguments)
    }
}

/// Matrices of every kind: folded and not, with gaps, at odd places, one and several, of one strip and many, of one slice and many.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut turn = 0;
    for columns in [1, 2, 3, 4, 5, 7, 16, 17, 33, 64, 100, 129, 257, 1000, 2100] {
        for rows in [0, 1, 2, 3, 4, 5, 37, 300] {
            for gap in [0, 1, 16] {
                if rows * columns > 40_000 {
                    continue;
                }
                turn += 1;
                cases.push(Case {
                    rows,
                    columns,
                    gap,
                    places: turn * 3 % 5,
                    matrices: if rows * columns < 3000 {
                        [1, 3][turn % 2]
                    } else {
                        1
                    },
                    apart: turn % 7,
                    block: [0, 32, 64, 0, 96][turn % 5],
                    width: [32, 64, 256][turn % 3],
                    blocks: [1, 3, 7, 40][turn % 4],
                });
            }
        }
    }
    cases
}

fn column<T: Copy>(values: &[T], case: Case, column: usize) -> impl Iterator<Item = T> + '_ {
    let (matrix, column) = (column / case.columns, column % case.columns);
    let first = matrix * case.distance() + column;
    (0..case.rows).map(move |row| values[first + row * case.stride()])
}

fn check_columns<T: Value, O: Operator<T, Output: Outcome>>(
    machines: &[Machine],
    name: &str,
    operator: O,
) {
    let kernel = format!("{name}_columns");
    for machine in machines {
        for case in cases() {
            let (shape, values, arguments) = case.launch::<T, O>();
            // Twice, because a launch leaves the counters to the next.
            let left = machine.launch(&kernel, shape, &arguments, 2);
            let results = values_of::<O::Output>(&left[11]);
            for (index, found) in results.into_iter().enumerate() {
                let expected = operator.of(column(&values, case, index));
                assert!(
                    found.is_near(expected),
                    "{kernel}, column {index}: {found:?}, which should be {expected:?}; {case:?}"
                );
            }
            assert!(left[10].iter().all(|&byte| byte == 0), "the counters");
        }
    }
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {
        let machines = machines(PTX, 70);
        $(check_columns::<$value, $operator>(&machines, stringify!($name), $make);)*
    };
}

#[test]
fn columns_of_every_kind_of_matrix() {
    for_each_shaped! { columns }
}

macro_rules! clean_columns {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {$(
        for case in cases().into_iter().filter(|case| case.rows * case.columns > 200).step_by(29) {
            let (shape, _, arguments) = case.launch::<$value, $operator>();
            let kernel = concat!(stringify!($name), "_columns");
            Watched::new(PTX, kernel, shape, &arguments).is_clean();
        }
        for (rows, columns, gap) in [(300, 3, 0), (90, 40, 1), (200, 16, 0)] {
            let case = Case { rows, columns, gap, places: 1, matrices: 2, apart: 3, block: 64, width: 32, blocks: 6 };
            let (shape, _, arguments) = case.launch::<$value, $operator>();
            let kernel = concat!(stringify!($name), "_columns");
            Watched::new(PTX, kernel, shape, &arguments).is_the_same_in(10);
        }
    )*};
}

#[test]
fn columns_are_clean_in_every_order() {
    for_each_shaped! { clean_columns }
}

/// Lengths of segments, between which boundaries of tiles, warps and vectors fall in every way.
fn lengths() -> Vec<Vec<usize>> {
    let random = |count: usize, most: u64| {
        let words = Random(count as u64).take(count);
        words.map(|word| (word % most) as usize).collect()
    };
    let giant = [
        vec![0; 40],
        vec![1; 700],
        vec![12_345],
        vec![2; 900],
        vec![0],
    ]
    .concat();
    vec![
        vec![],
        vec![0],
        vec![1],
        vec![0; 3000],
        vec![9000],
        vec![3, 0, 50_000, 0, 7],
        vec![1; 5000],
        vec![4096; 3],
        random(3000, 8),
        random(300, 65),
        random(40, 900),
        [random(900, 3), vec![6000, 0, 0], random(500, 20)].concat(),
        // Parts begin among thousands of ends in one place.
        [vec![50_000], vec![0; 6000], vec![3000]].concat(),
        giant,
    ]
}

/// The arguments of a launch over segments, the first of which begins that far into the values. Now and then a word says how many they are,
/// and the kernel is told that there may be more.
fn of_segments<T: Value, O: Operator<T>>(
    lengths: &[usize],
    (first, places): (usize, usize),
    warps: u32,
    are_wide: bool,
) -> (Vec<T>, Vec<usize>, Vec<Given>) {
    let mut offsets = vec![first];
    for length in lengths {
        offsets.push(offsets.last().unwrap() + length);
    }
    let values = values::<T>(*offsets.last().unwrap());
    let given = if are_wide {
        let places: Vec<u64> = offsets.iter().map(|&place| place as u64).collect();
        Given::values(&places)
    } else {
        let places: Vec<u32> = offsets.iter().map(|&place| place as u32).collect();
        Given::values(&places)
    };
    let (most, counted) = if warps.is_multiple_of(3) {
        let count = lengths.len() as u64;
        (lengths.len() + 9, Given::values(&[count]))
    } else {
        (lengths.len(), Given::count(0))
    };
    let arguments = vec![
        Given::shifted(&values, places),
        given,
        Given::word(u32::from(are_wide)),
        Given::count(most),
        counted,
        Given::room::<O::State>(2 * warps as usize),
        Given::room::<u64>(warps as usize),
        Given::values(&[0_u32]),
        Given::room::<O::Output>(lengths.len()),
    ];
    (values, offsets, arguments)
}

/// Shared memory of a block that reduces segments.
fn shared_bytes<T: Value, O: Operator<T>>(block: u32) -> u32 {
    let (of_block, of_warp) = segments::bytes::<T, O>();
    of_block + block / 32 * of_warp
}

fn check_segments<T: Value, O: Operator<T, Output: Outcome>>(
    machines: &[Machine],
    name: &str,
    operator: O,
) {
    let most = segments::threads::<T, O>();
    for machine in machines {
        for (turn, lengths) in lengths().into_iter().enumerate() {
            for (grid, block) in [(1, 32), (1, most), (2, 64), (7, 128), (70, 96), (9, most)] {
                let start = (turn * 5 % 7, (turn + grid as usize) % 5);
                let are_wide = (turn + grid as usize) % 2 == 1;
                let kernel = format!("{name}_segments");
                let (values, offsets, arguments) =
                    of_segments::<T, O>(&lengths, start, grid * block / 32, are_wide);
                // Twice, because a launch leaves the counter to the next.
                let shape =
                    Shape::linear(grid, block)
                        .with_dynamic_shared_bytes(shared_bytes::<T, O>(block));
                let left = machine.launch_by(&kernel, &shape, &arguments, 2);
                let results = values_of::<O::Output>(&left[8]);
                for (bounds, found) in offsets.windows(2).zip(results) {
                    let expected = operator.of(values[bounds[0]..bounds[1]].iter().copied());
                    assert!(
                        found.is_near(expected),
                        "{kernel}, lengths {turn}, grid {grid}, {bounds:?}: {found:?}, which should be {expected:?}"
                    );
                }
                assert_eq!(values_of::<u32>(&left[7]), [0], "the counter");
            }
        }
    }
}

macro_rules! segments {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {
        let machines = machines(PTX, 70);
        $(check_segments::<$value, $operator>(&machines, stringify!($name), $make);)*
    };
}

#[test]
fn segments_of_every_length() {
    for_each_shaped! { segments }
}

macro_rules! clean_segments {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {$(
        for (turn, lengths) in lengths().into_iter().enumerate() {
            let grid = [1, 3, 8][turn % 3];
            let shape = (grid, [128, 256, 64][turn % 3]);
            let warps = shape.0 * shape.1 / 32;
            let (_, _, arguments) = of_segments::<$value, $operator>(&lengths, (3, 1), warps, turn % 2 == 1);
            let kernel = concat!(stringify!($name), "_segments");
            let shared = shared_bytes::<$value, $operator>(shape.1);
            let mut watched = Watched::new(PTX, kernel, shape, &arguments).with_dynamic_shared_bytes(shared);
            watched.is_clean();
            if lengths.len() < 1000 {
                watched.is_the_same_in(5);
            }
        }
    )*};
}

#[test]
fn segments_are_clean_in_every_order() {
    for_each_shaped! { clean_segments }
}

/// The library's calls for scans, with kernels that are in none of its own texts.
#[test]
fn the_library_scans_by_them() {
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    let emulator = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    let values: Vec<i8> = Random(7).take(5000).map(|word| word as i8).collect();
    let offsets = [0_u32, 0, 1, 40, 3000, 3001, 4690];
    let matrix = Matrix {
        rows: 70,
        columns: 65,
        stride: 67,
    };
    for device in [Some(emulator), gpu].into_iter().flatten() {
        let buffer = device.upload(&values).expect("it fits");
        let segments = Segments::new(&device, &offsets).expect("they are right");
        for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
            // SAFETY: the text has what `scans!` makes of this operator and this type by this name.
            let scan = unsafe { Scan::from_ptx(&device, Sum, PTX, "sum_i8", kind) };
            let mut scan = scan.expect("it is prepared");
            let all = scan.of(&buffer).expect("it runs").read();
            assert_eq!(all, Ok(cpu::scan(Sum, kind, &values)));
            let rows = scan.rows(&buffer, matrix).expect("it runs").read();
            assert_eq!(rows.ok(), cpu::scan_rows(Sum, kind, &values, matrix).ok());
            let of_segments = scan.segments(&buffer, &segments).expect("it runs").read();
            let by_cores = cpu::scan_segments(Sum, kind, &values, &offsets);
            assert_eq!(of_segments.ok(), by_cores.ok());
        }
    }
}
