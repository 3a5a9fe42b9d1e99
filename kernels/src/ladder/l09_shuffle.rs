//! # Step 9 · Registers talk to registers
//!
//! ## Before
//! Step 8 writes sums to shared memory only so that other threads can read them, with a barrier between. It spends B words
//! of memory and log₂ B − 5 barriers on numbers that are in registers before and after.
//!
//! ## Idea
//! Within a warp a lane can read a register of another lane directly: a *shuffle*. Five of them add up the 32 values of a
//! warp, with no memory and no barrier, because a shuffle waits for the lanes that take part. Each warp then hands over one
//! sum through one word of shared memory, and the first warp adds those up in the same way.
//!
//! ## Picture
//! `warp_sum`, for a warp of 8 lanes: each lane adds what the lane `delta` above it holds; the sum ends up in lane 0.
//! ```text
//! lane      0      1      2      3      4      5      6      7
//! delta 4   0+4    1+5    2+6    3+7    ·      ·      ·      ·      · nobody reads this
//! delta 2   0…6    1…7    ·      ·      ·      ·      ·      ·
//! delta 1   0…7    ·      ·      ·      ·      ·      ·      ·
//! ```
//!
//! ## Cost
//! For one block over a whole tile: 8B global loads and one global store, as in step 8; B/32 shared stores and as many
//! shared loads; 5 shuffles in each warp and 5 more in the first; 1 barrier; B/8 bytes of shared memory.
//!
//! ## Observe
//! In the PTX: ten `shfl.sync.down.b32` and one `bar.sync`. On a GPU: little faster than step 8, if at all, since
//! both wait for the input.
//!
//! **Predict.** Step 8 has 4 barriers in each of 64 blocks of 16 warps, 4,096 for all warps. How many are left? And
//! of the 4,480 wavefronts of shared memory, are some left at all?
//! ```console
//! $ warpfold profile complete_unroll_shared shuffle -n 2^18 --metrics shared_wavefronts,barriers
//! ...
//! metric             complete_unroll_shared_512  shuffle_512
//! ...
//! shared_wavefronts                       4,480        1,088
//! barriers                                4,096        1,024
//! ...
//! ```
//! In each block 16 warps store their sums, and the first loads them together: 17 wavefronts.
//!
//! ## Break it
//! In the first warp, read `warp_sums` in all 32 lanes: write `lane < 32` for `lane < warps`. Only with B = 1024 does every word exist; with
//! smaller blocks lanes read past the end of shared memory:
//! ```console
//! $ warpfold try shuffle --check -n 2^12 --block 128
//! ...
//! memcheck: access out of bounds at shared address 0x10 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Justin Luitjens, *Faster Parallel Reductions on Kepler* (NVIDIA, 2014), with the `_sync` form of the shuffle that
//! Volta brought.

use crate::ladder::l04_unroll::sum_of_eight;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn shuffle<const B: u32>(input: *const i32, partials: *mut i32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);

    let tile_length = 8 * B;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one
    // element per warp, and every thread of the block makes the call.
    unsafe {
        let tile = input.add(start);
        if let Some(sum) = block_sum::<B>(sum_of_eight(tile, count, B), warp_sums) {
            *partials.add(block_idx_x() as usize) = sum;
        }
    }
}

/// The sum of the block's B values, in thread 0.
///
/// Between two calls with the same array the caller needs a barrier: the first warp may still be reading.
///
/// # Safety
/// `warp_sums` points to B/32 values that only this block touches, and all its B threads make the call.
#[inline(always)]
pub unsafe fn block_sum<const B: u32>(value: i32, warp_sums: *mut i32) -> Option<i32> {
    let tid = thread_idx_x();
    let lane = tid % WARP_SIZE;
    let warp = tid / WARP_SIZE;
    let warps = B / WARP_SIZE;

    // SAFETY: whole warps add up; there is one element per warp, each written before the barrier.
    unsafe {
        let sum = warp_sum(value);
        if lane == 0 {
            *warp_sums.add(warp as usize) = sum;
        }
        sync_threads();

        if warp != 0 {
            return None;
        }
        let mine = if lane < warps {
            *warp_sums.add(lane as usize)
        } else {
            0
        };
        let sum = warp_sum(mine);
        if lane == 0 { Some(sum) } else { None }
    }
}

/// The sum of the warp's 32 values, in lane 0. What the other lanes get is meaningless.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
pub unsafe fn warp_sum(value: i32) -> i32 {
    let mut sum = value;
    let mut delta = WARP_SIZE / 2;
    while delta > 0 {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        sum = sum.wrapping_add(unsafe { shuffle_down(sum, delta) });
        delta /= 2;
    }
    sum
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        #[doc = concat!("Writes the sum of each block's 8·", $block, " elements to `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
        #[doc = concat!("- The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(input: *const i32, partials: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { shuffle::<$block>(input, partials, n) }
        }
    )*};
}

entries! {
    shuffle_64 = 64;
    shuffle_128 = 128;
    shuffle_256 = 256;
    shuffle_512 = 512;
    shuffle_1024 = 1024;
}
