//! # Cooperation 6 · One at a time
//!
//! ## Before
//! An atomic operation updates one word. Where two words have to change together, no single one will do.
//!
//! ## Idea
//! A *lock*: a word that is 0 when it is free. Who makes it 1 out of a 0, by an atomic compare-and-swap, may go in; everybody
//! else tries again. Inside, a fence, then the work, as if one were alone, then a fence, and then the lock becomes 0 again. The
//! fences are what makes a lock of an atomic word: without the first the work may begin before the lock is ours, without
//! the second the lock may be seen free before the work is done.
//!
//! On a GPU the losers can be lanes of the winner's own warp. Before Volta a warp went on behind a loop when all its lanes had
//! left it: the winner would wait for the losers, and they for the lock, for ever. Since then every lane has a program
//! counter of its own, and lanes that went different ways all advance, in some order. This kernel relies on it.
//!
//! A lock makes a crowd stand in line, so have little to do inside and come seldom: each thread first adds up its share of the
//! elements alone, and enters once.
//!
//! ## Picture
//! ```text
//! lane 0   swap 0→1: mine    fence  total, entries  fence  unlock
//! lane 1   swap: taken       swap: taken       …           swap 0→1: mine   fence …
//! ```
//!
//! ## Cost
//! Each thread enters once, one after the other, over the whole grid: two loads and two stores, two fences, and two
//! atomics or, for those who had to wait, more.
//!
//! ## Observe
//! In the PTX: `atom.cas` or `atom.relaxed.cas`, two fences, `atom.exch`. `warpfold run critical_section`: the threads that
//! entered have all been counted, and their sum is the CPU's. `warpfold check critical_section --schedules 200` finds nothing.
//!
//! ## Break it
//! Remove the second fence: `warpfold check` reports a race on the total, between one thread's store and the load of the
//! next. The first: likewise. Remove the lock: threads overwrite each other's sums, and the result is wrong.
//!
//! ## Source
//! Jason Sanders, Edward Kandrot, *CUDA by Example* (2010), appendix A.1, whose lock has no fences; Jade Alglave and others, *GPU
//! Concurrency: Weak Behaviours and Programming Assumptions* (2015), who show it fail on real GPUs.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::thread::{device_fence, grid_dim_x};

use crate::prelude::*;

/// Adds all of `input` to `total`, and to `entries` how many threads brought a share.
///
/// # Safety
/// - `input` points to `n` values that nothing writes; `lock`, `total` and `entries` to one value each that nothing else
///   touches, and the lock is 0.
/// - The grid has at most ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn critical_section(
    input: *const i32,
    lock: *mut u32,
    total: *mut i32,
    entries: *mut u32,
    n: usize,
) {
    let threads = grid_dim_x() as usize * block_dim_x() as usize;
    let mut index = global_index();
    if index >= n {
        return;
    }
    let mut share = 0_i32;
    while index < n {
        // SAFETY: the index is below n.
        share = share.wrapping_add(unsafe { *input.add(index) });
        index += threads;
    }

    // SAFETY: the two words are touched only by the one thread that has taken the lock and not yet given it back, with a fence
    // on either side.
    unsafe {
        let lock = AtomicU32::from_ptr(lock);
        while lock.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {}
        device_fence();
        *total = (*total).wrapping_add(share);
        *entries += 1;
        device_fence();
        lock.swap(0, Relaxed);
    }
}
