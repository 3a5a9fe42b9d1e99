//! Other roads to the same sum.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod r01_naive_atomic;
pub mod r02_warp_aggregated_atomic;
pub mod r03_block_aggregated_atomic;
pub mod r04_blocked;
pub mod r05_strided;
pub mod r06_shared_dynamic;
pub mod r07_segmented_shared;
pub mod r08_segmented_blocked;
pub mod r09_segmented_strided;
pub mod r10_coarse;
pub mod r11_tile_partition;
pub mod r12_warp_shuffle;
pub mod r13_grid_sync;
// Where the instruction is: from sm_80 on, which rust-cuda calls compute_80.
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
pub mod r14_redux;
pub mod r15_groups;
