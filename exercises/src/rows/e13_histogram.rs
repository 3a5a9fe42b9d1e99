//! Blocks count in shared memory before they add to global memory.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Values of a block.
const TILE: usize = 1024;
const BINS: u32 = 64;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 13,
    id: "histogram",
    title: "A histogram",
    lesson: "histogram_shared",
    kernel: "histogram",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "global_atomic_passes",
        better: Better::Less,
        n: 8192,
    },
    gates: &[
        Gate {
            metric: "barriers",
            factor: 1.0,
        },
        Gate {
            metric: "global_load_sectors",
            factor: 1.0,
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
    starter: Stage::Counter,
};

/// `histogram(values: *const u32, counts: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // The squares favour some of them, and every number occurs.
    let values: Vec<u32> = (0..n as u32)
        .map(|i| {
            if i.is_multiple_of(3) {
                i.wrapping_mul(i) % BINS
            } else {
                (i * 37 + i / 64) % BINS
            }
        })
        .collect();
    let before: Vec<u32> = (0..BINS).map(|bin| 1000 + bin).collect();
    let mut after = before.clone();
    for &value in &values {
        after[value as usize] += 1;
    }
    // Where a number occurs first.
    let place = |bin: u32| values.iter().position(|&value| value == bin);
    let places: Vec<usize> = (0..BINS).map(|bin| place(bin).unwrap_or(n)).collect();
    Case::new(
        n.div_ceil(TILE),
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::updated(before, after, 0).from_places(places),
            Argument::number(n as u64),
        ],
    )
}
