//! The rows of the catalogue, one file each.

mod e01_guard;
mod e02_coalescing;
mod e03_divergence;
mod e04_missing_barrier;
mod e05_barrier_in_branch;
mod e06_bank_conflicts;
mod e07_block_tree;
mod e08_shuffles;
mod e09_aggregated_atomic;
mod e10_vector_loads;
mod e11_dot_product;
mod e12_argmax;
mod e13_histogram;
mod e14_warp_per_row;
mod e15_welford;
mod e16_softmax;
mod e17_compaction;
mod e18_scan;
mod e19_last_block;
mod e20_look_back;

use crate::exercise::Exercise;

/// All exercises, in their order.
pub const EXERCISES: &[Exercise] = &[
    e01_guard::EXERCISE,
    e02_coalescing::EXERCISE,
    e03_divergence::EXERCISE,
    e04_missing_barrier::EXERCISE,
    e05_barrier_in_branch::EXERCISE,
    e06_bank_conflicts::EXERCISE,
    e07_block_tree::EXERCISE,
    e08_shuffles::EXERCISE,
    e09_aggregated_atomic::EXERCISE,
    e10_vector_loads::EXERCISE,
    e11_dot_product::EXERCISE,
    e12_argmax::EXERCISE,
    e13_histogram::EXERCISE,
    e14_warp_per_row::EXERCISE,
    e15_welford::EXERCISE,
    e16_softmax::EXERCISE,
    e17_compaction::EXERCISE,
    e18_scan::EXERCISE,
    e19_last_block::EXERCISE,
    e20_look_back::EXERCISE,
];

/// The exercise of this id or number.
pub fn find(id: &str) -> Option<&'static Exercise> {
    let is_it = |exercise: &&Exercise| {
        exercise.id == id || exercise.folder() == id || id.parse() == Ok(exercise.number)
    };
    EXERCISES.iter().find(is_it)
}
