//! Convicted by: result
//! The last sixteen lanes are left out.

use crate::prelude::*;

/// Writes the sum of each row of a matrix to `sums`. The rows lie one after the other.
///
/// # Safety
/// `matrix` points to `rows` times `columns` values, `sums` to one for each row. The launch has a warp for each row, and perhaps more, in
/// blocks of 128 threads.
#[kernel]
pub unsafe fn row_sums(matrix: *const f32, sums: *mut f32, rows: usize, columns: usize) {
    let lane = thread_idx_x() % WARP_SIZE;
    let row = global_index() / WARP_SIZE as usize;
    // All lanes of a warp have the same row, so they leave together.
    if row >= rows {
        return;
    }
    let mut sum = 0.0;
    let mut column = lane as usize;
    while column < columns {
        // SAFETY: the row and the column exist.
        sum += unsafe { *matrix.add(row * columns + column) };
        column += WARP_SIZE as usize;
    }
    let mut distance = WARP_SIZE / 4;
    while distance > 0 {
        // SAFETY: all lanes of the warp are here, those without a column too.
        sum += unsafe { shuffle_down(sum, distance) };
        distance /= 2;
    }
    if lane == 0 {
        // SAFETY: one sum for each row.
        unsafe { *sums.add(row) = sum };
    }
}
