//! Running sums of any length in one pass: tiles publish what they know, and look back.

use crate::case::{Argument, Case};
use crate::exercise::{Better, Counter, Exercise, Gate, OFFSETS, Sizes};
use crate::stage::Stage;

const BLOCK: usize = 128;

pub(super) const EXERCISE: Exercise = Exercise {
    number: 20,
    id: "look_back",
    title: "The boss: running sums in one pass",
    lesson: "look_back",
    kernel: "scan_all",
    block: BLOCK,
    tile: BLOCK,
    sizes: Sizes::And(&[1500]),
    offsets: OFFSETS,
    case,
    counter: Counter {
        metric: "global_load_sectors",
        better: Better::Less,
        n: 4000,
    },
    gates: &[
        Gate {
            metric: "global_store_sectors",
            factor: 1.1,
        },
        Gate {
            metric: "barriers",
            factor: 1.5,
        },
        Gate {
            metric: "atomics",
            factor: 2.0,
        },
        Gate {
            metric: "warp_instructions",
            factor: 2.0,
        },
    ],
    forbidden: &[],
    starter: Stage::Result,
};

/// `scan_all(values: *const i32, sums: *mut i32, published: *mut u64, ticket: *mut u32, n: usize)`
fn case(n: usize, offset: usize) -> Case {
    // Large enough for the sums to wrap around.
    let values: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(1_000_003)).collect();
    let mut sum = 0_i32;
    let sums: Vec<i32> = values
        .iter()
        .map(|&value| {
            sum = sum.wrapping_add(value);
            sum
        })
        .collect();
    let blocks = n.div_ceil(BLOCK).max(1);
    Case::new(
        blocks,
        BLOCK as u32,
        vec![
            Argument::input(values, offset),
            Argument::output(sums, offset),
            Argument::scratch(vec![0_u64; blocks]),
            Argument::scratch(vec![0_u32]),
            Argument::number(n as u64),
        ],
    )
}
