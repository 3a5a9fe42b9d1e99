//! Convicted by: races
//! Every block adds its part to the total, without an atomic operation.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::thread::device_fence;

use crate::prelude::*;

/// Numbers of a thread.
const EACH: u32 = 4;
/// Warps of a block.
const WARPS: u32 = 4;

/// The sum of a thread's numbers.
///
/// # Safety
/// `values` points to `n` numbers.
unsafe fn sum_of_thread(values: *const i32, n: usize) -> i32 {
    let mut sum = 0_i32;
    for each in 0..EACH {
        let index = ((block_idx_x() * EACH + each) * block_dim_x() + thread_idx_x()) as usize;
        if index < n {
            // SAFETY: the number is read in bounds.
            sum = sum.wrapping_add(unsafe { *values.add(index) });
        }
    }
    sum
}

/// The sum of a block, in every thread of its first warp.
///
/// # Safety
/// All threads of the block call it together, and nobody else uses `warp_sums`, which has a place for each warp.
unsafe fn sum_of_block(value: i32, warp_sums: *mut i32) -> i32 {
    let (lane, warp) = (thread_idx_x() % WARP_SIZE, thread_idx_x() / WARP_SIZE);
    // SAFETY: the caller's promise.
    unsafe {
        let of_warp = sum_of_warp(value);
        if lane == 0 {
            *warp_sums.add(warp as usize) = of_warp;
        }
        sync_threads();
        if warp > 0 {
            return 0;
        }
        sum_of_warp(if lane < WARPS { *warp_sums.add(lane as usize) } else { 0 })
    }
}

/// The sum of a warp, in all its lanes.
///
/// # Safety
/// All lanes of the warp call it together.
unsafe fn sum_of_warp(mut sum: i32) -> i32 {
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes are here, by the caller's promise.
        sum = sum.wrapping_add(unsafe { shuffle_xor(sum, distance) });
        distance /= 2;
    }
    sum
}

/// Writes the sum of `n` numbers to `total`, in one launch. Sums wrap around.
///
/// # Safety
/// `values` points to `n` numbers, `partials` to one for each block, `total` to one. `counter` is 0 before, and after. The grid has a block
/// of 128 threads for every 512 numbers.
#[kernel]
pub unsafe fn sum(values: *const i32, partials: *mut i32, total: *mut i32, counter: *mut u32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; WARPS]);
    let is_last = shared_array!(is_last: [bool; 1]);
    let (tid, blocks) = (thread_idx_x(), grid_dim_x());
    // SAFETY: all threads of the block are here.
    let of_block = unsafe { sum_of_block(sum_of_thread(values, n), warp_sums) };
    if tid == 0 {
        // SAFETY: one number for each block, and the counter is changed by atomics alone.
        unsafe {
            *partials.add(block_idx_x() as usize) = of_block;
            *total = (*total).wrapping_add(of_block);
            // The partial sum is seen before the ticket is taken …
            device_fence();
            let ticket = AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
            // … and after it those of all who have taken theirs.
            device_fence();
            *is_last = ticket == blocks - 1;
        }
    }
    sync_threads();
    // SAFETY: thread 0 has stored it.
    if !unsafe { *is_last } {
        return;
    }
    let mut sum = 0_i32;
    let mut block = tid;
    while block < blocks {
        // SAFETY: every block has stored its own.
        sum = sum.wrapping_add(unsafe { partials.add(block as usize).read_volatile() });
        block += block_dim_x();
    }
    // SAFETY: all threads of the block are here, and nobody reads the sums of its warps any more.
    let sum = unsafe { sum_of_block(sum, warp_sums) };
    if tid == 0 {
        // SAFETY: this block alone has come so far.
        unsafe {
            *total = sum;
            AtomicU32::from_ptr(counter).swap(0, Ordering::Relaxed);
        }
    }
}
