//! Two kinds of elements, so dealt out that no warp has both.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;
const ROUNDS: u32 = 16;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 3,
    id: "divergence",
    title: "One way for a warp",
    lesson: "even_odd_warp",
    kernel: "stir_and_shake",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "divergent_branches",
        better: Better::Less,
        n: 1024,
    },
    gates: &[
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
    starter: Stage::Counter,
};

/// `stir_and_shake(input: *const u32, output: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // The first hundred are even at even places; the later ones are not.
    let input: Vec<u32> = (0..n as u32).map(|i| 11 * i + i / 100).collect();
    let places = input.iter().enumerate();
    let output = places
        .map(|(place, &x)| if place % 2 == 0 { stir(x) } else { shake(x) })
        .collect();
    Case::new(
        n.div_ceil(BLOCK),
        BLOCK as u32,
        vec![
            Argument::input(input, offset),
            Argument::output::<u32>(output, offset),
            Argument::number(n as u64),
        ],
    )
}

fn stir(x: u32) -> u32 {
    (0..ROUNDS).fold(x, |x, _| x.wrapping_mul(x | 1).rotate_left(5))
}

fn shake(x: u32) -> u32 {
    (0..ROUNDS).fold(x, |x, _| {
        let x = x ^ (x << 13);
        let x = x ^ (x >> 17);
        x ^ (x << 5)
    })
}
