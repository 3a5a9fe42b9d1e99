//! Eight elements for each thread, in an order that suits the memory.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 64;
/// Elements of a block, eight for each thread.
const TILE: usize = 8 * BLOCK;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 2,
    id: "coalescing",
    title: "Neighbours load neighbours",
    lesson: "copy_stride",
    kernel: "axpy",
    block: BLOCK,
    tile: TILE,
    sizes: Sizes::Usual,
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "global_sectors",
        better: Better::Less,
        n: 4000,
    },
    gates: &[Gate {
        metric: "warp_instructions",
        factor: 1.5,
    }],
    forbidden: &[],
    starter: Stage::Counter,
};

/// `axpy(a: i32, x: *const i32, y: *mut i32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    let a = 3;
    let x: Vec<i32> = (0..n as i32).map(|i| 7 * i + 5).collect();
    let y: Vec<i32> = (0..n as i32)
        .map(|i| (i % 1009).pow(2) % 1009 - 100)
        .collect();
    let after = x.iter().zip(&y).map(|(x, y)| y + a * x).collect();
    Case::new(
        n.div_ceil(TILE),
        BLOCK as u32,
        vec![
            Argument::number(a),
            Argument::input(x, offset),
            Argument::updated(y, after, offset),
            Argument::number(n as u64),
        ],
    )
}
