//! Parts of a variance, merged in a tree.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Forbidden, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Values of a block.
const TILE: usize = 1024;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 15,
    id: "welford",
    title: "A variance that survives large numbers",
    lesson: "shuffle",
    kernel: "variance",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "global_load_requests",
        better: Better::Less,
        n: 8192,
    },
    gates: &[
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
            factor: 2.0,
        },
    ],
    forbidden: &[Forbidden {
        instruction: "cvt.f64",
        because: "doubles are slow on most GPUs, and the merge needs none",
    }],
    starter: Stage::Result,
};

/// `variance(values: *const f32, variances: *mut f32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // A few units about a large mean, which drifts, so that the parts of a block have different means.
    let values: Vec<f32> = (0..n)
        .map(|i| 10_000.0 + (i * 37 % 61) as f32 / 4.0 + (i % TILE) as f32 / 64.0)
        .collect();
    let blocks = n.div_ceil(TILE).max(1);
    let variance = |block: usize| {
        let of_block = || {
            values
                .iter()
                .skip(block * TILE)
                .take(TILE)
                .map(|&value| f64::from(value))
        };
        let count = of_block().count() as f64;
        let mean = of_block().sum::<f64>() / count;
        (of_block().map(|value| (value - mean).powi(2)).sum::<f64>() / count) as f32
    };
    let variances: Vec<f32> = (0..blocks).map(variance).collect();
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::output_within(variances, 1e-2, 0)
                .from_places((0..blocks).map(|block| block * TILE)),
            Argument::number(n as u64),
        ],
    )
}
