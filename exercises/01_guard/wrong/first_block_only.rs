//! Convicted by: races
//! The block is forgotten: all blocks do the elements of the first.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    let index = thread_idx_x() as usize;
    if index < n {
        // SAFETY: in bounds, but threads of other blocks write there too.
        unsafe { *output.add(index) = 3 * *input.add(index) };
    }
}
