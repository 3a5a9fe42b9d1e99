//! # Step 3 · Neighbours read neighbours
//!
//! ## Before
//! In step 2 neighbouring threads touch elements that are 2, 4, 8 … words apart. Memory comes in sectors of 32 bytes. Once
//! the elements are 8 words apart or more, each of them costs a sector of its own, of which 4 bytes are used.
//!
//! ## Idea
//! Turn the tree round: the stride begins at B/2 and halves. Thread `tid` adds element `tid + stride` to element `tid`.
//! Neighbouring threads then touch neighbouring words, and 32 lanes ask for 128 consecutive bytes.
//!
//! ## Picture
//! A tile of 8 elements; in each step equal letters add up, into the left one.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! stride 4   a   b   c   d   a   b   c   d     threads 0 1 2 3
//! stride 2   a   b   a   b                     threads 0 1
//! stride 1   a   a                             thread  0
//! ```
//!
//! ## Cost
//! For one block over a whole tile, as in step 1: log₂ B barriers, 2B − 1 loads, B stores. There are as many loads as
//! before, and they cost a fraction: 4 sectors for the 32 loads of a warp instead of up to 32.
//!
//! ## Observe
//! In the PTX: `shr.u32` where step 2 has a multiplication, and the address of a thread's own element is computed
//! outside the loop.
//!
//! **Predict.** Step 2 needs 12.46 sectors for a request of a warp. How many does this step need, and does its branch
//! efficiency change?
//! ```console
//! $ warpfold profile neighbored_less interleaved -n 2^16 --metrics branch_efficiency,global_load_sectors_per_request
//! ...
//! metric                           neighbored_less  interleaved
//! ...
//! branch_efficiency                        98.12 %      98.12 %
//! global_load_sectors_per_request            12.46         3.24
//! ...
//! ```
//! Less than 4 on average, because in the last steps a warp asks for fewer than 32 words. As many
//! threads are at work as in step 2, and the branch efficiency is the same.
//!
//! ## Break it
//! Drop the test `tid + stride < count` in [`tree_step`], and sum 1000 elements in blocks of 512. The last block then adds
//! whatever lies past the end of the input, and the emulator says so:
//! ```console
//! $ warpfold try interleaved --check -n 1000 --block 512
//! ...
//! memcheck: access out of bounds at global address 0x7f0000000fa0 (4 bytes) in kernel `interleaved`, which ends the launch
//!   block (1) thread (232) reads ...
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 3; Cheng, Grossman, McKercher, *Professional
//! CUDA C Programming* (2014), chapter 3, `reduceInterleaved`, whose threads without an element return before the barriers. Texts that put
//! the barrier after the loop instead of into it let a step read what the step before may not have written yet.

use crate::prelude::*;

/// Writes the sum of each block's B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn interleaved(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    let mut stride = block / 2;
    while stride > 0 {
        // SAFETY: the tile has `count` elements, and the stride is the same in every thread.
        unsafe { tree_step(tile, count, stride) };
        stride /= 2;
    }

    if tid == 0 {
        // SAFETY: there is one partial per block, and the tile has a first element.
        unsafe { *partials.add(block_idx_x() as usize) = *tile };
    }
}

/// One step of the tree over the first `count` elements of a tile: thread `tid` below `stride` adds element
/// `tid + stride` to element `tid`, if there is one; then a barrier.
///
/// # Safety
/// `tile` points to `count` elements that only this block touches, and every thread of the block makes the call with the
/// same values.
#[inline(always)]
pub unsafe fn tree_step(tile: *mut i32, count: u32, stride: u32) {
    let tid = thread_idx_x();
    if (tid < stride) & (tid + stride < count) {
        // SAFETY: both elements are among the `count`, and in this step no other thread touches them.
        unsafe {
            let mine = tile.add(tid as usize);
            let partner = tile.add((tid + stride) as usize);
            *mine = (*mine).wrapping_add(*partner);
        }
    }
    sync_threads();
}
