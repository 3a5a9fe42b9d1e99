//! Exercise 18 · Running sums. `warpfold exercise scan` judges this file.

use crate::prelude::*;

/// Writes to `sums`, for each of `n` numbers, the sum of all from the first of its block to itself. Sums wrap around.
///
/// # Safety
/// `values` and `sums` point to `n` numbers each and do not overlap. The grid has a block of 256 threads for every 256 numbers.
#[kernel]
pub unsafe fn scan(values: *const i32, sums: *mut i32, n: usize) {
    let tile = shared_array!(tile: [i32; 256]);
    let (tid, index) = (thread_idx_x(), global_index());
    // SAFETY: the number is read in bounds, and each thread has a place.
    let mut sum = if index < n { unsafe { *values.add(index) } } else { 0 };
    let mut distance = 1;
    while distance < block_dim_x() {
        // SAFETY: each thread has a place.
        unsafe { *tile.add(tid as usize) = sum };
        sync_threads();
        if tid >= distance {
            // SAFETY: all threads have stored.
            sum = sum.wrapping_add(unsafe { *tile.add((tid - distance) as usize) });
        }
        sync_threads();
        distance *= 2;
    }
    if index < n {
        // SAFETY: the place is in bounds.
        unsafe { *sums.add(index) = sum };
    }
}
