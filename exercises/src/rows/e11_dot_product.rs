//! Loads, registers, shuffles and one barrier together.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Pairs of a block.
const TILE: usize = 2048;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 11,
    id: "dot_product",
    title: "A dot product",
    lesson: "vectorized",
    kernel: "dot",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: &[1, 2, 3, 0],
    case,
    counter: Counter {
        metric: "global_load_requests",
        better: Better::Less,
        n: 8192,
    },
    gates: &[
        Gate {
            metric: "global_sectors",
            factor: 1.0,
        },
        Gate {
            metric: "barriers",
            factor: 1.0,
        },
        Gate {
            metric: "shared_wavefronts",
            factor: 2.0,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
    ],
    forbidden: &[],
    starter: Stage::Result,
};

/// `dot(left: *const f32, right: *const f32, partials: *mut f32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // Multiples of 1/4 and of 1/2, so that a block's sum is exact in any order.
    let left: Vec<f32> = (0..n).map(|i| (i * 37 % 61) as f32 / 4.0 - 7.0).collect();
    let right: Vec<f32> = (0..n).map(|i| (i * i % 59) as f32 / 2.0 - 12.0).collect();
    let products: Vec<f32> = left
        .iter()
        .zip(&right)
        .map(|(left, right)| left * right)
        .collect();
    let blocks = n.div_ceil(TILE).max(1);
    let sum = |block| products.iter().skip(block * TILE).take(TILE).sum();
    let partials: Vec<f32> = (0..blocks).map(sum).collect();
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(left, offset),
            Argument::input(right, offset),
            Argument::output_within(partials, 1e-5, 0)
                .from_places((0..blocks).map(|block| block * TILE)),
            Argument::number(n as u64),
        ],
    )
}
