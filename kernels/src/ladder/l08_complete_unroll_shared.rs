//! # Step 8 · The tree in shared memory
//!
//! ## Before
//! Up to step 7 the tree is in global memory. Every step of it goes out to the caches and back. It also destroys the input,
//! so whoever needs the input again pays for a copy.
//!
//! ## Idea
//! Each block has *shared memory*: a few dozen KiB on the multiprocessor itself, as fast as a cache that never misses. Each
//! thread puts its sum there, and the tree runs there. Global memory is read once, for the input, and written once, for the
//! partial sum.
//!
//! Two more things get simpler. A thread without elements stores 0, so the tree needs no test of n. And the last warp is
//! that of step 5b, with its barriers: this is no exhibit.
//!
//! ## Picture
//! ```text
//! global   input:   8·B elements     each thread reads 8
//!                        │
//! shared   sums:    B elements       log₂ B steps: 512 … 64 by the block, 32 … 1 by the first warp
//!                        │
//! global   partials[block]           one store
//! ```
//!
//! ## Cost
//! For one block over a whole tile: 8B global loads and one global store, the minimum; 2(B − 64) + 224 shared loads, 2B +
//! 96 shared stores; log₂ B − 5 barriers and, in one warp, 10 warp barriers; 4B bytes of shared memory.
//!
//! ## Observe
//! In the PTX: `.shared .align 16 .b8 sums[2048]` for B = 512; after the eight `ld.global.b32` only `ld.shared.b32`
//! and `st.shared.b32`. On a GPU: less time, where steps 5 to 7 saved little more than instructions.
//!
//! **Predict.** The input alone, 2¹⁸ elements in 64 blocks, is 32,768 sectors. How many global sectors does this step
//! touch in all?
//! ```console
//! $ warpfold profile complete_unroll complete_unroll_shared -n 2^18 --metrics global_sectors,shared_wavefronts
//! ...
//! metric             complete_unroll_512  complete_unroll_shared_512
//! ...
//! global_sectors                  52,544                      32,832
//! shared_wavefronts                    0                       4,480
//! ...
//! ```
//! One more for each block, for its partial sum. What the tree did in global memory it now does in shared memory.
//!
//! ## Break it
//! Remove the `sync_threads()` after the first store. One warp then reads an element before another has written it:
//! ```console
//! $ warpfold try complete_unroll_shared --check -n 2^12 --block 128
//! ...
//! racecheck: write after read at shared address 0x100 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), whose kernels all work in shared memory; Cheng,
//! Grossman, McKercher, *Professional CUDA C Programming* (2014), chapter 5, `reduceSmemUnroll`, which drops the tail of the array as in step 4.

use crate::ladder::l04_unroll::sum_of_eight;
use crate::ladder::l05b_unroll_warps8_sync::sum_of_64;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn complete_unroll_shared<const B: u32>(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let sums = shared_array!(sums: [i32; B]);

    let tile_length = 8 * B;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one element
    // per thread, each written before the first barrier; every thread of the block makes the same calls, except the first
    // warp's own, which its 32 lanes make.
    unsafe {
        let tile = input.add(start);
        *sums.add(tid as usize) = sum_of_eight(tile, count, B);
        sync_threads();

        if B >= 1024 {
            shared_step(sums, 512);
        }
        if B >= 512 {
            shared_step(sums, 256);
        }
        if B >= 256 {
            shared_step(sums, 128);
        }
        if B >= 128 {
            shared_step(sums, 64);
        }

        if tid < 32 {
            let sum = sum_of_64(sums);
            if tid == 0 {
                *partials.add(block_idx_x() as usize) = sum;
            }
        }
    }
}

/// One step of the tree, without a test of n: thread `tid` below `stride` adds element `tid + stride` to element `tid`;
/// then a barrier.
///
/// # Safety
/// `sums` points to `2 * stride` elements or more that only this block touches, and every thread of the block makes the
/// call, after a barrier, with the same values.
#[inline(always)]
pub unsafe fn shared_step(sums: *mut i32, stride: u32) {
    let tid = thread_idx_x();
    if tid < stride {
        // SAFETY: both elements are below `2 * stride`, and in this step no other thread touches them.
        unsafe {
            let mine = sums.add(tid as usize);
            let partner = sums.add((tid + stride) as usize);
            *mine = (*mine).wrapping_add(*partner);
        }
    }
    sync_threads();
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
            unsafe { complete_unroll_shared::<$block>(input, partials, n) }
        }
    )*};
}

entries! {
    complete_unroll_shared_64 = 64;
    complete_unroll_shared_128 = 128;
    complete_unroll_shared_256 = 256;
    complete_unroll_shared_512 = 512;
    complete_unroll_shared_1024 = 1024;
}
