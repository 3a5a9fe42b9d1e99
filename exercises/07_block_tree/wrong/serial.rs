//! Convicted by: counter
//! One thread adds all the words up.

use crate::prelude::*;

/// Threads of a block, and elements of it.
const BLOCK: usize = 256;

/// Writes the sum of each block's 256 elements to `partials`; the last block may have fewer.
///
/// # Safety
/// `input` points to `n` numbers, `partials` to one for each block. The launch has at least `n` threads, in blocks of 256.
#[kernel]
pub unsafe fn block_sums(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x() as usize;
    let index = global_index();
    let tile = shared_array!(tile: [i32; BLOCK]);
    // SAFETY: the input is read in bounds; the word of the tile is this thread's own.
    unsafe { *tile.add(tid) = if index < n { *input.add(index) } else { 0 } };
    sync_threads();
    if tid == 0 {
        for other in 1..BLOCK {
            // SAFETY: the tile has 256 words, all written before the barrier.
            unsafe { *tile += *tile.add(other) };
        }
    }
    if tid == 0 {
        // SAFETY: each block has a partial sum of its own.
        unsafe { *partials.add(block_idx_x() as usize) = *tile };
    }
}
