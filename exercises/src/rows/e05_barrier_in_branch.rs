//! A loop that threads leave at different turns, with barriers in it.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 64;
/// The most blocks of a launch.
const BLOCKS: usize = 2;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 5,
    id: "barrier_in_branch",
    title: "A barrier in a branch",
    lesson: "reverse_static",
    kernel: "sort_tiles",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "barriers",
        better: Better::Less,
        n: 1000,
    },
    gates: &[
        Gate {
            metric: "global_load_requests",
            factor: 1.0,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.25,
        },
    ],
    forbidden: &[],
    starter: Stage::Barriers,
};

/// `sort_tiles(input: *const i32, output: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // Positive, and with equal ones in each tile.
    let input: Vec<i32> = (0..n as i32)
        .map(|i| (i % 97).pow(2) * 31 % 97 + i % 50 + 1)
        .collect();
    let mut output = input.clone();
    for tile in output.chunks_mut(BLOCK) {
        tile.sort_unstable();
    }
    Case::new(
        n.div_ceil(BLOCK).min(BLOCKS),
        BLOCK as u32,
        vec![
            Argument::input(input, offset),
            Argument::output(output, offset),
            Argument::number(n as u64),
        ],
    )
}
