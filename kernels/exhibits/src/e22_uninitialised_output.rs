//! # Added to what was never written
//!
//! ## What is wrong
//! The kernel adds its results to the buffer's values, and the host has allocated the buffer without filling it. Fresh
//! memory of a GPU is often 0, but nothing guarantees that.
//!
//! ## The finding
//! `read of uninitialised memory` in global memory.
//!
//! ## Repair
//! Let the host clear the buffer, or the kernel store instead of add.

use warpfold_kernels::prelude::*;

/// Adds each of `n` values to the one in `sums`.
///
/// # Safety
/// `input` and `sums` point to `n` values each; the grid has a thread for each.
#[kernel]
pub unsafe fn uninitialised_output(input: *const i32, sums: *mut i32, n: u32) {
    let index = block_idx_x() * block_dim_x() + thread_idx_x();
    if index < n {
        // SAFETY: the index is below n. That `sums` holds nothing yet is the mistake.
        unsafe {
            let sum = sums.add(index as usize);
            *sum = (*sum).wrapping_add(*input.add(index as usize));
        }
    }
}
