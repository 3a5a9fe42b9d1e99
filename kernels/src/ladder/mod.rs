//! The ladder: the sum of `i32` values, one idea a step.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod l01_neighbored;
pub mod l02_neighbored_less;
pub mod l03_interleaved;
pub mod l04_unroll;
pub mod l05_unroll_warps8;
pub mod l05b_unroll_warps8_sync;
pub mod l06_complete_unroll_warps8;
pub mod l07_complete_unroll;
pub mod l08_complete_unroll_shared;
pub mod l09_shuffle;
pub mod l10_vectorized;
pub mod l11_single_pass;
pub mod l12_flagship;
pub mod l12a_accumulate;
// Where the instructions are: from sm_90 on, which rust-cuda calls compute_90.
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_90",
    target_feature = "compute_90"
))]
pub mod l12b_bulk;
pub mod l12c_deterministic;
