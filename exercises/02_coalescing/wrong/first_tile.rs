//! Convicted by: races
//! The block is forgotten: with one block nobody notices, with two the elements of the first get everything twice.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 64;
/// Elements of a thread.
const EACH: usize = 8;

/// Adds to each of `n` numbers `y` the number `x` in the same place, times `a`.
///
/// # Safety
/// `x` and `y` point to `n` numbers each. A block has 64 threads for 512 elements; there are enough blocks for all elements.
#[kernel]
pub unsafe fn axpy(a: i32, x: *const i32, y: *mut i32, n: usize) {
    for step in 0..EACH {
        let index = step * BLOCK + thread_idx_x() as usize;
        if index < n {
            // SAFETY: in bounds, but every block has this element.
            unsafe { *y.add(index) += a * *x.add(index) };
        }
    }
}
