//! Convicted by: result
//! A lane that has no lane that far to the left adds its own value.

use crate::prelude::*;
use warpfold_device::shuffle::shuffle_up;

/// Warps of a block.
const WARPS: u32 = 8;

/// Writes to `sums`, for each of `n` numbers, the sum of all from the first of its block to itself. Sums wrap around.
///
/// # Safety
/// `values` and `sums` point to `n` numbers each and do not overlap. The grid has a block of 256 threads for every 256 numbers.
#[kernel]
pub unsafe fn scan(values: *const i32, sums: *mut i32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; WARPS]);
    let (tid, index) = (thread_idx_x(), global_index());
    let (lane, warp) = (tid % WARP_SIZE, tid / WARP_SIZE);
    // SAFETY: the number is read in bounds.
    let mut sum = if index < n { unsafe { *values.add(index) } } else { 0 };
    let mut distance = 1;
    while distance < WARP_SIZE {
        // SAFETY: all lanes of the warp are here, those without a number too.
        let left = unsafe { shuffle_up(sum, distance) };
        sum = sum.wrapping_add(left);
        distance *= 2;
    }
    if lane == WARP_SIZE - 1 {
        // SAFETY: one place for each warp.
        unsafe { *warp_sums.add(warp as usize) = sum };
    }
    sync_threads();
    for other in 0..warp {
        // SAFETY: every warp has stored its own.
        sum = sum.wrapping_add(unsafe { *warp_sums.add(other as usize) });
    }
    if index < n {
        // SAFETY: the place is in bounds.
        unsafe { *sums.add(index) = sum };
    }
}
