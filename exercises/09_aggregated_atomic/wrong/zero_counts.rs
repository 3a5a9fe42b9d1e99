//! Convicted by: result
//! Zero is not positive.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

/// Adds to `count` how many of `n` numbers are positive.
///
/// # Safety
/// `values` points to `n` numbers, `count` to one that others change by atomics alone. The launch has at least `n` threads, in blocks
/// of 128.
#[kernel]
pub unsafe fn count_positive(values: *const i32, count: *mut u32, n: usize) {
    let index = global_index();
    // SAFETY: the value is read in bounds.
    let is_positive = index < n && unsafe { *values.add(index) } >= 0;
    // SAFETY: all lanes of the warp vote, those without an element too.
    let positive = unsafe { ballot(u32::MAX, is_positive) };
    if thread_idx_x() % WARP_SIZE == 0 {
        // SAFETY: the count is changed by atomics alone.
        unsafe { AtomicU32::from_ptr(count).fetch_add(positive.count_ones(), Ordering::Relaxed) };
    }
}
