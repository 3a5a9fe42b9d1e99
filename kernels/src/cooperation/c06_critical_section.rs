//! # Cooperation 6 · One at a time
//!
//! ## Before
//! An atomic operation updates one word. If two words have to change together, no single operation can do it.
//!
//! ## Idea
//! Use a *lock*: a word that is 0 when it is free. A thread that changes it from 0 to 1, by an atomic compare-and-swap, may
//! enter; all others try again. Inside comes a fence, then the work, undisturbed by others, then a fence, and then the lock
//! becomes 0 again. The fences are what makes an atomic word a lock. Without the first, the work may begin before the lock
//! is taken; without the second, others may see the lock free before the work is done.
//!
//! On a GPU the losers can be lanes of the winner's own warp. Before Volta, a warp left a loop only when all its lanes had
//! left it: the winner would wait for the losers, and they for the lock, forever. Since then every lane has a program
//! counter of its own, and lanes on different paths all advance, in some order. This kernel relies on that.
//!
//! Threads queue at a lock, so do little inside and enter seldom. The threads of a block first add up their elements in 32
//! words of shared memory, one for each lane, and only the 32 lanes of the first warp enter.
//!
//! ## Picture
//! ```text
//! lane 0   0 → 1: mine   fence   total, entries   fence   1 → 0
//! lane 1   is 1: wait    is 1: wait …                     0 → 1: mine   fence …
//! ```
//!
//! ## Cost
//! 32 threads of each block enter, one after the other over the whole grid: two loads and two stores, two fences, and two
//! atomics, or more for threads that had to wait. The launch has at most 8 blocks, since more would only wait.
//!
//! ## Observe
//! In the PTX: `atom.relaxed.sys.global.cas.b32`, `membar.gl` twice, and `atom.global.exch.b32`.
//!
//! **Predict.** 1000 elements would fill 16 blocks of 64 threads, but the launch has at most 8 blocks. How many times
//! does a thread enter in all?
//! ```console
//! $ warpfold run critical_section -n 1000 --block 64
//! ...
//! times that a thread entered           256
//! their sum                     -1804912496
//! sum on the CPU                -1804912496
//! ...
//! $ warpfold check critical_section --block 64 --schedules 20
//! ...
//! memcheck, initcheck, racecheck, synccheck; 20 schedules, seeds 0 to 19
//! ...
//! blocks     8 of   64 threads: clean
//! ```
//! All threads that entered have been counted, in whatever order the schedule lets them enter.
//!
//! ## Break it
//! Remove the second fence. One thread's store of the total and the load of the next then race:
//! ```console
//! $ warpfold try critical_section --check -n 1000 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000001300 (4 bytes) in kernel ...
//! ...
//! ```
//! Remove the first: likewise. Remove the lock: threads overwrite each other's sums, and the result is wrong.
//!
//! ## Source
//! Jason Sanders, Edward Kandrot, *CUDA by Example* (2010), appendix A.1, whose lock has no fences; Jade Alglave and others, *GPU
//! Concurrency: Weak Behaviours and Programming Assumptions* (2015), who show it fail on real GPUs.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::thread::{device_fence, grid_dim_x};

use crate::prelude::*;

/// Adds all values of `input` to `total`, and the number of threads that entered to `entries`: 32 for each block.
///
/// # Safety
/// - `input` points to `n` values that nothing writes; `lock`, `total` and `entries` to one value each that nothing else
///   touches, and the lock is 0.
/// - The grid has one dimension; B is a multiple of 32.
#[kernel]
pub unsafe fn critical_section(
    input: *const i32,
    lock: *mut u32,
    total: *mut i32,
    entries: *mut u32,
    n: usize,
) {
    let tid = thread_idx_x();
    let shares = shared_array!(shares: [i32; WARP_SIZE]);
    let threads = grid_dim_x() as usize * block_dim_x() as usize;

    let mut sum = 0_i32;
    let mut index = global_index();
    while index < n {
        // SAFETY: the index is below n.
        sum = sum.wrapping_add(unsafe { *input.add(index) });
        index += threads;
    }

    // SAFETY: between the barriers the shares are touched only by atomics. `total` and `entries` are touched only by the
    // one thread that holds the lock, with a fence on each side.
    unsafe {
        if tid < WARP_SIZE {
            *shares.add(tid as usize) = 0;
        }
        sync_threads();
        let share = shares.add((tid % WARP_SIZE) as usize);
        add_to_shared(share.cast(), sum.cast_unsigned());
        sync_threads();

        if tid < WARP_SIZE {
            let share = *shares.add(tid as usize);
            let lock = AtomicU32::from_ptr(lock);
            while lock.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {}
            device_fence();
            *total = (*total).wrapping_add(share);
            *entries += 1;
            device_fence();
            lock.swap(0, Relaxed);
        }
    }
}
