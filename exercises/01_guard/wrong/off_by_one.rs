//! Convicted by: memory
//! The guard lets one thread too many pass.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    if index <= n {
        // SAFETY: wrong for the element n.
        unsafe { *output.add(index) = 3 * *input.add(index) };
    }
}
