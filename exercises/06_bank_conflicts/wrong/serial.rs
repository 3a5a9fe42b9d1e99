//! Convicted by: counter
//! One thread of each block does the work of all.

use crate::prelude::*;

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

    if (warp, lane) == (0, 0) {
        for row in 0..rows {
            for column in 0..SIDE {
                // SAFETY: the input has the row, and the tile a word for each element.
                unsafe {
                    *tile.add(row * PITCH + column) = *input.add((first + row) * SIDE + column)
                };
            }
        }
        for column in 0..SIDE {
            for row in 0..rows {
                // SAFETY: the word has been written above; no other thread does anything.
                unsafe { *output.add(column * n + first + row) = *tile.add(row * PITCH + column) };
            }
        }
    }
}
