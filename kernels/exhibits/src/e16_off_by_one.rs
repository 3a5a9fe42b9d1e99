//! # Off by one at the tail
//!
//! ## What is wrong
//! `<=` where `<` is meant: one thread touches the element after the last. It shows only if n is no multiple of the block
//! size, and on a GPU only if that element is on another page.
//!
//! ## The finding
//! `access out of bounds`, with the address and the buffer that ends there.
//!
//! ## Repair
//! `index < n`.

use warpfold_kernels::prelude::*;

/// Doubles `n` values.
///
/// # Safety
/// `values` points to `n` values; the grid has a thread for each.
#[kernel]
pub unsafe fn off_by_one(values: *mut i32, n: u32) {
    let index = block_idx_x() * block_dim_x() + thread_idx_x();
    if index <= n {
        // SAFETY: the index is below n for all threads but one, which is the mistake.
        unsafe { *values.add(index as usize) = (*values.add(index as usize)).wrapping_mul(2) };
    }
}
