//! Convicted by: counter
//! One thread of each block does the work of all.

use crate::prelude::*;

/// Pairs of a block.
const TILE: usize = 2048;

/// Writes to `partials` for each block the dot product of its 2048 pairs; the last block may have fewer.
///
/// # Safety
/// `left` and `right` point to `n` numbers each, at addresses that are alike mod 16; `partials` to one for each block. A block has 128
/// threads; there are enough blocks for all pairs.
#[kernel]
pub unsafe fn dot(left: *const f32, right: *const f32, partials: *mut f32, n: usize) {
    let tid = thread_idx_x() as usize;
    let start = block_idx_x() as usize * TILE;
    let count = (n - start).min(TILE);
    if tid == 0 {
        let mut sum = 0.0;
        for index in start..start + count {
            // SAFETY: in bounds.
            sum += unsafe { *left.add(index) * *right.add(index) };
        }
        // SAFETY: each block has a partial sum of its own.
        unsafe { *partials.add(block_idx_x() as usize) = sum };
    }
}
