//! # A lane outside its own mask
//!
//! ## What is wrong
//! The mask says who takes part: the lower half of the warp. The upper half executes the shuffle too.
//!
//! ## The finding
//! `wrong member mask`, with the lane and the mask it gave.
//!
//! ## Repair
//! `u32::MAX` if the whole warp takes part; otherwise a branch around the shuffle.

use cuda_std::warp;
use warpfold_kernels::prelude::*;

/// Adds to each of 32 values the one 8 further on.
///
/// # Safety
/// `values` points to 32 values; the launch is one block of 32 threads.
#[kernel]
pub unsafe fn lane_not_in_mask(values: *mut i32) {
    let lane = thread_idx_x() as usize;
    // SAFETY: the index is below 32. That upper lanes are not in the mask is the mistake.
    unsafe {
        let mine = *values.add(lane);
        let (other, _) = warp::warp_shuffle_down(0x0000_ffff, mine, 8, 32);
        *values.add(lane) = mine.wrapping_add(other);
    }
}
