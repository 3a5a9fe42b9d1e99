//! Convicted by: counter
//! The tree goes on in shared memory until one warp is left.

use crate::prelude::*;

/// Threads of a block, and elements of it.
const BLOCK: usize = 128;
/// Threads of a warp.
const WARP: usize = WARP_SIZE as usize;

/// Writes the sum of each block's 128 elements to `partials`; the last block may have fewer.
///
/// # Safety
/// `input` points to `n` numbers, `partials` to one for each block. The launch has at least `n` threads, in blocks of 128.
#[kernel]
pub unsafe fn block_sums(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x() as usize;
    let index = global_index();
    let tile = shared_array!(tile: [i32; BLOCK]);
    // SAFETY: the input is read in bounds; the word of the tile is this thread's own.
    unsafe { *tile.add(tid) = if index < n { *input.add(index) } else { 0 } };
    sync_threads();
    if tid < BLOCK / 2 {
        // SAFETY: nobody writes to the second half.
        unsafe { *tile.add(tid) += *tile.add(tid + BLOCK / 2) };
    }
    sync_threads();
    if tid < WARP {
        // SAFETY: nobody writes there any more.
        let mut sum = unsafe { *tile.add(tid) + *tile.add(tid + WARP) };
        let mut delta = WARP / 2;
        while delta > 0 {
            // SAFETY: the whole warp makes the call.
            sum += unsafe { shuffle_down(sum, delta as u32) };
            delta /= 2;
        }
        if tid == 0 {
            // SAFETY: each block has a partial sum of its own.
            unsafe { *partials.add(block_idx_x() as usize) = sum };
        }
    }
}
