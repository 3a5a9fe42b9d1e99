//! # Shared memory read before it is written
//!
//! ## What is wrong
//! If n is not a multiple of the block size, the last block fills only part of its tile, but adds up all of it. The rest
//! holds what another block left there, perhaps one of another kernel. In the first test it is usually zero.
//!
//! ## The finding
//! `read of uninitialised memory` in shared memory.
//!
//! ## Repair
//! Threads past the end store a 0, as in step 8 of the ladder.

use warpfold_kernels::prelude::*;

/// Writes the sum of `n` values to `output`.
///
/// # Safety
/// `input` points to `n` values, at most 64, `output` to one; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn uninitialised_shared(input: *const i32, output: *mut i32, n: u32) {
    let tid = thread_idx_x();
    let sums = shared_array!(sums: [i32; 64]);
    // SAFETY: all indices are below 64. That some elements were never written is the mistake.
    unsafe {
        let mine = sums.add(tid as usize);
        if tid < n {
            *mine = *input.add(tid as usize);
        }
        let mut stride = 32;
        while stride > 0 {
            sync_threads();
            if tid < stride {
                *mine = (*mine).wrapping_add(*mine.add(stride as usize));
            }
            stride /= 2;
        }
        if tid == 0 {
            *output = *mine;
        }
    }
}
