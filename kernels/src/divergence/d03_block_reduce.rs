//! # Divergence 3 · Two trees, and as many elements as there are
//!
//! ## Before
//! The pages before this one look at a branch by itself. What it really costs shows in a kernel that spends its time there.
//!
//! ## Idea
//! The sum of each block by the two trees of the ladder's steps 1 and 3, with all else equal: both read each element once,
//! into shared memory, and take the same number of additions, accesses and barriers. In the first tree the threads at work
//! are scattered (`tid` a multiple of twice the stride), in the second they are neighbours (`tid` below the stride).
//!
//! Both take any length that fits into memory: where a tile begins is a 64-bit number.
//!
//! ## Picture
//! A tile of 8 elements, and the threads that work:
//! ```text
//!             block_reduce_1               block_reduce_2
//! step 1      0 · 2 · 4 · 6 ·              0 1 2 3 · · · ·
//! step 2      0 · · · 4 · · ·              0 1 · · · · · ·
//! step 3      0 · · · · · · ·              0 · · · · · · ·
//! ```
//!
//! ## Cost
//! For one block, in either: B global loads and one global store; 2B − 1 shared loads and as many shared stores; log₂ B + 1
//! barriers; 4B bytes of shared memory.
//!
//! ## Observe
//! In the PTX: `mul.wide.u32`, which makes a 64-bit product of the number of the block and its size. In a run: bytes and
//! barriers are equal. Branch efficiency is not, and the first tree takes four times the shared requests, since a request
//! serves only those lanes of a warp that are at work.
//!
//! ## Break it
//! Multiply in 32 bits: `(block_idx_x() * block_dim_x()) as usize`. Every test still passes, up to 2³² elements. Beyond
//! that, the first elements are added twice and the others not at all.
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernels 1 and 3.

use cuda_std::shared::dynamic_shared_mem;

use crate::ladder::l08_complete_unroll_shared::shared_step;
use crate::prelude::*;

/// Writes the sum of each block's B elements to `partials`, by the tree whose stride doubles.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024, with 4·B bytes of
///   dynamic shared memory.
#[kernel]
pub unsafe fn block_reduce_1(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();
    let sums = dynamic_shared_mem::<i32>();
    // SAFETY: the caller's promise; the shared memory has one element per thread, and in one step no two threads touch the
    // same.
    unsafe {
        load_tile(input, n, sums);
        let mut stride = 1;
        while stride < block {
            if tid % (2 * stride) == 0 {
                let mine = sums.add(tid as usize);
                *mine = (*mine).wrapping_add(*mine.add(stride as usize));
            }
            sync_threads();
            stride *= 2;
        }
        if tid == 0 {
            *partials.add(block_idx_x() as usize) = *sums;
        }
    }
}

/// Writes the sum of each block's B elements to `partials`, by the tree whose stride halves.
///
/// # Safety
/// As for [`block_reduce_1`].
#[kernel]
pub unsafe fn block_reduce_2(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let sums = dynamic_shared_mem::<i32>();
    // SAFETY: the caller's promise; the shared memory has one element per thread, and every thread of the block makes the
    // calls.
    unsafe {
        load_tile(input, n, sums);
        let mut stride = block_dim_x() / 2;
        while stride > 0 {
            shared_step(sums, stride);
            stride /= 2;
        }
        if tid == 0 {
            *partials.add(block_idx_x() as usize) = *sums;
        }
    }
}

/// Copies the block's tile into shared memory, with 0 for missing elements; then a barrier.
///
/// # Safety
/// `input` points to `n` values, `sums` to one per thread that only this block touches, and every thread makes the call.
#[inline(always)]
unsafe fn load_tile(input: *const i32, n: usize, sums: *mut i32) {
    let tid = thread_idx_x();
    let index = block_idx_x() as usize * block_dim_x() as usize + tid as usize;
    // SAFETY: the index is below n where the element is read.
    unsafe {
        *sums.add(tid as usize) = if index < n { *input.add(index) } else { 0 };
    }
    sync_threads();
}
