//! Convicted by: counter
//! One thread does the work of all.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    if global_index() == 0 {
        for index in 0..n {
            // SAFETY: in bounds; no other thread does anything.
            unsafe { *output.add(index) = 3 * *input.add(index) };
        }
    }
}
