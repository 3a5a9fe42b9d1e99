//! Threads read what other threads of their block have written to shared memory.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 64;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 4,
    id: "missing_barrier",
    title: "A barrier that is missing",
    lesson: "complete_unroll_shared",
    kernel: "neighbour_sums",
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
    starter: Stage::Races,
};

/// `neighbour_sums(input: *const i32, output: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let input: Vec<i32> = (0..n as i32).map(|i| (i % 10_007).pow(2) + 1).collect();
    let sums = input.chunks(BLOCK).flat_map(|tile| {
        let at = |i: usize| tile.get(i).copied().unwrap_or(0);
        (0..tile.len()).map(move |i| at(i.wrapping_sub(1)) + at(i) + at(i + 1))
    });
    let output: Vec<i32> = sums.collect();
    Case::new(
        n.div_ceil(BLOCK),
        BLOCK as u32,
        vec![
            Argument::input(input, offset),
            Argument::output(output, offset),
            Argument::number(n as u64),
        ],
    )
}
