//! # Operators and types 4 · Step 9 for every operator and type
//!
//! ## Before
//! The page before has a kernel for each block size: five times 24. A tree in shared memory that is written out needs that.
//!
//! ## Idea
//! [Step 9](crate::ladder::l09_shuffle) with its operator taken out, and its block size as well. The tree of shuffles is
//! the same for every block, because a warp is. The block size only says how far apart a thread's elements are and how many
//! warps there are. So one entry for each operator and type reads it at run time, and the shared array has room for the 32
//! warps of the largest block.
//!
//! ## Picture
//! The path of one value, with B = 512; ⊕ is the operator:
//! ```text
//! thread    x ⊕ x ⊕ x ⊕ x ⊕ x ⊕ x ⊕ x ⊕ x     8 elements, 512 apart; a missing one is the identity
//! warp      16, 8, 4, 2, 1 lanes up           5 shuffles: the value of the warp, in lane 0
//! block     16, 8, 4, 2, 1 lanes up           5 shuffles over one value per warp
//! ```
//!
//! ## Cost
//! The memory accesses, shuffles and barriers of step 9, and up to a quarter more instructions, to compute the addresses
//! that step 9 knows as constants. 8-byte types take two shuffles where step 9 takes one.
//!
//! ## Observe
//! In the PTX: `shuffle_sum_f32` has `add.rn.f32` where `shuffle_sum_i32` has `add.s32`; `shuffle_sum_f64` has twenty
//! `shfl.sync.down.b32`. In a run of `shuffle_sum_f32`: the sum may differ from the CPU's, within the rounding allowed.
//!
//! **Predict.** Which of the sums of `i32`, `f32` and `f64` take the same number of instructions, and does the other
//! one take twice as many?
//! ```console
//! $ warpfold profile shuffle_sum_i32 shuffle_sum_f32 shuffle_sum_f64 -n 2^16 --metrics warp_instructions
//! ...
//! metric             shuffle_sum_i32  shuffle_sum_f32  shuffle_sum_f64
//! ...
//! warp_instructions           19,024           19,024           28,288
//! ...
//! ```
//!
//! ## Break it
//! Let the lanes of `reduce_block` that have no warp bring their own `value` in the place of the identity. With B = 1024 every lane has a warp, and
//! the result is right; with smaller blocks values count twice:
//! ```console
//! $ warpfold try shuffle_sum_i32 -n 2^12 --block 256
//! ...
//! sum                           -493155835
//! sum on the CPU                1305306566
//! ...
//! ```
//!
//! ## Source
//! As for step 9: Justin Luitjens, *Faster Parallel Reductions on Kepler* (NVIDIA, 2014), whose shuffle of a 64-bit value
//! is two as well.

use pastey::paste;

use crate::lists::for_each_instance;
use crate::operators::o01_operators::*;
use crate::operators::o03_complete_unroll_shared::reduce_eight;
use crate::prelude::*;

/// The warps of the largest block.
pub const MOST_WARPS: u32 = 32;

/// The body of every entry.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn shuffle<O: Operator<T>, T: Value>(input: *const T, partials: *mut T, n: usize) {
    let block = block_dim_x();
    let warp_results = shared_array!(warp_results: [T; MOST_WARPS]);

    let tile_length = 8 * block;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one
    // element per warp, and every thread of the block makes the call.
    unsafe {
        let tile = input.add(start);
        let result = reduce_block::<O, T>(reduce_eight::<O, T>(tile, count, block), warp_results);
        if thread_idx_x() == 0 {
            *partials.add(block_idx_x() as usize) = result;
        }
    }
}

/// The block's values combined, in thread 0. What the other threads get is meaningless.
///
/// Between two calls with the same array the caller needs a barrier: the first warp may still be reading.
///
/// # Safety
/// `warp_results` points to one value per warp that only this block touches, and all threads of the block make the call.
#[inline(always)]
pub unsafe fn reduce_block<O: Operator<T>, T: Value>(value: T, warp_results: *mut T) -> T {
    let tid = thread_idx_x();
    let lane = tid % WARP_SIZE;
    let warp = tid / WARP_SIZE;
    let warps = block_dim_x() / WARP_SIZE;

    // SAFETY: whole warps make the calls; there is one element per warp, each written before the barrier.
    unsafe {
        let result = reduce_warp::<O, T>(value);
        if lane == 0 {
            *warp_results.add(warp as usize) = result;
        }
        sync_threads();

        if warp != 0 {
            return result;
        }
        let mine = if lane < warps {
            *warp_results.add(lane as usize)
        } else {
            O::IDENTITY
        };
        reduce_warp::<O, T>(mine)
    }
}

/// The warp's 32 values combined, in lane 0. What the other lanes get is meaningless.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
pub unsafe fn reduce_warp<O: Operator<T>, T: Value>(value: T) -> T {
    let mut result = value;
    let mut delta = WARP_SIZE / 2;
    while delta > 0 {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        result = O::combine(result, unsafe { result.shuffle_down(delta) });
        delta /= 2;
    }
    result
}

macro_rules! entry {
    ($operator:ident $name:ident $value:ident) => { paste! {
        #[doc = concat!("Writes the [`", stringify!($operator), "`] of each block's 8·B elements to `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
        /// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
        #[kernel]
        pub unsafe fn [<shuffle_ $name _ $value>](input: *const $value, partials: *mut $value, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { shuffle::<$operator, $value>(input, partials, n) }
        }
    }};
}

for_each_instance!(entry);
