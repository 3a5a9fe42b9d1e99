//! A warp for each row of a matrix, so that its lanes read neighbours.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Columns that a block reads at a time, were they of one row.
const TILE: usize = 256;
const ROWS: usize = 13;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 14,
    id: "warp_per_row",
    title: "A warp for each row",
    lesson: "shuffle",
    kernel: "row_sums",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "global_load_sectors",
        better: Better::Less,
        n: 1000,
    },
    gates: &[
        Gate {
            metric: "barriers",
            factor: 0.0,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
    ],
    forbidden: &[],
    starter: Stage::Counter,
};

/// `row_sums(matrix: *const f32, sums: *mut f32, rows: usize, columns: usize)`, with `n` columns
fn case(n: usize, offset: usize) -> Case {
    // Multiples of 1/4, so that a row's sum is exact in any order.
    let matrix: Vec<f32> = (0..ROWS * n)
        .map(|i| (i * 37 % 61) as f32 / 4.0 - 7.0)
        .collect();
    let row = |row: usize| matrix.iter().skip(row * n).take(n).sum();
    let sums: Vec<f32> = (0..ROWS).map(row).collect();
    let warps = BLOCK / 32;
    Case::new(
        ROWS.div_ceil(warps),
        BLOCK as u32,
        vec![
            Argument::input(matrix, offset),
            Argument::output_within(sums, 1e-5, 0).from_places((0..ROWS).map(|row| row * n)),
            Argument::number(ROWS as u64),
            Argument::number(n as u64),
        ],
    )
}
