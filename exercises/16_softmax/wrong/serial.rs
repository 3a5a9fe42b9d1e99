//! Convicted by: counter
//! The first lane reads the whole row.

use crate::prelude::*;
use warpfold_device::math::Float;

/// What is known of some values.
#[derive(Clone, Copy)]
struct Part {
    most: f32,
    /// The sum of e^(value − most).
    sum: f32,
}

impl Part {
    /// No values.
    const IDENTITY: Self = Self {
        most: f32::NEG_INFINITY,
        sum: 0.0,
    };

    /// With those of another part.
    fn and(self, other: Self) -> Self {
        let (larger, smaller) = if other.most > self.most { (other, self) } else { (self, other) };
        if smaller.sum == 0.0 {
            return larger;
        }
        Self {
            most: larger.most,
            sum: larger.sum + smaller.sum * (smaller.most - larger.most).exp_of_negative(),
        }
    }
}

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
    let mut part = Part::IDENTITY;
    let mut column = if lane == 0 { 0 } else { columns };
    while column < columns {
        // SAFETY: the row and the column exist.
        let value = unsafe { *matrix.add(row * columns + column) };
        // e^−∞ is 0, whatever is taken off: −∞ counts as no value.
        let sum = if value == f32::NEG_INFINITY { 0.0 } else { 1.0 };
        part = part.and(Part { most: value, sum });
        column += 1;
    }
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes of the warp are here, those without a column too.
        part = part.and(unsafe {
            Part {
                most: shuffle_xor(part.most, distance),
                sum: shuffle_xor(part.sum, distance),
            }
        });
        distance /= 2;
    }
    let mut column = lane;
    while column < columns {
        // SAFETY: the row and the column exist, and no other thread has this one.
        unsafe {
            let value = *matrix.add(row * columns + column);
            *out.add(row * columns + column) = (value - part.most).exp_of_negative() / part.sum;
        }
        column += WARP_SIZE as usize;
    }
}
