//! # Counters cleared too late
//!
//! ## What is wrong
//! The first threads clear a block's counters in shared memory, and all threads count in them by atomic additions. Atomics
//! are ordered among themselves, but not with the plain stores that clear: a fast warp counts, and a slow one erases the
//! count.
//!
//! ## The finding
//! `write after write` between the plain store and the atomic addition of another warp.
//!
//! ## Repair
//! `sync_threads()` after the clearing.

use core::sync::atomic::{AtomicU32, Ordering};
use warpfold_kernels::prelude::*;

/// Counts how often each of 0 to 7 ends the binary form of a value.
///
/// # Safety
/// `input` points to 64 values, `counts` to 8; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn cleared_too_late(input: *const u32, counts: *mut u32) {
    let tid = thread_idx_x() as usize;
    let own = shared_array!(own: [u32; 8]);
    // SAFETY: all indices are in bounds. That clearing and counting are not ordered is the mistake.
    unsafe {
        if tid < 8 {
            *own.add(tid) = 0;
        }
        let bin = *input.add(tid) % 8;
        AtomicU32::from_ptr(own.add(bin as usize)).fetch_add(1, Ordering::Relaxed);
        sync_threads();
        if tid < 8 {
            *counts.add(tid) = *own.add(tid);
        }
    }
}
