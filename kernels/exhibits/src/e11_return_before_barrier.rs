//! # Return before a barrier
//!
//! ## What is wrong
//! Threads past the end return at once, which is how most kernels begin. This one has a barrier further down, and the threads
//! that have returned never come to it.
//!
//! ## The finding
//! `barrier never completed`: how many threads wait, and which one has exited, and where.
//!
//! ## Repair
//! Let every thread reach the barrier, with the identity if it has no element.

use warpfold_kernels::prelude::*;

/// Shifts `n` values by one place.
///
/// # Safety
/// `values` points to `n` values, at most 64; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn return_before_barrier(values: *mut i32, n: u32) {
    let tid = thread_idx_x();
    if tid >= n {
        return;
    }
    // SAFETY: the indices are below n.
    unsafe {
        let value = *values.add(tid as usize);
        sync_threads();
        *values.add(((tid + 1) % n) as usize) = value;
    }
}
