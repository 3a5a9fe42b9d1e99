//! Convicted by: barriers
//! Threads without elements leave before the barrier.

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
    // The block's elements, with a 0 on either side.
    let tile = shared_array!(tile: [i32; BLOCK + 2]);
    // SAFETY: as in the reference.
    unsafe {
        *tile.add(tid + 1) = 0;
        if tid < 2 {
            *tile.add(tid * (BLOCK + 1)) = 0;
        }
        sync_threads();
        if index >= n {
            return;
        }
        *tile.add(tid + 1) = *input.add(index);
        sync_threads();
        *output.add(index) = *tile.add(tid) + *tile.add(tid + 1) + *tile.add(tid + 2);
    }
}
