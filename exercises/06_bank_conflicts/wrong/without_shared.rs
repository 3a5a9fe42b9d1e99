//! Convicted by: gate
//! No tile, no conflicts; but now the stores of a warp go to 32 rows of the output, each in another sector.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 128;
/// Warps of a block.
const WARPS: usize = BLOCK / WARP_SIZE as usize;
/// Columns of the input, and rows of a tile.
const SIDE: usize = 32;

/// Transposes a matrix of `n` rows and 32 columns. Both matrices lie in memory row after row.
///
/// # Safety
/// `input` and `output` point to `32 * n` numbers each. A block has 128 threads for 32 rows; there are enough blocks for all rows.
#[kernel]
pub unsafe fn transpose(input: *const i32, output: *mut i32, n: usize) {
    let warp = thread_idx_x() as usize / SIDE;
    let lane = thread_idx_x() as usize % SIDE;

    // The block's rows. The last block may have fewer than 32.
    let first = block_idx_x() as usize * SIDE;
    let rows = (n - first).min(SIDE);

    for row in (first + warp..first + rows).step_by(WARPS) {
        // SAFETY: both matrices have this element; no other thread has it.
        unsafe { *output.add(lane * n + row) = *input.add(row * SIDE + lane) };
    }
}
