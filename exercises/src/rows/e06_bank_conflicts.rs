//! A matrix is transposed through shared memory, by rows on one side and by columns on the other.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Columns of the matrix, and rows of a block.
const SIDE: usize = 32;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 6,
    id: "bank_conflicts",
    title: "Thirty-two banks",
    lesson: "bank_stride",
    kernel: "transpose",
    block: BLOCK,
    tile: SIDE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "shared_wavefronts",
        better: Better::Less,
        n: 256,
    },
    gates: &[
        Gate {
            metric: "global_sectors",
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

/// `transpose(input: *const i32, output: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let input: Vec<i32> = (0..(n * SIDE) as i32).map(|i| 5 * i - 3).collect();
    let columns = (0..SIDE).flat_map(|column| input.iter().skip(column).step_by(SIDE));
    let output: Vec<i32> = columns.copied().collect();
    Case::new(
        n.div_ceil(SIDE),
        BLOCK as u32,
        vec![
            Argument::input(input, offset),
            Argument::output(output, offset)
                .from_places((0..n * SIDE).map(|i| i % n * SIDE + i / n)),
            Argument::number(n as u64),
        ],
    )
}
