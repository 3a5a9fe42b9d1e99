//! # The full mask in a branch
//!
//! ## What is wrong
//! The shuffle waits for all 32 lanes that its mask names, in a branch that half of them do not take. The other half waits
//! at a barrier further down for the first.
//!
//! ## The finding
//! `lanes never arrive`: which lane waits at the shuffle for which, and where the latter waits.
//!
//! ## Repair
//! Shuffle in all lanes and use the result in some; or name in the mask only those that take the branch.

use warpfold_kernels::prelude::*;

/// Adds to each of the first 16 of 32 values the one 16 further on.
///
/// # Safety
/// `values` points to 32 values; the launch is one block of 32 threads.
#[kernel]
pub unsafe fn full_mask_in_a_branch(values: *mut i32) {
    let lane = thread_idx_x() as usize;
    // SAFETY: the index is below 32. That only half of the lanes come to the shuffle is the mistake.
    unsafe {
        let mut sum = *values.add(lane);
        if lane < 16 {
            sum = sum.wrapping_add(shuffle_down(sum, 16));
        }
        sync_threads();
        *values.add(lane) = sum;
    }
}
