//! Convicted by: result
//! Every block does one tile: right as long as there are as many blocks as tiles.

use crate::prelude::*;

/// Threads of a block, and elements of a tile.
const BLOCK: usize = 64;

/// Sorts each tile of 64 elements by itself: an element's place is the number of those that come before it. The last tile may be shorter.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. A block has 64 threads; there may be fewer blocks than tiles.
#[kernel]
pub unsafe fn sort_tiles(input: *const i32, output: *mut i32, n: usize) {
    let tid = thread_idx_x() as usize;
    let tile = shared_array!(tile: [i32; BLOCK]);
    // The same in all threads of the block, with or without an element.
    let start = block_idx_x() as usize * BLOCK;
    if start < n {
        let count = (n - start).min(BLOCK);
        if tid < count {
            // SAFETY: the tile has `count` elements, and this one is the thread's own.
            unsafe { *tile.add(tid) = *input.add(start + tid) };
        }
        sync_threads();
        if tid < count {
            // SAFETY: all `count` elements are written; no two have the same place, which is below `count`.
            unsafe { *output.add(start + place_of(tile, count, tid)) = *tile.add(tid) };
        }
        // Nobody writes the next tile while others still read this one.
        sync_threads();
    }
}

/// How many of the `count` elements come before the element `own`; of equal ones the first comes first.
///
/// # Safety
/// `tile` points to `count` numbers that nobody writes meanwhile, and `own` is below `count`.
#[inline(always)]
unsafe fn place_of(tile: *const i32, count: usize, own: usize) -> usize {
    let mut place = 0;
    for other in 0..count {
        // SAFETY: both are below `count`.
        let (other_value, own_value) = unsafe { (*tile.add(other), *tile.add(own)) };
        if other_value < own_value || (other_value == own_value && other < own) {
            place += 1;
        }
    }
    place
}
