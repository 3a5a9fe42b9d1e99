//! Convicted by: barriers
//! The mask names the lanes that have an element, and all lanes vote.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

/// The lanes of this warp that have an element.
#[inline(always)]
fn lanes_below(n: usize) -> u32 {
    let lanes = n.saturating_sub(global_index() / 32 * 32);
    if lanes < 32 {
        (1 << lanes) - 1
    } else {
        u32::MAX
    }
}

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
    // SAFETY: all lanes of the warp vote, those without an element too.
    let positive = unsafe { ballot(lanes_below(n), is_positive) };
    if thread_idx_x() % WARP_SIZE == 0 {
        // SAFETY: the count is changed by atomics alone.
        unsafe { AtomicU32::from_ptr(count).fetch_add(positive.count_ones(), Ordering::Relaxed) };
    }
}
