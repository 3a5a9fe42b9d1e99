//! # A shuffle from an absent lane
//!
//! ## What is wrong
//! The lower half of the warp sums up by shuffles, with a mask that names just that half. But the first shuffle reads 8
//! lanes up, so lanes 8 to 15 read lanes that take no part, and get undefined values.
//!
//! ## The finding
//! `shuffle from an absent lane`, with the lane that reads and the lane that is read.
//!
//! ## Repair
//! Shuffle in sections of 16 lanes (`width` 16), in which a lane past the end reads itself.

use cuda_std::warp;
use warpfold_kernels::prelude::*;

/// Writes the sum of 16 values to `output`.
///
/// # Safety
/// `input` points to 16 values, `output` to one; the launch is one block of 32 threads.
#[kernel]
pub unsafe fn shuffle_from_absent_lane(input: *const i32, output: *mut i32) {
    let lane = thread_idx_x();
    if lane < 16 {
        // SAFETY: the index is below 16, and all lanes of the mask come here. That lanes read beyond them is the mistake.
        unsafe {
            let mut sum = *input.add(lane as usize);
            let mut delta = 8;
            while delta > 0 {
                sum = sum.wrapping_add(warp::warp_shuffle_down(0x0000_ffff, sum, delta, 32).0);
                delta /= 2;
            }
            if lane == 0 {
                *output = sum;
            }
        }
    }
}
