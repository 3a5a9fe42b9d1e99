//! Convicted by: races
//! The counts are read before all warps have stored theirs.

use crate::prelude::*;

/// Warps of a block.
const WARPS: u32 = 4;

/// Writes the positive ones of each 128 of `n` numbers to the beginning of the same 128 places of `kept`, in their order, and how many
/// they are to `counts`.
///
/// # Safety
/// `values` points to `n` numbers, `kept` to 128 places for each block, `counts` to one number for each. The grid has a block of 128
/// threads for every 128 numbers.
#[kernel]
pub unsafe fn compact(values: *const i32, kept: *mut i32, counts: *mut u32, n: usize) {
    let warp_counts = shared_array!(warp_counts: [u32; WARPS]);
    let (tid, index) = (thread_idx_x(), global_index());
    let (lane, warp) = (tid % WARP_SIZE, tid / WARP_SIZE);
    // SAFETY: the value is read in bounds.
    let value = if index < n { unsafe { *values.add(index) } } else { 0 };
    // SAFETY: all lanes of the warp vote, those without a value too.
    let positive = unsafe { ballot(u32::MAX, value > 0) };
    if lane == 0 {
        // SAFETY: one place for each warp.
        unsafe { *warp_counts.add(warp as usize) = positive.count_ones() };
    }
    let (mut before, mut all) = (0, 0);
    for other in 0..WARPS {
        // SAFETY: every warp has stored its own.
        let count = unsafe { *warp_counts.add(other as usize) };
        if other < warp {
            before += count;
        }
        all += count;
    }
    let below = positive & ((1 << lane) - 1);
    let first = (block_idx_x() * block_dim_x()) as usize;
    if value > 0 {
        // SAFETY: no two threads have the same place, and a block has no more than 128.
        unsafe { *kept.add(first + (before + below.count_ones()) as usize) = value };
    }
    if tid == 0 {
        // SAFETY: one number for each block.
        unsafe { *counts.add(block_idx_x() as usize) = all };
    }
}
