//! A ticket says which block is the last, and two fences make that worth something.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Numbers of a block.
const TILE: usize = 512;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 19,
    id: "last_block",
    title: "The last block to finish",
    lesson: "single_pass",
    kernel: "sum",
    block: BLOCK,
    tile: TILE,
    // The last has more blocks than a block has threads.
    sizes: Sizes::And(&[130 * TILE]),
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "atomics",
        better: Better::Less,
        n: 20 * TILE,
    },
    gates: &[
        Gate {
            metric: "barriers",
            factor: 1.0,
        },
        Gate {
            metric: "global_sectors",
            factor: 1.05,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.05,
        },
    ],
    forbidden: &[],
    starter: Stage::Races,
};

/// `sum(values: *const i32, partials: *mut i32, total: *mut i32, counter: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let values: Vec<i32> = (0..n as i32)
        .map(|i| i.wrapping_mul(1_000_003) % 100_000)
        .collect();
    let sum = values
        .iter()
        .fold(0_i32, |sum, &value| sum.wrapping_add(value));
    let blocks = n.div_ceil(TILE).max(1);
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::scratch(vec![-1_i32; blocks]),
            // What was there does not count.
            Argument::updated(vec![12_345], vec![sum], 0),
            Argument::updated(vec![0_u32], vec![0_u32], 0),
            Argument::number(n as u64),
        ],
    )
}
