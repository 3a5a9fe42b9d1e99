//! Convicted by: initialisation
//! Every product is added to the partial sum in global memory, which nobody has set to 0.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 128;

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
    for index in (tid..count).step_by(BLOCK) {
        // SAFETY: in bounds, but the partial sum belongs to all threads of the block.
        unsafe {
            *partials.add(block_idx_x() as usize) +=
                *left.add(start + index) * *right.add(start + index);
        }
    }
}
