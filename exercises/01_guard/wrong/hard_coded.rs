//! Convicted by: result
//! The values of the inputs that one has seen, instead of the input.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: in bounds by the test above.
        unsafe { *output.add(index) = 3 * (index as i32 + 1) };
    }
}
