//! Convicted by: races
//! Threads beyond the end do the last element again, beside the thread that it belongs to.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    if n == 0 {
        return;
    }
    let index = global_index().min(n - 1);
    // SAFETY: in bounds, but the last element belongs to several threads.
    unsafe { *output.add(index) = 3 * *input.add(index) };
}
