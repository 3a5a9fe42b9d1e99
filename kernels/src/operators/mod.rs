//! Steps of the ladder for every operator and type, through generic bodies.

#![cfg(any(not(target_arch = "nvptx64"), feature = "operators"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod o01_operators;
pub mod o02_interleaved;
pub mod o03_complete_unroll_shared;
pub mod o04_shuffle;
pub mod o05_vectorized;
pub mod o06_single_pass;
pub mod o07_wide_sum;
