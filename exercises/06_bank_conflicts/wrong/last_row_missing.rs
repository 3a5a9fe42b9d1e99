//! Convicted by: result
//! The last row of every tile is forgotten.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 128;
/// Warps of a block.
const WARPS: usize = BLOCK / WARP_SIZE as usize;
/// Columns of the input, and rows of a tile.
const SIDE: usize = 32;

/// Words from one row of the tile to the next.
const PITCH: usize = SIDE + 1;

/// Transposes a matrix of `n` rows and 32 columns. Both matrices lie in memory row after row.
///
/// # Safety
/// `input` and `output` point to `32 * n` numbers each. A block has 128 threads for 32 rows; there are enough blocks for all rows.
#[kernel]
pub unsafe fn transpose(input: *const i32, output: *mut i32, n: usize) {
    let warp = thread_idx_x() as usize / SIDE;
    let lane = thread_idx_x() as usize % SIDE;
    let tile = shared_array!(tile: [i32; SIDE * PITCH]);
    // The block's rows. The last block may have fewer than 32.
    let first = block_idx_x() as usize * SIDE;
    let rows = (n - first).min(SIDE);

    // Each warp loads every fourth row, a lane for each column.
    for row in (warp..rows).step_by(WARPS) {
        // SAFETY: the input has the row; the word of the tile is this thread's own.
        unsafe { *tile.add(row * PITCH + lane) = *input.add((first + row) * SIDE + lane) };
    }
    sync_threads();
    // Each warp stores every fourth column, a lane for each row.
    for column in (warp..SIDE).step_by(WARPS) {
        if lane + 1 < rows {
            // SAFETY: the row and so the element of the output are there; no other thread has them.
            unsafe { *output.add(column * n + first + lane) = *tile.add(lane * PITCH + column) };
        }
    }
}
