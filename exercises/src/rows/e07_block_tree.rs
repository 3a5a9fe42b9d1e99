//! The sum of a block, in as many steps as the block has bits.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 256;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 7,
    id: "block_tree",
    title: "The tree of a block",
    lesson: "interleaved",
    kernel: "block_sums",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "shared_wavefronts",
        better: Better::Less,
        n: 1000,
    },
    gates: &[
        Gate {
            metric: "barriers",
            factor: 1.15,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.25,
        },
        Gate {
            metric: "global_sectors",
            factor: 1.0,
        },
    ],
    forbidden: &[],
    starter: Stage::Result,
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
