//! Convicted by: memory
//! The zero on the right lies beyond the array.

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
    let tile = shared_array!(tile: [i32; BLOCK + 1]);
    // SAFETY: wrong: the last element of the tile is BLOCK.
    unsafe {
        *tile.add(tid + 1) = if index < n { *input.add(index) } else { 0 };
        if tid < 2 {
            *tile.add(tid * (BLOCK + 1)) = 0;
        }
    }
    sync_threads();
    if index < n {
        // SAFETY: as above.
        unsafe { *output.add(index) = *tile.add(tid) + *tile.add(tid + 1) + *tile.add(tid + 2) };
    }
}
