//! Convicted by: gate
//! One atomic for a block, bought with a barrier at which all its warps wait.

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
    let is_positive = index < n && unsafe { *values.add(index) } > 0;
    let positive = sync_threads_count(is_positive);
    if thread_idx_x() == 0 {
        // SAFETY: the count is changed by atomics alone.
        unsafe { AtomicU32::from_ptr(count).fetch_add(positive, Ordering::Relaxed) };
    }
}
