//! Convicted by: gate
//! Every element is loaded three times, to do without the barrier.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 64;

/// Adds to each element its neighbours on the left and on the right, as far as they belong to the same block.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads, in blocks of 64.
#[kernel]
pub unsafe fn neighbour_sums(input: *const i32, output: *mut i32, n: usize) {
    let tid = thread_idx_x() as usize;
    let index = global_index();
    if index < n {
        // SAFETY: each is loaded only where it is in bounds and in the block. The barrier is there for its count.
        unsafe {
            let mut sum = *input.add(index);
            if tid > 0 {
                sum += *input.add(index - 1);
            }
            if tid + 1 < BLOCK && index + 1 < n {
                sum += *input.add(index + 1);
            }
            *output.add(index) = sum;
        }
    }
    sync_threads();
}
