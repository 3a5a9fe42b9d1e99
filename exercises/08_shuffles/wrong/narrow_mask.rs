//! Convicted by: barriers
//! The mask names 16 lanes, and all 32 make the call.

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
    let others = shared_array!(others: [i32; BLOCK - WARP]);
    // SAFETY: in bounds by the test.
    let value = if index < n {
        unsafe { *input.add(index) }
    } else {
        0
    };
    // All warps but the first leave their values for it.
    if tid >= WARP {
        // SAFETY: there is a word for each of these threads.
        unsafe { *others.add(tid - WARP) = value };
    }
    sync_threads();
    if tid < WARP {
        // Each lane adds up a column: its own value, and those of the same lane of the other warps.
        let mut sum = value;
        for place in (tid..BLOCK - WARP).step_by(WARP) {
            // SAFETY: the word has been written before the barrier.
            sum += unsafe { *others.add(place) };
        }
        // Lane 0 gets the sum of the 32 columns.
        let mut delta = WARP / 2;
        while delta > 0 {
            // SAFETY: the whole warp makes the call.
            sum += unsafe { Lanes::<32>::first(16).shuffle_down(sum, delta as u32) };
            delta /= 2;
        }
        if tid == 0 {
            // SAFETY: each block has a partial sum of its own.
            unsafe { *partials.add(block_idx_x() as usize) = sum };
        }
    }
}
