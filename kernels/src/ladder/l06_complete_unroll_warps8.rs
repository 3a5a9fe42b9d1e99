//! # Step 6 · The loop written out
//!
//! ## Before
//! What is left of step 5's loop runs four times at most. Each time it halves the stride, compares it and jumps.
//!
//! ## Idea
//! A block has at most 1024 threads, so only four steps are possible before the last warp takes over: strides 512, 256, 128
//! and 64. Write them out, each under a test of the block size. The stride is then a constant, and the compiler folds it
//! into the addresses.
//!
//! The last warp is that of step 5, so this is an exhibit too.
//!
//! ## Picture
//! ```text
//! B = 1024   512   256   128   64   last warp
//! B =  512         256   128   64   last warp
//! B =  256               128   64   last warp
//! B =  128                     64   last warp
//! B =   64                          last warp
//! ```
//!
//! ## Cost
//! For one block over a whole tile, as in step 5: log₂ B − 5 barriers, 8B + 2(B − 64) + 385 loads, 2B + 129 stores.
//! Four tests of the block size take the place of the loop.
//!
//! ## Observe
//! In the PTX: `%ntid.x` compared with 1023, 511, 255 and 127, and partners at constant offsets such as `+1024`.
//!
//! **Predict.** Step 5 executes 107,392 instructions for these 2¹⁸ elements, in blocks of 512. Does writing its loop
//! out save about a tenth of them, or about half?
//! ```console
//! $ warpfold profile unroll_warps8 complete_unroll_warps8 -n 2^18 --metrics warp_instructions
//! ...
//! metric             unroll_warps8  complete_unroll_warps8
//! ...
//! warp_instructions        107,392                  97,536
//! ...
//! ```
//! About a tenth: with 512 threads the loop ran only three times.
//!
//! ## Break it
//! Leave out the step of stride 128. Blocks of 64 and 128 still give the right sum, larger ones don't: a test with only one block size proves
//! little.
//! ```console
//! $ warpfold try complete_unroll_warps8 -n 2^14 --block 256
//! ...
//! sum                           -1984644223
//! sum on the CPU                 1641833429
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 6, before the template; Cheng, Grossman,
//! McKercher, *Professional CUDA C Programming* (2014), chapter 3, `reduceCompleteUnrollWarps8`, which drops the tail
//! of the array as in step 4.

use crate::ladder::l03_interleaved::tree_step;
use crate::ladder::l04_unroll::{store_sum, sum_of_eight};
use crate::ladder::l05_unroll_warps8::last_warp;
use crate::prelude::*;

/// Writes the sum of each block's 8·B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
/// - The lanes of a warp run in lockstep, which no GPU since Volta promises.
#[kernel]
pub unsafe fn complete_unroll_warps8(input: *mut i32, partials: *mut i32, n: usize) {
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

        if block >= 1024 {
            tree_step(tile, sums, 512);
        }
        if block >= 512 {
            tree_step(tile, sums, 256);
        }
        if block >= 256 {
            tree_step(tile, sums, 128);
        }
        if block >= 128 {
            tree_step(tile, sums, 64);
        }
        last_warp(tile, sums);

        if tid == 0 {
            *partials.add(block_idx_x() as usize) = *tile;
        }
    }
}
