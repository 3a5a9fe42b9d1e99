//! # Other roads 7 · Any length, in segments
//!
//! ## Before
//! One block adds up 2·B elements and no more: at most 2048, on a GPU that could run hundreds of blocks at a time.
//!
//! ## Idea
//! Cut the input into *segments* of 2·B elements, one for each block, and let each block add its sum to the total
//! atomically. Nothing else changes, and any length will do.
//!
//! ## Picture
//! ```text
//! input     │ segment 0 │ segment 1 │ segment 2 │ seg
//!                 │           │           │         │
//! block          0           1           2         3        each as on the road before
//!                 └───────────┴───────────┴─────────┴──▶ total
//! ```
//!
//! ## Cost
//! For one block over a whole segment: 2B global loads and one atomic; 2B − 1 shared loads and as many shared stores;
//! log₂ B + 1 barriers; 4B bytes of shared memory.
//!
//! ## Observe
//! In the PTX: `atom.global.add.u32` where `shared_dynamic` has its store.
//!
//! **Predict.** How many threads, in blocks of 256, take part in the sum of 2¹⁶ elements, and how many atomics are
//! there?
//! ```console
//! $ warpfold profile segmented_shared -n 2^16 --block 256 --metrics threads_launched,atomics
//! ...
//! threads_launched            32,768
//! atomics                        128
//! ...
//! ```
//! ⌈n ∕ 2B⌉ blocks, and as many atomics.
//!
//! ## Break it
//! Launch it with a total that is not 0. A kernel that adds to what it finds needs somebody to clear it first, which is one
//! more thing to do for each launch. Step 11 of the ladder clears up after itself.
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, the segmented
//! multiblock sum reduction kernel.

use core::sync::atomic::{AtomicI32, Ordering};

use cuda_std::shared::dynamic_shared_mem;

use crate::prelude::*;
use crate::roads::r06_shared_dynamic::{shared_tree, sum_of_pair};

/// Adds the `n` elements of `input` to `total`, one atomic per segment.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `total` to one value that others change by atomics at most.
/// - The grid has ⌈n ∕ 2B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024, with 4·B bytes of
///   dynamic shared memory.
#[kernel]
pub unsafe fn segmented_shared(input: *const i32, total: *mut i32, n: usize) {
    let sums = dynamic_shared_mem::<i32>();
    // SAFETY: the caller's promise: every block has a segment, and the shared memory has one element per thread.
    unsafe {
        let (start, count) = segment_of_block(n, 2);
        let sum = shared_tree(sums, sum_of_pair(input.add(start), count));
        if thread_idx_x() == 0 {
            AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
        }
    }
}

/// Where the segment of the block begins, and how many elements it has: `elements_per_thread` for each thread, or fewer at
/// the end of the input.
#[inline(always)]
pub fn segment_of_block(n: usize, elements_per_thread: u32) -> (usize, u32) {
    let length = elements_per_thread * block_dim_x();
    let start = block_idx_x() as usize * length as usize;
    (start, (n - start).min(length as usize) as u32)
}
