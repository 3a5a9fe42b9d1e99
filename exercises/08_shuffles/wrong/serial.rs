//! Convicted by: gate
//! One barrier, no shuffles: the first thread adds up all that the others have left.

use crate::prelude::*;

/// Threads of a block, and elements of it.
const BLOCK: usize = 128;

/// Writes the sum of each block's 128 elements to `partials`; the last block may have fewer.
///
/// # Safety
/// `input` points to `n` numbers, `partials` to one for each block. The launch has at least `n` threads, in blocks of 128.
#[kernel]
pub unsafe fn block_sums(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x() as usize;
    let index = global_index();
    let tile = shared_array!(tile: [i32; BLOCK]);
    // SAFETY: in bounds by the test.
    let value = if index < n {
        unsafe { *input.add(index) }
    } else {
        0
    };
    // SAFETY: there is a word for each thread.
    unsafe { *tile.add(tid) = value };
    sync_threads();
    if tid == 0 {
        let mut sum = value;
        for other in 1..BLOCK {
            // SAFETY: the word has been written before the barrier.
            sum += unsafe { *tile.add(other) };
        }
        // SAFETY: each block has a partial sum of its own.
        unsafe { *partials.add(block_idx_x() as usize) = sum };
    }
}
