//! Exercise 20 · The boss: running sums of everything, in one pass. `warpfold exercise look_back` judges this file.

#![allow(dead_code, unused_imports, unused_variables)]

use core::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;
use warpfold_device::shuffle::shuffle_up;

/// Warps of a block.
const WARPS: u32 = 4;

/// What a tile has told the others: nothing, the sum of its own numbers, or that of all numbers up to its end. Kind and sum are one word,
/// so that they are seen together.
#[derive(Clone, Copy)]
struct Published(u64);

impl Published {
    /// What the words hold before the launch.
    const NOTHING: u32 = 0;
    const SUM: u32 = 1;
    const PREFIX: u32 = 2;

    fn new(kind: u32, sum: i32) -> Self {
        Self(u64::from(kind) << 32 | u64::from(sum as u32))
    }

    fn kind(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn sum(self) -> i32 {
        self.0 as i32
    }
}

/// Running sums of a block: for each thread its own, and that of the whole block.
///
/// # Safety
/// All threads of the block call it together, and nobody else uses `warp_sums`, which has a place for each warp.
unsafe fn scan_of_block(value: i32, warp_sums: *mut i32) -> (i32, i32) {
    let (lane, warp) = (thread_idx_x() % WARP_SIZE, thread_idx_x() / WARP_SIZE);
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        // SAFETY: all lanes are here, by the caller's promise.
        let left = unsafe { shuffle_up(sum, distance) };
        if lane >= distance {
            sum = sum.wrapping_add(left);
        }
        distance *= 2;
    }
    if lane == WARP_SIZE - 1 {
        // SAFETY: one place for each warp.
        unsafe { *warp_sums.add(warp as usize) = sum };
    }
    sync_threads();
    let mut all = 0_i32;
    for other in 0..WARPS {
        // SAFETY: every warp has stored its own.
        let of_other = unsafe { *warp_sums.add(other as usize) };
        if other < warp {
            sum = sum.wrapping_add(of_other);
        }
        all = all.wrapping_add(of_other);
    }
    (sum, all)
}

/// Writes to `sums`, for each of `n` numbers, the sum of all from the first to itself. Sums wrap around.
///
/// # Safety
/// `values` and `sums` point to `n` numbers each and do not overlap. `published` points to a word for each block, which is 0, as is
/// `ticket`. The grid has a block of 128 threads for every 128 numbers.
#[kernel]
pub unsafe fn scan_all(values: *const i32, sums: *mut i32, published: *mut u64, ticket: *mut u32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; WARPS]);
    let tile = block_idx_x();
    let index = global_index();
    // SAFETY: the number is read in bounds.
    let value = if index < n { unsafe { *values.add(index) } } else { 0 };
    // SAFETY: all threads of the block are here.
    let (sum, of_tile) = unsafe { scan_of_block(value, warp_sums) };
    // The sum of all numbers before this tile: your part.
    let before = 0_i32;
    if index < n {
        // SAFETY: the place is in bounds.
        unsafe { *sums.add(index) = before.wrapping_add(sum) };
    }
}
