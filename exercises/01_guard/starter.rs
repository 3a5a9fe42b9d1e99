//! Exercise 1 · A guard for the last block. `warpfold exercise guard` judges this file.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    // SAFETY: is this so in every thread?
    unsafe { *output.add(index) = 3 * *input.add(index) };
}
