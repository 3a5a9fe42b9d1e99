//! Convicted by: memory
//! The last tile is taken for a full one.

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
    // The block's elements begin here. A thread's own are a block apart.
    let start = block_idx_x() as usize * BLOCK * EACH;
    for step in 0..EACH {
        let index = start + step * BLOCK + thread_idx_x() as usize;
        // SAFETY: wrong unless n is a multiple of 512.
        unsafe { *y.add(index) += a * *x.add(index) };
    }
}
