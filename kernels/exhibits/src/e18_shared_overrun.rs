//! # Past the end of a shared array
//!
//! ## What is wrong
//! Each thread reads its right neighbour's value; the last one has none, and reads past the end of the array.
//!
//! ## The finding
//! `access out of bounds` in shared memory, with the number of bytes that the block has.
//!
//! ## Repair
//! One more element for the halo, or a test for the last thread.

use warpfold_kernels::prelude::*;

/// Adds to each of 64 values the next one.
///
/// # Safety
/// `values` points to 64 values; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn shared_overrun(values: *mut i32) {
    let tid = thread_idx_x() as usize;
    let tile = shared_array!(tile: [i32; 64]);
    // SAFETY: the indices are below 64 except for the last thread's second, which is the mistake.
    unsafe {
        *tile.add(tid) = *values.add(tid);
        sync_threads();
        *values.add(tid) = (*tile.add(tid)).wrapping_add(*tile.add(tid + 1));
    }
}
