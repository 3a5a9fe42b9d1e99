//! Scans, runs, pairs, and columns and segments in the fixed order: no sanitizer finds anything, and memory is the same afterwards whatever
//! the order of execution. That the results are right is tested where the library launches them.

mod launch;

use launch::{Given, Random, Watched};
use warpfold_device::fixed::{self, CHUNK, Strips};
use warpfold_device::look_back::{tiles, workspace_words};
use warpfold_device::operator::{Max, Operator, Sum, Variance};
use warpfold_device::scan::{self, tile};
use warpfold_device::{runs, words::Words};

const PTX: &str = include_str!("../ptx/shapes.sm_70.ptx");
/// Orders of execution that are compared.
const SCHEDULES: u64 = 24;

#[track_caller]
fn is_sound(kernel: &str, grid: (u32, u32), arguments: &[Given]) {
    Watched::new(PTX, kernel, grid, arguments).is_clean();
    Watched::new(PTX, kernel, grid, arguments).is_the_same_in(SCHEDULES);
}

fn floats(n: usize) -> Vec<f32> {
    let number = |word: u64| (word % 2000) as f32 / 8.0 - 100.0;
    Random(n as u64).take(n).map(number).collect()
}

/// The words for this many tiles that hand over such states, and the grid, which has blocks for half of them.
fn workspace<S: Words>(tiles: usize, state: S) -> (Given, (u32, u32)) {
    let words = Given::values(&vec![0_u64; workspace_words(tiles, state)]);
    (words, (tiles.div_ceil(2) as u32, scan::BLOCK))
}

fn scan_is_sound<T: Copy, O: Operator<T>>(operator: O, name: &str, values: &[T], columns: usize) {
    let state = operator.identity();
    let rows = values.len() / columns;
    let n = rows * columns;
    let (workspace, grid) = workspace(tiles(n, tile::<T, O>()), state);
    let results = Given::room::<O::Output>(n);
    for is_exclusive in [0, 1] {
        let mut arguments = vec![Given::values(values)];
        arguments.extend([rows, columns, columns].map(Given::count));
        arguments.push(Given::word(is_exclusive));
        arguments.push(workspace.clone());
        arguments.push(results.clone());
        is_sound(&format!("{name}_scan"), grid, &arguments);
    }
    let n = values.len() as u32;
    let offsets = [0, 0, n / 3, n / 3, n / 3 + 1, n / 2, n];
    let (workspace, grid) = self::workspace(tiles(n as usize, tile::<T, O>()), state);
    for counted in all_and_counted(offsets.len() - 2) {
        let mut arguments = vec![Given::values(values), Given::values(&offsets)];
        arguments.extend([Given::word(0), Given::count(offsets.len() - 1), counted]);
        arguments.extend([Given::word(0), workspace.clone()]);
        arguments.push(Given::room::<O::Output>(n as usize));
        is_sound(&format!("{name}_segment_scan"), grid, &arguments);
    }
}

/// Where the number of segments is: nowhere, so that there are as many as are given; or in a word, which says that there are so many.
fn all_and_counted(count: usize) -> [Given; 2] {
    [Given::count(0), Given::values(&[count as u64])]
}

#[test]
fn scans() {
    scan_is_sound::<f32, _>(Sum, "sum_f32", &floats(9000), 9000);
    scan_is_sound::<f32, _>(Sum, "sum_f32", &floats(9001), 1000);
    let small: Vec<i8> = Random(1).take(5000).map(|word| word as i8).collect();
    scan_is_sound::<i8, _>(Sum, "sum_i8", &small, 7);
    let wide: Vec<f64> = floats(5000).into_iter().map(f64::from).collect();
    scan_is_sound::<f64, _>(Max, "max_f64", &wide, 5000);
}

#[test]
fn runs() {
    for (n, room) in [(0, 3), (1, 1), (5000, 5000), (5000, 40)] {
        let keys: Vec<u32> = (0..n as u32).map(|place| place / 37).collect();
        let (workspace, grid) = workspace(tiles(n, runs::tile::<u32>()), 0_u64);
        let grid = (grid.0.max(1), grid.1);
        let mut arguments = vec![Given::values(&keys), Given::count(n)];
        let starts = match n % 2 {
            0 => [Given::room::<u32>(room + 1), Given::Number(0_u32.into())],
            _ => [Given::room::<u64>(room + 1), Given::Number(1_u32.into())],
        };
        arguments.extend(starts);
        arguments.push(Given::room::<u32>(room));
        arguments.extend([Given::count(room), Given::room::<u64>(1)]);
        arguments.push(workspace);
        is_sound("runs_u32", grid, &arguments);
    }
}

#[test]
fn pairs() {
    for n in [0, 1, 1000, 3 * CHUNK + 5] {
        let (left, right) = (Given::values(&floats(n)), Given::shifted(&floats(n), 1));
        for (suffix, grid, states) in [
            ("_pairs", (3, 96), Given::slots::<f32>(3)),
            ("_pairs", (35, 32), Given::slots::<f32>(35)),
            (
                "_fixed_pairs",
                (2, fixed::BLOCK),
                Given::room::<f32>(n.div_ceil(CHUNK)),
            ),
        ] {
            let mut arguments = vec![left.clone(), right.clone(), Given::count(n)];
            arguments.extend([states, Given::values(&[0_u32])]);
            arguments.push(Given::room::<f32>(1));
            is_sound(&format!("dot_f32{suffix}"), grid, &arguments);
            if suffix == "_pairs" {
                // As of arrays that the cache does not hold.
                arguments.insert(3, Given::word(3));
                is_sound("dot_f32_large_pairs", grid, &arguments);
            }
        }
    }
}

fn fixed_is_sound<O: Operator<f32>>(name: &str) {
    for (rows, columns, matrices) in [(1, 40, 2), (300, 33, 3), (2 * CHUNK + 9, 3, 2)] {
        let strips = Strips::new(columns);
        let chunks = rows.div_ceil(CHUNK);
        let mut arguments = vec![Given::values(&floats(matrices * rows * columns))];
        arguments.extend([rows, columns, columns].map(Given::count));
        arguments.push(Given::word(matrices as u32));
        arguments.push(Given::count(rows * columns));
        arguments.push(Given::word(strips.width));
        arguments.push(Given::room::<O::State>(matrices * columns * chunks));
        let strips = matrices * strips.count(columns);
        arguments.push(Given::values(&vec![0_u32; strips]));
        arguments.push(Given::room::<O::Output>(matrices * columns));
        is_sound(
            &format!("{name}_fixed_columns"),
            (2, fixed::BLOCK),
            &arguments,
        );
    }
    let n = 5 * CHUNK + 77;
    let offsets = [
        0,
        0,
        3,
        20,
        400,
        401,
        CHUNK as u32,
        3 * CHUNK as u32 + 1,
        n as u32 - 9,
        n as u32,
    ];
    let windows = n.div_ceil(CHUNK);
    for counted in all_and_counted(offsets.len() - 3) {
        let mut arguments = vec![Given::values(&floats(n)), Given::values(&offsets)];
        arguments.extend([Given::word(0), Given::count(offsets.len() - 1), counted]);
        arguments.push(Given::room::<O::State>(2 * windows));
        arguments.push(Given::values(&vec![0_u32; windows]));
        arguments.push(Given::room::<O::Output>(offsets.len() - 1));
        is_sound(&format!("{name}_fixed_segments"), (2, 64), &arguments);
    }
}

#[test]
fn columns_and_segments_in_the_fixed_order() {
    fixed_is_sound::<Sum>("sum_f32");
    fixed_is_sound::<Variance>("variance_f32");
}
