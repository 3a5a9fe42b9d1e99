//! Exercise 2 · Neighbours load neighbours. `warpfold exercise coalescing` judges this file.

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
    let first = global_index() * EACH;
    for index in first..first + EACH {
        if index < n {
            // SAFETY: in bounds by the test above; no other thread has this element.
            unsafe { *y.add(index) += a * *x.add(index) };
        }
    }
}
