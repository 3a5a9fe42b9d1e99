//! Sums of all that comes before: the neighbour of the reduction.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod s01_warp_scan;
pub mod s02_block_scan;
pub mod s03_look_back;
