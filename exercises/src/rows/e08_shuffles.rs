//! The same sum with one barrier.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Forbidden, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 8,
    id: "shuffles",
    title: "Shuffles at the end",
    lesson: "shuffle",
    kernel: "block_sums",
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
            metric: "shared_wavefronts",
            factor: 1.5,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
        Gate {
            metric: "global_sectors",
            factor: 1.0,
        },
    ],
    forbidden: &[Forbidden {
        instruction: "redux",
        because: "it adds up integers alone, and shuffles bring values of any type",
    }],
    starter: Stage::Counter,
};

/// `block_sums(input: *const i32, partials: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let input: Vec<i32> = (0..n as i32)
        .map(|i| (i % 1013).pow(2) % 1013 - 300)
        .collect();
    let blocks = n.div_ceil(BLOCK).max(1);
    let sum = |block| input.iter().skip(block * BLOCK).take(BLOCK).sum();
    let partials: Vec<i32> = (0..blocks).map(sum).collect();
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(input, offset),
            Argument::output(partials, offset).from_places((0..blocks).map(|block| block * BLOCK)),
            Argument::number(n as u64),
        ],
    )
}
