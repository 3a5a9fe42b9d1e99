//! # The neighbour block's element
//!
//! ## What is wrong
//! Each element takes its right neighbour, in place. Inside a block the barrier keeps loads and stores apart; but the last
//! thread of a block loads the first element of the next block, which may have stored its own by then. No barrier reaches
//! beyond a block.
//!
//! ## The finding
//! `read after write` in global memory, or the other way round, between threads of two blocks.
//!
//! ## Repair
//! Write to a second buffer instead of in place, or make it two launches.

use warpfold_kernels::prelude::*;

/// Adds to each of `n` values the next one, in place.
///
/// # Safety
/// `values` points to `n` values; the grid has a thread for each.
#[kernel]
pub unsafe fn neighbour_block(values: *mut i32, n: u32) {
    let index = block_idx_x() * block_dim_x() + thread_idx_x();
    let next = if index + 1 < n {
        // SAFETY: the index is below n. That the next block may have written there is the mistake.
        unsafe { *values.add(index as usize + 1) }
    } else {
        0
    };
    sync_threads();
    if index < n {
        // SAFETY: the index is below n, and only this thread stores there.
        unsafe { *values.add(index as usize) = (*values.add(index as usize)).wrapping_add(next) };
    }
}
