//! Exercise 16 · Softmax while you read. `warpfold exercise softmax` judges this file.

use crate::prelude::*;
use warpfold_device::math::Float;

/// Writes the softmax of each row of a matrix to `out`: e to the power of each value, divided by their sum over the row.
///
/// # Safety
/// `matrix` and `out` point to `rows` times `columns` values each and do not overlap. The launch has a warp for each row, and perhaps
/// more, in blocks of 64 threads.
#[kernel]
pub unsafe fn softmax(matrix: *const f32, out: *mut f32, rows: usize, columns: usize) {
    let lane = (thread_idx_x() % WARP_SIZE) as usize;
    let row = global_index() / WARP_SIZE as usize;
    // All lanes of a warp have the same row, so they leave together.
    if row >= rows {
        return;
    }
    let mut most = f32::NEG_INFINITY;
    let mut column = lane;
    while column < columns {
        // SAFETY: the row and the column exist.
        most = most.maximum(unsafe { *matrix.add(row * columns + column) });
        column += WARP_SIZE as usize;
    }
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes of the warp are here.
        most = most.maximum(unsafe { shuffle_xor(most, distance) });
        distance /= 2;
    }
    let mut sum = 0.0;
    let mut column = lane;
    while column < columns {
        // SAFETY: the row and the column exist.
        sum += (unsafe { *matrix.add(row * columns + column) } - most).exp_of_negative();
        column += WARP_SIZE as usize;
    }
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes of the warp are here.
        sum += unsafe { shuffle_xor(sum, distance) };
        distance /= 2;
    }
    let mut column = lane;
    while column < columns {
        // SAFETY: the row and the column exist, and no other thread has this one.
        unsafe {
            let value = *matrix.add(row * columns + column);
            *out.add(row * columns + column) = (value - most).exp_of_negative() / sum;
        }
        column += WARP_SIZE as usize;
    }
}
