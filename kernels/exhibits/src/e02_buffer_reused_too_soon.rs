//! # A buffer reused too soon
//!
//! ## What is wrong
//! As `missing_barrier`, over several tiles and with the barrier that was missing there. But the next iteration of the loop
//! fills the buffer again while slower warps still read the last tile from it.
//!
//! ## The finding
//! `write after read` in shared memory: the store of one iteration and the load of the iteration before.
//!
//! ## Repair
//! A second `sync_threads()` at the end of the iteration, or two buffers that alternate.

use warpfold_kernels::prelude::*;

/// Reverses each of `tiles` tiles of 64 values.
///
/// # Safety
/// `input` and `output` point to `64 * tiles` values each; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn buffer_reused_too_soon(input: *const i32, output: *mut i32, tiles: u32) {
    let tid = thread_idx_x() as usize;
    let tile = shared_array!(tile: [i32; 64]);
    let mut start = 0;
    for _ in 0..tiles {
        // SAFETY: all indices are inside the buffers. That a load and the next store are not ordered is the mistake.
        unsafe {
            *tile.add(tid) = *input.add(start + tid);
            sync_threads();
            *output.add(start + tid) = *tile.add(63 - tid);
        }
        start += 64;
    }
}
