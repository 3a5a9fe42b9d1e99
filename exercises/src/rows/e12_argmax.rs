//! Pairs through shuffles, and one order for ties and NaN.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
/// Values of a block.
const TILE: usize = 1024;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 12,
    id: "argmax",
    title: "Where the largest is",
    lesson: "shuffle",
    kernel: "argmax",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "barriers",
        better: Better::Less,
        n: 8192,
    },
    gates: &[
        Gate {
            metric: "global_load_sectors",
            factor: 1.0,
        },
        Gate {
            metric: "warp_instructions",
            factor: 1.5,
        },
    ],
    forbidden: &[],
    starter: Stage::Result,
};

/// `argmax(values: *const f32, indices: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let values: Vec<f32> = (0..n).map(|i| value(i, n, offset)).collect();
    let blocks = n.div_ceil(TILE).max(1);
    let indices: Vec<u32> = (0..blocks)
        .map(|block| first_of_largest(&values, block))
        .collect();
    // The value that wins; where there is none, the place is past the end.
    let places = indices.clone().into_iter().map(|index| index as usize);
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::output(indices, 0).from_places(places),
            Argument::number(n as u64),
        ],
    )
}

/// By the offset: many equal values; NaN among them; zeros of both signs; nothing above −∞.
fn value(i: usize, n: usize, offset: usize) -> f32 {
    let position = i % TILE;
    match offset {
        0 => (i * 37 % 61) as f32 - 30.0,
        // None at the beginning of a tile, so that a NaN has to win against what was there before.
        1 if position % 97 == 55 || i + 1 == n => f32::NAN,
        1 => (i * i % 59) as f32,
        // The first zero stands in the midst of a warp, and is a −0.
        2 if position < 42 => -5.0,
        2 if position.is_multiple_of(3) => -0.0,
        2 => 0.0,
        _ if position == 700 => -1e30,
        _ => f32::NEG_INFINITY,
    }
}

/// The index of a block's answer, as NumPy gives it.
fn first_of_largest(values: &[f32], block: usize) -> u32 {
    let of_block = values.iter().enumerate().skip(block * TILE).take(TILE);
    let mut best: Option<(usize, f32)> = None;
    for (index, &value) in of_block {
        let is_better =
            best.is_none_or(|(_, best)| value > best || value.is_nan() && !best.is_nan());
        if is_better {
            best = Some((index, value));
        }
    }
    best.map_or(u32::MAX, |(index, _)| index as u32)
}
