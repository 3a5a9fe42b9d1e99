//! One thread for each element, and more threads than elements.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 64;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 1,
    id: "guard",
    title: "A guard for the last block",
    lesson: "neighbored",
    kernel: "scale",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "warp_instructions",
        better: Better::Less,
        n: 1000,
    },
    gates: &[Gate {
        metric: "global_sectors",
        factor: 1.0,
    }],
    forbidden: &[],
    starter: Stage::Memory,
};

/// `scale(input: *const i32, output: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let input: Vec<i32> = (0..n as i32).map(|i| 7 * i + 5).collect();
    let output = input.iter().map(|value| 3 * value).collect();
    Case::new(
        n.div_ceil(BLOCK),
        BLOCK as u32,
        vec![
            Argument::input(input, offset),
            Argument::output::<i32>(output, offset),
            Argument::number(n as u64),
        ],
    )
}
