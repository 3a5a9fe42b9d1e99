//! Convicted by: counter
//! No vectors, no trouble: four loads for what one can do.

use crate::prelude::*;

/// Replaces each number by its square.
///
/// # Safety
/// `values` points to `n` numbers, anywhere. The launch has at least `n / 4` threads, and at least 64.
#[kernel]
pub unsafe fn square(values: *mut i32, n: usize) {
    let start = block_idx_x() as usize * 4 * block_dim_x() as usize + thread_idx_x() as usize;
    for step in 0..4 {
        let index = start + step * block_dim_x() as usize;
        if index < n {
            // SAFETY: in bounds by the test above; no other thread has this element.
            unsafe { *values.add(index) *= *values.add(index) };
        }
    }
}
