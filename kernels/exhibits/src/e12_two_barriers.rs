//! # One barrier, two places
//!
//! ## What is wrong
//! Both branches have a barrier, so every thread waits exactly once. But the threads of one warp wait at two different
//! instructions, and all threads of a warp must reach a barrier at the same instruction.
//!
//! ## The finding
//! `divergent barrier`: some lanes of the warp are at one place, the others elsewhere.
//!
//! ## Repair
//! One barrier after the branches; or branch by warp, not by lane.

use warpfold_kernels::prelude::*;

/// Writes to `output` what the other half of the warp has in `input`, plus 1 or minus 1.
///
/// # Safety
/// `input` and `output` point to 32 values each; the launch is one block of 32 threads.
#[kernel]
pub unsafe fn two_barriers(input: *const i32, output: *mut i32) {
    let lane = thread_idx_x() as usize;
    let tile = shared_array!(tile: [i32; 32]);
    // SAFETY: all indices are below 32.
    unsafe {
        *tile.add(lane) = *input.add(lane);
        if lane < 16 {
            sync_threads();
            *output.add(lane) = (*tile.add(lane + 16)).wrapping_add(1);
        } else {
            sync_threads();
            *output.add(lane) = (*tile.add(lane - 16)).wrapping_mul(3);
        }
    }
}
