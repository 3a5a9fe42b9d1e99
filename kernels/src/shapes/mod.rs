//! Reductions to something else than one sum, and of many rows, columns and segments at once.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod s01_argmax;
pub mod s02_welford;
pub mod s03_rows_by_warps;
pub mod s04_rows_by_threads;
pub mod s05_columns;
pub mod s06_segments;
pub mod s07_keys;
