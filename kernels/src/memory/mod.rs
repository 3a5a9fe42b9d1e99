//! How the addresses of a warp decide what an access costs.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod m01_copy_offset;
pub mod m02_copy_stride;
pub mod m03_reverse;
pub mod m04_bank_stride;
pub mod m05_matrix_add;
pub mod m06_residency;
pub mod m07_read_only;
pub mod m08_constant;
