//! The lanes of a warp vote, and one of them adds for all.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// The count before the launch.
const BEFORE: u32 = 1000;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 9,
    id: "aggregated_atomic",
    title: "One atomic for a warp",
    lesson: "warp_aggregated_atomic",
    kernel: "count_positive",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "atomics",
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

/// `count_positive(values: *const i32, count: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // About a third are positive, and some are 0.
    let values: Vec<i32> = (0..n as i32)
        .map(|i| (i % 61).pow(2) * 7 % 61 - 40 + i % 4)
        .collect();
    let positive = values.iter().filter(|&&value| value > 0).count() as u32;
    Case::new(
        n.div_ceil(BLOCK),
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::updated(vec![BEFORE], vec![BEFORE + positive], 0),
            Argument::number(n as u64),
        ],
    )
}
