//! # Other roads 8 · The pairs of road 4, in segments
//!
//! ## Before
//! `blocked` takes 2·B elements and no more.
//!
//! ## Idea
//! As on the road before: a segment for each block, an atomic for each segment. Now the two trees of roads 4 and 5 can be
//! compared at a size where the difference shows.
//!
//! ## Picture
//! ```text
//! input     │ segment 0 │ segment 1 │ segment 2 │ seg
//!                 │           │           │         │
//! block          0           1           2         3        each by the tree of road 4, in place
//!                 └───────────┴───────────┴─────────┴──▶ total
//! ```
//!
//! ## Cost
//! For one block over a whole segment: log₂ B + 1 barriers, 4B − 1 loads, 2B − 1 stores, one atomic.
//!
//! ## Observe
//! **Predict.** Both kernels load and store the same words as often. Which of the two touches more sectors, and is it
//! less than twice as many?
//! ```console
//! $ warpfold profile segmented_blocked segmented_strided -n 2^16 --metrics branch_efficiency,global_sectors
//! ...
//! metric             segmented_blocked  segmented_strided
//! ...
//! branch_efficiency            71.43 %            98.21 %
//! global_sectors                98,240             25,088
//! ...
//! ```
//! The branch efficiency of `blocked`, and four times the sectors of `segmented_strided`.
//!
//! ## Break it
//! Let the segments begin 2·B − 1 elements apart: take `block_idx_x()` off the start. Neighbouring blocks then share an element:
//! ```console
//! $ warpfold try segmented_blocked --check -n 1000 --block 64
//! ...
//! racecheck: write after read at global address 0x7f00000001fc (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, combined from its
//! simple and its segmented kernel.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::prelude::*;
use crate::roads::r04_blocked::blocked_tree;
use crate::roads::r07_segmented_shared::segment_of_block;

/// Adds the `n` elements of `input` to `total`, one atomic per segment; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values that nothing else touches, and `total` to one value that others change by atomics at most.
/// - The grid has ⌈n ∕ 2B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn segmented_blocked(input: *mut i32, total: *mut i32, n: usize) {
    // SAFETY: the caller's promise: every block has a segment, which it alone touches.
    unsafe {
        let (start, count) = segment_of_block(n, 2);
        let segment = input.add(start);
        blocked_tree(segment, count);
        if thread_idx_x() == 0 {
            AtomicI32::from_ptr(total).fetch_add(*segment, Ordering::Relaxed);
        }
    }
}
