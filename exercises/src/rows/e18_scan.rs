//! Running sums of a block: shuffles up, and one barrier.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 256;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 18,
    id: "scan",
    title: "Running sums",
    lesson: "block_scan",
    kernel: "scan",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "barriers",
        better: Better::Less,
        n: 2000,
    },
    gates: &[
        Gate {
            metric: "shared_wavefronts",
            factor: 1.5,
        },
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

/// `scan(values: *const i32, sums: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // The first few are so large that the sums wrap around.
    let values: Vec<i32> = (0..n as i32)
        .map(|i| {
            if i % 101 < 2 {
                1 << 30
            } else {
                i * 37 % 61 - 20
            }
        })
        .collect();
    let mut sums = Vec::new();
    for block in values.chunks(BLOCK) {
        let mut sum = 0_i32;
        for value in block {
            sum = sum.wrapping_add(*value);
            sums.push(sum);
        }
    }
    Case::new(
        n.div_ceil(BLOCK),
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::output(sums, offset),
            Argument::number(n as u64),
        ],
    )
}
