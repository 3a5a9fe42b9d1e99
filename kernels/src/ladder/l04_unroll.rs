//! # Step 4 · Two, four, eight elements a thread
//!
//! ## Before
//! In step 3 half of the threads never add anything: they only wait at barriers. And the loads of a step depend on those of
//! the step before, so the memory sees a few requests at a time where it could serve hundreds.
//!
//! ## Idea
//! Before the tree, each thread adds up 2, 4 or 8 elements that are B apart. Now every thread works, and there are a half,
//! a quarter or an eighth as many trees. Best of all, the loads don't depend on one another: the thread asks for all of
//! them before it needs the first.
//!
//! Only the last tile can be cut short by n, so all threads of a block agree on whether theirs is whole. A whole tile takes
//! the loads written out; a cut tile takes a loop that tests every index.
//!
//! ## Picture
//! `unroll4` in a block of 4 threads: equal letters add up, into the first one, and then the tree of step 3 adds those.
//! ```text
//! element    0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15
//! loads      a   b   c   d   a   b   c   d   a   b   c   d   a   b   c   d
//! tree       a   b   c   d
//! ```
//!
//! ## Cost
//! For one block over a whole tile of k·B elements: log₂ B + 1 barriers; kB + 2B − 1 loads, 2B stores. Per element of the
//! input, k = 8 takes about an eighth of step 3's barriers and five eighths of its loads.
//!
//! ## Observe
//! In the PTX of `unroll8`: eight `ld.global.b32` before the first `add.s32`. On a GPU: several times the bandwidth
//! of step 3, although the tree is still that of step 3.
//!
//! **Predict.** From `unroll2` to `unroll8` the barriers fall to a quarter. Do the load requests fall to a quarter as
//! well?
//! ```console
//! $ warpfold profile interleaved unroll2 unroll4 unroll8 -n 2^18 \
//!       --metrics warp_instructions,global_load_requests,barriers
//! ...
//! metric                interleaved    unroll2    unroll4    unroll8
//! ...
//! warp_instructions         942,592    536,832    282,752    154,688
//! global_load_requests       20,992     18,688     13,440     10,816
//! barriers                   73,728     40,960     20,480     10,240
//! ...
//! ```
//! There are fewer trees, but each element of the input still has to be loaded once.
//!
//! ## Break it
//! Make every tile of `sum_of_eight` take the loop of a cut one: write `if false` for `if count == 8 * block`. The sum stays the same, and so does
//! the number of loads, but an addition and a test now follow each of them. Compare the instructions with those of `unroll8` as it is:
//! ```console
//! $ warpfold try unroll8 --profile -n 2^16 --metrics warp_instructions,global_load_requests
//! ...
//! warp_instructions        46,352
//! global_load_requests      2,704
//! ...
//! ```
//! How much of the gain came from fewer blocks, and how much from independent loads?
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 4 and the algorithm cascading of kernel 7;
//! Cheng, Grossman, McKercher, *Professional CUDA C Programming* (2014), chapter 3, `reduceUnrolling2`, `4` and `8`,
//! which add the other tiles only where the last of them has an element, and so drop the tail of an array.

use crate::ladder::l03_interleaved::tree_step;
use crate::prelude::*;

/// Writes the sum of each block's 2·B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ 2B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn unroll2(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let tile_length = 2 * block;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    // SAFETY: a whole tile has both elements; a cut one has `count`.
    let sum = unsafe {
        if count == tile_length {
            let mine = tile.add(tid as usize);
            let a0 = *mine;
            let a1 = *mine.add(block as usize);
            a0.wrapping_add(a1)
        } else {
            sum_of_cut_tile(tile, count, block)
        }
    };

    // SAFETY: the tile has `count` elements, and every thread of the block brings its sum.
    unsafe { tree(tile, count, sum, partials) };
}

/// Writes the sum of each block's 4·B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ 4B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn unroll4(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let tile_length = 4 * block;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    // SAFETY: a whole tile has all four elements; a cut one has `count`.
    let sum = unsafe {
        if count == tile_length {
            let mine = tile.add(tid as usize);
            let a0 = *mine;
            let a1 = *mine.add(block as usize);
            let a2 = *mine.add(2 * block as usize);
            let a3 = *mine.add(3 * block as usize);
            a0.wrapping_add(a1).wrapping_add(a2).wrapping_add(a3)
        } else {
            sum_of_cut_tile(tile, count, block)
        }
    };

    // SAFETY: the tile has `count` elements, and every thread of the block brings its sum.
    unsafe { tree(tile, count, sum, partials) };
}

/// Writes the sum of each block's 8·B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn unroll8(input: *mut i32, partials: *mut i32, n: usize) {
    let block = block_dim_x();

    let tile_length = 8 * block;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    // SAFETY: the tile has `count` elements, and every thread of the block brings its sum.
    unsafe {
        let sum = sum_of_eight(tile, count, block);
        tree(tile, count, sum, partials);
    }
}

/// The sum of the thread's eight elements, which are `block` apart. In a tile that n cuts short there may be fewer.
///
/// # Safety
/// `tile` points to `count` elements, at most `8 * block`.
#[inline(always)]
pub unsafe fn sum_of_eight(tile: *const i32, count: u32, block: u32) -> i32 {
    let tid = thread_idx_x();
    // SAFETY: a whole tile has all eight elements; a cut one has `count`.
    unsafe {
        if count == 8 * block {
            let mine = tile.add(tid as usize);
            let a0 = *mine;
            let a1 = *mine.add(block as usize);
            let a2 = *mine.add(2 * block as usize);
            let a3 = *mine.add(3 * block as usize);
            let a4 = *mine.add(4 * block as usize);
            let a5 = *mine.add(5 * block as usize);
            let a6 = *mine.add(6 * block as usize);
            let a7 = *mine.add(7 * block as usize);
            let first = a0.wrapping_add(a1).wrapping_add(a2).wrapping_add(a3);
            let second = a4.wrapping_add(a5).wrapping_add(a6).wrapping_add(a7);
            first.wrapping_add(second)
        } else {
            sum_of_cut_tile(tile, count, block)
        }
    }
}

/// The sum of the thread's elements that exist; they are `block` apart.
///
/// # Safety
/// `tile` points to `count` elements.
#[inline(always)]
unsafe fn sum_of_cut_tile(tile: *const i32, count: u32, block: u32) -> i32 {
    let mut sum = 0_i32;
    let mut index = thread_idx_x();
    while index < count {
        // SAFETY: the index is below `count`.
        sum = sum.wrapping_add(unsafe { *tile.add(index as usize) });
        index += block;
    }
    sum
}

/// Stores the thread's sum over its first element, and waits at a barrier. Returns how many sums there are: one per thread,
/// or fewer where the tile has fewer elements than the block has threads.
///
/// # Safety
/// `tile` points to `count` elements that only this block touches, and every thread of the block makes the call, with
/// the sum of its own elements.
#[inline(always)]
pub unsafe fn store_sum(tile: *mut i32, count: u32, block: u32, sum: i32) -> u32 {
    let tid = thread_idx_x();
    let sums = count.min(block);
    if tid < sums {
        // SAFETY: the tile has at least `sums` elements, and no other thread has ever read or written this one.
        unsafe { *tile.add(tid as usize) = sum };
    }
    sync_threads();
    sums
}

/// The rest of the kernel: the tree of step 3 over the sums of the threads.
///
/// # Safety
/// As for [`store_sum`], and `partials` points to one value per block.
#[inline(always)]
unsafe fn tree(tile: *mut i32, count: u32, sum: i32, partials: *mut i32) {
    let tid = thread_idx_x();
    let block = block_dim_x();
    // SAFETY: the caller's promise; the stride is the same in every thread, and the tile has a first element.
    unsafe {
        let sums = store_sum(tile, count, block, sum);
        // A block has at least two threads, so the first step needs no test of the stride.
        let mut stride = block / 2;
        loop {
            tree_step(tile, sums, stride);
            stride /= 2;
            if stride == 0 {
                break;
            }
        }
        if tid == 0 {
            *partials.add(block_idx_x() as usize) = *tile;
        }
    }
}
