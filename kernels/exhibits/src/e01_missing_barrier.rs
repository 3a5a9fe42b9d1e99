//! # A missing barrier
//!
//! ## What is wrong
//! A block is reversed through shared memory: each thread stores its element and loads the mirrored one, whose thread may
//! be in another warp. Nothing makes one wait for the other.
//!
//! ## The finding
//! `read after write` in shared memory: the load and the store are in threads of two warps.
//!
//! ## Repair
//! `sync_threads()` between the two.

use warpfold_kernels::prelude::*;

/// Reverses 64 values.
///
/// # Safety
/// `input` and `output` point to 64 values each; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn missing_barrier(input: *const i32, output: *mut i32) {
    let tid = thread_idx_x() as usize;
    let tile = shared_array!(tile: [i32; 64]);
    // SAFETY: all indices are below 64. That stores and loads are not ordered is the mistake shown here.
    unsafe {
        *tile.add(tid) = *input.add(tid);
        *output.add(tid) = *tile.add(63 - tid);
    }
}
