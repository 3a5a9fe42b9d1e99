//! # Step 5 · The last warp alone
//!
//! ## Before
//! The tree of `unroll8` ends with six steps, strides 32 to 1, in which a single warp has work. After each of them all
//! warps wait at a barrier for that one, although they have nothing left to do.
//!
//! ## Idea
//! Stop the loop at stride 32 and let the first warp do the rest alone. Its 32 lanes execute the same instruction at the
//! same time, so, the argument goes, they need no barrier among themselves. They need no test either: all 32 lanes add in
//! all six steps, and nobody reads the useless sums of the upper lanes.
//!
//! The accesses are *volatile*. Without that, the compiler would keep a thread's sum in a register through all six steps,
//! and the other lanes would never see it.
//!
//! **This is an exhibit.** Up to Pascal the lanes of a warp did run in lockstep. Since Volta they need not. Without a
//! barrier the kernel is a data race that happens to work as long as the compiler emits the six steps as one straight line.
//! [Step 5b](crate::ladder::l05b_unroll_warps8_sync) repairs it.
//!
//! To stay a straight line, the steps contain no test of n either. They need none where the tree leaves 64 sums, which is
//! everywhere except in a last tile of fewer than 64 elements; there all threads go on with the tree of step 3.
//!
//! ## Picture
//! The last 64 sums, by 32 lanes; each row is one step.
//! ```text
//! stride 32   lanes 0–31 add elements 32–63 to elements 0–31
//! stride 16   lanes 0–15 add elements 16–31 to elements 0–15     (lanes 16–31 add too: nobody reads it)
//! stride  8   lanes 0–7  add elements  8–15 to elements 0–7
//!   …
//! stride  1   lane  0    adds element  1    to element  0
//! ```
//!
//! ## Cost
//! For one block over a whole tile: log₂ B − 5 barriers, six fewer than `unroll8`. The last six steps are 192 additions
//! instead of 63, each two volatile loads and one volatile store: 8B + 2(B − 64) + 385 loads, 2B + 129 stores.
//!
//! ## Observe
//! In the PTX: `ld.volatile.global.b32` and `st.volatile.global.b32`, six times over, without a branch or a barrier
//! between.
//!
//! **Predict.** A block of 512 threads has 10 barriers in `unroll8`, which makes 10,240 for its warps. How many are
//! left here? And do the instructions become fewer too, although the last six steps make 192 additions instead of 63?
//! ```console
//! $ warpfold profile unroll8 unroll_warps8 -n 2^18 --metrics warp_instructions,barriers
//! ...
//! metric               unroll8  unroll_warps8
//! ...
//! warp_instructions    154,688        107,392
//! barriers              10,240          4,096
//! ...
//! ```
//! Whether it takes less time depends on the GPU, because each volatile access bypasses the L1 cache and goes to L2: on an RTX 3090
//! the published time falls from 0.423 to 0.414 ms, on an H200 it rises. And it is wrong: lanes race, and the sum depends on the order
//! of execution.
//! ```console
//! $ warpfold check unroll_warps8 --block 64 --schedules 50 --limit 11
//! ...
//! blocks    25 of   64 threads: 11 findings
//! ...
//! racecheck: read after write at global address 0x7f0000000040 (4 bytes) in kernel `unroll_warps8`, 384 times
//! block (0) thread (0) reads ...
//! ...
//! block (0) thread (16) writes ...
//! ...
//! schedules: result depends on the schedule at global address 0x7f0000000000 (4 bytes) in kernel `unroll_warps8`
//!   the address is in `input`, at byte 0
//!   seed 0 leaves 0x37913e33 there, and seed 1 leaves 0x5adf7d9b
//! ...
//! ```
//!
//! ## Break it
//! Read and write `*mine` plainly instead of by `read_volatile` and `write_volatile`, and compare the PTX: five of the six stores are gone,
//! because no later line of this thread reads what they wrote. The sum is wrong:
//! ```console
//! $ warpfold try unroll_warps8 -n 2^16 --block 128
//! ...
//! sum                           -337004565
//! sum on the CPU                -120504358
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 5; Cheng, Grossman, McKercher, *Professional
//! CUDA C Programming* (2014), chapter 3, `reduceUnrollWarps8`, which drops the tail of the array as in step 4.

use crate::ladder::l03_interleaved::tree_step;
use crate::ladder::l04_unroll::{store_sum, sum_of_eight};
use crate::prelude::*;

/// Writes the sum of each block's 8·B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
/// - The lanes of a warp run in lockstep, which no GPU since Volta promises.
#[kernel]
pub unsafe fn unroll_warps8(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let tile_length = 8 * block;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n; the tile has `count` elements and then begins with
    // `sums` sums; every thread of the block makes the same calls.
    unsafe {
        let tile = input.add(start);
        let sum = sum_of_eight(tile, count, block);
        let sums = store_sum(tile, count, block, sum);

        let mut stride = block / 2;
        while stride > 32 {
            tree_step(tile, sums, stride);
            stride /= 2;
        }
        last_warp(tile, sums);

        if tid == 0 {
            *partials.add(block_idx_x() as usize) = *tile;
        }
    }
}

/// The tree from stride 32 on, by the first warp alone; the sum is in element 0 afterwards.
///
/// # Safety
/// `tile` points to `sums` elements that only this block touches, of which at most the first 64 are still to be added
/// up; every thread of the block makes the call, after a barrier, and the lanes of a warp run in lockstep.
#[inline(always)]
pub unsafe fn last_warp(tile: *mut i32, sums: u32) {
    let tid = thread_idx_x();
    if sums < 64 {
        let mut stride = 32;
        while stride > 0 {
            // SAFETY: the caller's promise; `sums` is the same in every thread, so all of them are here.
            unsafe { tree_step(tile, sums, stride) };
            stride /= 2;
        }
    } else if tid < 32 {
        // SAFETY: the lane is below 32 and each stride at most 32, so that every element is among the first 64.
        unsafe {
            let mine = tile.add(tid as usize);
            volatile_step(mine, 32);
            volatile_step(mine, 16);
            volatile_step(mine, 8);
            volatile_step(mine, 4);
            volatile_step(mine, 2);
            volatile_step(mine, 1);
        }
    }
}

/// Adds the element that is `stride` further on to the lane's own.
///
/// # Safety
/// Both elements exist, and all 32 lanes read them before any of them writes its own.
#[inline(always)]
unsafe fn volatile_step(mine: *mut i32, stride: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let sum = mine
            .read_volatile()
            .wrapping_add(mine.add(stride).read_volatile());
        mine.write_volatile(sum);
    }
}
