//! Convicted by: result
//! The warps know nothing of each other, and the sum is that of the first.

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

    // SAFETY: in bounds by the test.
    let value = if index < n {
        unsafe { *input.add(index) }
    } else {
        0
    };

    if tid < WARP {
        let mut sum = value;
        // Lane 0 gets the sum of the 32 columns.
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
