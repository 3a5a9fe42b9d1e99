//! Exercise 14 · A warp for each row. `warpfold exercise warp_per_row` judges this file.

use crate::prelude::*;

/// Writes the sum of each row of a matrix to `sums`. The rows lie one after the other.
///
/// # Safety
/// `matrix` points to `rows` times `columns` values, `sums` to one for each row. The launch has a warp for each row, and perhaps more, in
/// blocks of 128 threads.
#[kernel]
pub unsafe fn row_sums(matrix: *const f32, sums: *mut f32, rows: usize, columns: usize) {
    let row = global_index();
    if row < rows {
        let mut sum = 0.0;
        for column in 0..columns {
            // SAFETY: the row and the column exist.
            sum += unsafe { *matrix.add(row * columns + column) };
        }
        // SAFETY: one sum for each row.
        unsafe { *sums.add(row) = sum };
    }
}
