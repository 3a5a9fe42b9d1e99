//! Exercise 17 · Keep some, in order. `warpfold exercise compaction` judges this file.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

/// Writes the positive ones of each 128 of `n` numbers to the beginning of the same 128 places of `kept`, in their order, and how many
/// they are to `counts`.
///
/// # Safety
/// `values` points to `n` numbers, `kept` to 128 places for each block, `counts` to one number for each. The grid has a block of 128
/// threads for every 128 numbers.
#[kernel]
pub unsafe fn compact(values: *const i32, kept: *mut i32, counts: *mut u32, n: usize) {
    let next = shared_array!(next: [u32; 1]);
    let (tid, index) = (thread_idx_x(), global_index());
    // SAFETY: the value is read in bounds.
    let value = if index < n { unsafe { *values.add(index) } } else { 0 };
    if tid == 0 {
        // SAFETY: one thread stores.
        unsafe { *next = 0 };
    }
    sync_threads();
    let first = (block_idx_x() * block_dim_x()) as usize;
    if value > 0 {
        // SAFETY: the counter is 0 and changed by atomics alone, and no two threads get the same place.
        unsafe {
            let place = AtomicU32::from_ptr(next).fetch_add(1, Ordering::Relaxed);
            *kept.add(first + place as usize) = value;
        }
    }
    sync_threads();
    if tid == 0 {
        // SAFETY: all threads have taken their places.
        unsafe { *counts.add(block_idx_x() as usize) = *next };
    }
}
