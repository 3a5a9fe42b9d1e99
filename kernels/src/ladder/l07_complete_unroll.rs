//! # Step 7 · The block size in the type
//!
//! ## Before
//! In step 6 every thread of every block asks four times how large the block is, and the answer is the same for the whole
//! launch. It is known before the launch: the host chose it.
//!
//! ## Idea
//! Make B a const generic. The tests are still in the source, but the compiler answers them, and the kernel for B threads
//! contains only the steps that B threads take. A generic function cannot be exported, so there is one entry per block size
//! over one generic body, and the host picks the entry by the block size of the launch.
//!
//! The last warp is that of step 5, so this is an exhibit too.
//!
//! ## Picture
//! ```text
//! source                  complete_unroll_1024   …_512   …_256   …_128   …_64
//! if B >= 1024 { 512 }                     512
//! if B >=  512 { 256 }                     256     256
//! if B >=  256 { 128 }                     128     128     128
//! if B >=  128 {  64 }                      64      64      64      64
//! last_warp                          last warp       =       =       =      =
//! ```
//!
//! ## Cost
//! For one block over a whole tile, as in step 5: log₂ B − 5 barriers, 8B + 2(B − 64) + 385 loads, 2B + 129 stores. There
//! is no test of the block size, and the eight elements of a thread are at constant offsets from one address.
//!
//! ## Observe
//! In the PTX: no `%ntid.x` at all, and with B = 512 eight loads at `+0`, `+2048`, `+4096` ….
//!
//! **Predict.** Step 6 executes 12,288 branches here, 12 in each warp. How many are left once the four tests of the
//! block size are gone?
//! ```console
//! $ warpfold profile complete_unroll_warps8 complete_unroll -n 2^18 --metrics warp_instructions,branches
//! ...
//! metric             complete_unroll_warps8  complete_unroll_512
//! ...
//! warp_instructions                  97,536               72,000
//! branches                           12,288                8,192
//! ...
//! ```
//! No kernel that works in place executes fewer instructions.
//!
//! ## Break it
//! Let every entry be that of 512 threads, `complete_unroll::<512>`, and launch it with 256: the block size in the type has to be that of the
//! launch.
//! ```console
//! $ warpfold try complete_unroll -n 2^14 --block 256
//! warpfold: load of 4 bytes out of bounds at global address 0x7f0000010000 (the nearest allocation ...
//! ...
//! ```
//! And put `#[kernel]` on `complete_unroll` itself: the compiler refuses, and says what to write instead.
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 6; Cheng, Grossman, McKercher, *Professional
//! CUDA C Programming* (2014), chapter 3, `reduceCompleteUnroll`, which drops the tail of the array as in step 4.

use crate::ladder::l03_interleaved::tree_step;
use crate::ladder::l04_unroll::{store_sum, sum_of_eight};
use crate::ladder::l05_unroll_warps8::last_warp;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn complete_unroll<const B: u32>(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();

    let tile_length = 8 * B;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n; the tile has `count` elements and then begins with
    // `sums` sums; every thread of the block makes the same calls.
    unsafe {
        let tile = input.add(start);
        let sum = sum_of_eight(tile, count, B);
        let sums = store_sum(tile, count, B, sum);

        if B >= 1024 {
            tree_step(tile, sums, 512);
        }
        if B >= 512 {
            tree_step(tile, sums, 256);
        }
        if B >= 256 {
            tree_step(tile, sums, 128);
        }
        if B >= 128 {
            tree_step(tile, sums, 64);
        }
        last_warp(tile, sums);

        if tid == 0 {
            *partials.add(block_idx_x() as usize) = *tile;
        }
    }
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        #[doc = concat!("Writes the sum of each block's 8·", $block, " elements to `partials`; overwrites `input`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches
        ///   them.
        #[doc = concat!("- The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        /// - The lanes of a warp run in lockstep, which no GPU since Volta promises.
        #[kernel]
        pub unsafe fn $name(input: *mut i32, partials: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { complete_unroll::<$block>(input, partials, n) }
        }
    )*};
}

entries! {
    complete_unroll_64 = 64;
    complete_unroll_128 = 128;
    complete_unroll_256 = 256;
    complete_unroll_512 = 512;
    complete_unroll_1024 = 1024;
}
