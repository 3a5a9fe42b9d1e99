//! Convicted by: result
//! The walk goes on past a prefix.

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

/// The sum of all numbers before a tile.
///
/// # Safety
/// `published` points to a word for each tile, which others change by relaxed stores alone. All tiles before this one have begun.
unsafe fn sum_before(published: *const u64, tile: u32) -> i32 {
    let mut sum = 0_i32;
    let mut other = tile;
    while other > 0 {
        // SAFETY: there is such a tile.
        let seen = Published(unsafe { load_relaxed_u64(published.add(other as usize - 1)) });
        if seen.kind() == Published::NOTHING {
            continue;
        }
        sum = sum.wrapping_add(seen.sum());
        other -= 1;
    }
    sum
}

/// Writes to `sums`, for each of `n` numbers, the sum of all from the first to itself. Sums wrap around.
///
/// # Safety
/// `values` and `sums` point to `n` numbers each and do not overlap. `published` points to a word for each block, which is 0, as is
/// `ticket`. The grid has a block of 128 threads for every 128 numbers.
#[kernel]
pub unsafe fn scan_all(values: *const i32, sums: *mut i32, published: *mut u64, ticket: *mut u32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; WARPS]);
    let tile_of_block = shared_array!(tile_of_block: [u32; 1]);
    let sum_of_others = shared_array!(sum_of_others: [i32; 1]);
    let tid = thread_idx_x();
    if tid == 0 {
        // SAFETY: one thread stores, and the ticket is changed by atomics alone.
        unsafe { *tile_of_block = AtomicU32::from_ptr(ticket).fetch_add(1, Ordering::Relaxed) };
    }
    sync_threads();
    // SAFETY: thread 0 has stored it.
    let tile = unsafe { *tile_of_block };
    let index = (tile * block_dim_x() + tid) as usize;
    // SAFETY: the number is read in bounds.
    let value = if index < n { unsafe { *values.add(index) } } else { 0 };
    // SAFETY: all threads of the block are here.
    let (sum, of_tile) = unsafe { scan_of_block(value, warp_sums) };
    if tid == 0 {
        // SAFETY: this tile's word is its own to store, and tickets make sure that all before have begun.
        unsafe {
            let word = published.add(tile as usize);
            store_relaxed_u64(word, Published::new(Published::SUM, of_tile).0);
            let before = sum_before(published, tile);
            let prefix = Published::new(Published::PREFIX, before.wrapping_add(of_tile));
            store_relaxed_u64(word, prefix.0);
            *sum_of_others = before;
        }
    }
    sync_threads();
    if index < n {
        // SAFETY: the place is in bounds, and thread 0 has stored the sum before.
        unsafe { *sums.add(index) = (*sum_of_others).wrapping_add(sum) };
    }
}
