//! The largest value and a sum that depends on it, in one pass.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 64;
/// Columns that a block reads at a time, were they of one row.
const TILE: usize = 128;
const ROWS: usize = 9;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 16,
    id: "softmax",
    title: "Softmax while you read",
    lesson: "warp_shuffle_xor",
    kernel: "softmax",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "global_load_requests",
        better: Better::Less,
        n: 1000,
    },
    gates: &[
        Gate {
            metric: "global_load_sectors",
            factor: 1.0,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
    ],
    forbidden: &[],
    starter: Stage::Counter,
};

/// `softmax(matrix: *const f32, out: *mut f32, rows: usize, columns: usize)`, with `n` columns
fn case(n: usize, offset: usize) -> Case {
    // The second row has the largest values, whose powers no `f32` holds, and the third has negative ones alone; then come −∞, the first
    // value among them, one NaN, and nothing but −∞.
    let matrix: Vec<f32> = (0..ROWS * n)
        .map(|i| {
            let (row, column) = (i / n.max(1), i % n.max(1));
            match row {
                5 if column.is_multiple_of(3) => f32::NEG_INFINITY,
                6 if column == n / 2 => f32::NAN,
                7 => f32::NEG_INFINITY,
                _ => (i * 37 % 61) as f32 / 4.0 + [0.0, 150.0, -150.0, 3.0, -3.0][row % 5],
            }
        })
        .collect();
    let softmax: Vec<f32> = matrix.chunks(n.max(1)).flat_map(softmax).collect();
    let warps = BLOCK / 32;
    Case::new(
        ROWS.div_ceil(warps),
        BLOCK as u32,
        vec![
            Argument::input(matrix, offset),
            Argument::output_within(softmax, 1e-5, 0),
            Argument::number(ROWS as u64),
            Argument::number(n as u64),
        ],
    )
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let most = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let power = |&value: &f32| (f64::from(value) - most).exp();
    let sum: f64 = row.iter().map(power).sum();
    row.iter()
        .map(|value| (power(value) / sum) as f32)
        .collect()
}
