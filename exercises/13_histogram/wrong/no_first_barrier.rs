//! Convicted by: races
//! Threads count before all counts are clear.

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
    let own = shared_array!(own: [u32; BINS]);
    let tid = thread_idx_x();
    if tid < BINS {
        // SAFETY: one thread for each count.
        unsafe { *own.add(tid as usize) = 0 };
    }
    let first = block_idx_x() as usize * (EACH * block_dim_x()) as usize + tid as usize;
    for each in 0..EACH {
        let index = first + (each * block_dim_x()) as usize;
        if index < n {
            // SAFETY: the value is read in bounds and below 64; all counts are 0, and changed by atomics alone.
            unsafe { add_to_shared(own.add(*values.add(index) as usize), 1) };
        }
    }
    sync_threads();
    if tid < BINS {
        // SAFETY: every thread of the block has counted, and the counts of the launch are changed by atomics alone.
        unsafe {
            let counted = *own.add(tid as usize);
            if counted > 0 {
                AtomicU32::from_ptr(counts.add(tid as usize)).fetch_add(counted, Ordering::Relaxed);
            }
        }
    }
}
