//! # First come, first served
//!
//! ## What is wrong
//! A single run cannot show it: every thread that has a value to keep takes a place by an atomic addition and stores the
//! value there. There is no race. But the thread that comes first gets the first place, so the order of the output differs
//! from run to run.
//!
//! ## The finding
//! `result depends on the schedule`, with two seeds that differ. `warpfold check` finds it with `--schedules`.
//!
//! ## Repair
//! Places that depend on the thread's index alone: a prefix sum over the threads that keep a value.

use core::sync::atomic::{AtomicU32, Ordering};
use warpfold_kernels::prelude::*;

/// Keeps the odd ones of `n` values.
///
/// # Safety
/// `input` and `kept` point to `n` values each, `count` to one, which is 0; the grid has a thread for each.
#[kernel]
pub unsafe fn first_come(input: *const i32, kept: *mut i32, count: *mut u32, n: u32) {
    let index = block_idx_x() * block_dim_x() + thread_idx_x();
    if index < n {
        // SAFETY: the index is below n, and so is every place. That the places depend on the order is the mistake.
        unsafe {
            let value = *input.add(index as usize);
            if value % 2 != 0 {
                let place = AtomicU32::from_ptr(count).fetch_add(1, Ordering::Relaxed);
                *kept.add(place as usize) = value;
            }
        }
    }
}
