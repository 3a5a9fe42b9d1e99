//! Threads of one warp that take different branches.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod d01_even_odd;
pub mod d02_odd_even_add;
pub mod d03_block_reduce;
