//! Exercise 13 · A histogram. `warpfold exercise histogram` judges this file.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

/// How many different values there are.
const BINS: u32 = 64;
/// Values of a thread.
const EACH: u32 = 8;

/// Counts in `counts` how often each number from 0 to 63 occurs among `n` values.
///
/// # Safety
/// `values` points to `n` numbers below 64, `counts` to 64 that others change by atomics alone. The grid has a block of 128 threads for
/// every 1024 values.
#[kernel]
pub unsafe fn histogram(values: *const u32, counts: *mut u32, n: usize) {
    let first = block_idx_x() as usize * (EACH * block_dim_x()) as usize + thread_idx_x() as usize;
    for each in 0..EACH {
        let index = first + (each * block_dim_x()) as usize;
        if index < n {
            // SAFETY: the value is read in bounds and below 64, and the counts are changed by atomics alone.
            unsafe {
                let value = *values.add(index);
                AtomicU32::from_ptr(counts.add(value as usize)).fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
