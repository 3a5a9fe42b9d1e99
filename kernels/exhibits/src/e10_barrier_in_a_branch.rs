//! # A barrier in a branch
//!
//! ## What is wrong
//! Only the even threads work, so only they wait: a barrier in a branch that the odd threads of the same warp do not take.
//! What a GPU does then is undefined; most hang.
//!
//! ## The finding
//! `divergent barrier`: lanes of one warp arrive without the others; and then that the barrier is never completed.
//!
//! ## Repair
//! Put the work into the branch and the barrier after it.

use warpfold_kernels::prelude::*;

/// Adds pairs of 64 values.
///
/// # Safety
/// `values` points to 64 values; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn barrier_in_a_branch(values: *mut i32) {
    let tid = thread_idx_x() as usize;
    if tid.is_multiple_of(2) {
        // SAFETY: the indices are below 64.
        unsafe { *values.add(tid) = (*values.add(tid)).wrapping_add(*values.add(tid + 1)) };
        sync_threads();
    }
}
