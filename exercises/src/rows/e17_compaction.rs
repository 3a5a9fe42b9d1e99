//! Ballots say where each kept value goes.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 17,
    id: "compaction",
    title: "Keep some, in order",
    lesson: "ballot",
    kernel: "compact",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::And(&[1000]),
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "barriers",
        better: Better::Less,
        n: 1000,
    },
    gates: &[
        Gate {
            metric: "atomics",
            factor: 0.0,
        },
        Gate {
            metric: "shared_wavefronts",
            factor: 1.5,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
    ],
    forbidden: &[],
    starter: Stage::Result,
};

/// `compact(values: *const i32, kept: *mut i32, counts: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // About half are positive, and some are 0.
    let values: Vec<i32> = (0..n as i32)
        .map(|i| (i % 61).pow(2) * 7 % 61 - 30 + i % 4)
        .collect();
    let blocks = n.div_ceil(BLOCK).max(1);
    let of_block = |block: usize| {
        let values = values.iter().skip(block * BLOCK).take(BLOCK);
        values
            .copied()
            .filter(|&value| value > 0)
            .collect::<Vec<i32>>()
    };
    let mut kept = vec![0; blocks * BLOCK];
    let mut counts = Vec::new();
    for block in 0..blocks {
        let positive = of_block(block);
        kept[block * BLOCK..][..positive.len()].copy_from_slice(&positive);
        counts.push(positive.len() as u32);
    }
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::updated(vec![0; kept.len()], kept, 0),
            Argument::output(counts, 0).from_places((0..blocks).map(|block| block * BLOCK)),
            Argument::number(n as u64),
        ],
    )
}
