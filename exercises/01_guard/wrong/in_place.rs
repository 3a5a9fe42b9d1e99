//! Convicted by: result
//! The input is overwritten too.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: in bounds; but nobody has allowed writing to the input.
        unsafe {
            *output.add(index) = 3 * *input.add(index);
            *input.cast_mut().add(index) = 0;
        }
    }
}
