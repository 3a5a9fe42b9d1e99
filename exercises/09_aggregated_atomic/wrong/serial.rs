//! Convicted by: gate
//! A single atomic, by a single thread that looks at all numbers.

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
    if index == 0 {
        let mut positive = 0;
        for index in 0..n {
            // SAFETY: the value is read in bounds.
            if unsafe { *values.add(index) } > 0 {
                positive += 1;
            }
        }
        // SAFETY: the count is changed by atomics alone.
        unsafe { AtomicU32::from_ptr(count).fetch_add(positive, Ordering::Relaxed) };
    }
}
