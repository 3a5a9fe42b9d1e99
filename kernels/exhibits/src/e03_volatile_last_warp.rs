//! # The volatile last warp
//!
//! ## What is wrong
//! The six lines by which a generation of tutorials let the last warp finish a sum, without a barrier because "a warp runs
//! in lockstep". Since Volta it need not: a lane may load before its neighbour has stored, or after it has stored twice.
//! `volatile` makes the compiler emit every access; it does not order the accesses of two threads.
//!
//! ## The finding
//! `read after write` and `write after read` between lanes of one warp, for each step of the tree.
//!
//! ## Repair
//! `sync_warp()` between load and store, both ways, as in step 5b of the ladder; or shuffles, as in step 9.

use warpfold_kernels::prelude::*;

/// Writes the sum of 64 values to `output`.
///
/// # Safety
/// `input` points to 64 values, `output` to one; the launch is one block of 32 threads.
#[kernel]
pub unsafe fn volatile_last_warp(input: *const i32, output: *mut i32) {
    let lane = thread_idx_x() as usize;
    let sums = shared_array!(sums: [i32; 64]);
    // SAFETY: all indices are below 64. That the lanes are not in step is the mistake.
    unsafe {
        let mine = sums.add(lane);
        mine.write_volatile(*input.add(lane));
        mine.add(32).write_volatile(*input.add(lane + 32));
        let mut stride = 32;
        while stride > 0 {
            let sum = mine
                .read_volatile()
                .wrapping_add(mine.add(stride).read_volatile());
            mine.write_volatile(sum);
            stride /= 2;
        }
        if lane == 0 {
            *output = mine.read_volatile();
        }
    }
}
