//! Convicted by: result
//! Missing elements count as 1, which is the identity of a product.

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
    unsafe { *tile.add(tid) = if index < n { *input.add(index) } else { 1 } };
    // In each step the first `half` threads add the second half of what is left to the first half.
    let mut half = BLOCK / 2;
    while half > 0 {
        // What is added now was written by other threads, in the step before.
        sync_threads();
        if tid < half {
            // SAFETY: tid + half is below 2 * half, where nobody writes in this step.
            unsafe { *tile.add(tid) += *tile.add(tid + half) };
        }
        half /= 2;
    }
    if tid == 0 {
        // SAFETY: each block has a partial sum of its own.
        unsafe { *partials.add(block_idx_x() as usize) = *tile };
    }
}
