//! Loads of 16 bytes from an array that begins anywhere.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 64;
/// Elements of a block, a vector of four for each thread.
const TILE: usize = 4 * BLOCK;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 10,
    id: "vector_loads",
    title: "Vectors in a misaligned slice",
    lesson: "vectorized",
    kernel: "square",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: &[1, 2, 3, 0],
    case,
    counter: Counter {
        metric: "global_load_requests",
        better: Better::Less,
        n: 4000,
    },
    gates: &[
        Gate {
            metric: "global_store_requests",
            factor: 1.05,
        },
        Gate {
            metric: "global_sectors",
            factor: 1.05,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
    ],
    forbidden: &[],
    starter: Stage::Memory,
};

/// `square(values: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let values: Vec<i32> = (0..n as i32).map(|i| 3 * (i % 10_000) - 500).collect();
    let squares = values.iter().map(|value| value * value).collect();
    Case::new(
        n.div_ceil(TILE),
        BLOCK as u32,
        vec![
            Argument::updated::<i32>(values, squares, offset),
            Argument::number(n as u64),
        ],
    )
}
