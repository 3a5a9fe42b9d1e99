//! # Other roads 9 · The strides of road 5, in segments
//!
//! ## Before
//! `segmented_blocked` takes any length, but with the scattered threads and words of road 4.
//!
//! ## Idea
//! Put the tree of road 5 in its place. Only two things distinguish it from the ladder's step 3: all threads work in the
//! first step, and the block's sum goes straight to the total.
//!
//! ## Picture
//! ```text
//! input     │ segment 0 │ segment 1 │ segment 2 │ seg
//!                 │           │           │         │
//! block          0           1           2         3        each by the tree of road 5, in place
//!                 └───────────┴───────────┴─────────┴──▶ total
//! ```
//!
//! ## Cost
//! For one block over a whole segment, as on the road before: log₂ B + 1 barriers, 4B − 1 loads, 2B − 1 stores, one atomic.
//!
//! ## Observe
//! **Predict.** Which of these five are the same for both kernels: branch efficiency, load requests, sectors, bytes,
//! atomics?
//! ```console
//! $ warpfold profile segmented_blocked segmented_strided -n 2^16 \
//!       --metrics branch_efficiency,global_load_requests,global_sectors,global_bytes,atomics
//! ...
//! metric                segmented_blocked  segmented_strided
//! ...
//! branch_efficiency               71.43 %            98.21 %
//! global_load_requests             14,272              4,672
//! global_sectors                   98,240             25,088
//! global_bytes                    786,176            786,176
//! atomics                              64                 64
//! ...
//! ```
//! Exactly the bytes and the atomics of `segmented_blocked`, in a third of the requests and a quarter of the sectors,
//! with whole warps at work. That is the whole difference in time.
//!
//! ## Break it
//! Let a block take one element for each thread, `segment_of_block(n, 1)`, and launch as many blocks as before. Half of the array is never read:
//! ```console
//! $ warpfold try segmented_strided -n 2^12 --block 64
//! ...
//! sum                           -923404231
//! sum on the CPU                1305306566
//! ...
//! warpfold: `segmented_strided` gives -923404231, which should be 1305306566
//! ```
//! And leave out the `sync_threads()` in `tree_step` of step 3: there are races between warps while the stride is 32 or more, and races within one
//! warp below that. Which of them would step 5 have accepted?
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, combined from its
//! convergent and its segmented kernel.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::prelude::*;
use crate::roads::r05_strided::strided_tree;
use crate::roads::r07_segmented_shared::segment_of_block;

/// Adds the `n` elements of `input` to `total`, one atomic per segment; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values that nothing else touches, and `total` to one value that others change by atomics at most.
/// - The grid has ⌈n ∕ 2B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn segmented_strided(input: *mut i32, total: *mut i32, n: usize) {
    // SAFETY: the caller's promise: every block has a segment, which it alone touches.
    unsafe {
        let (start, count) = segment_of_block(n, 2);
        let segment = input.add(start);
        strided_tree(segment, count);
        if thread_idx_x() == 0 {
            AtomicI32::from_ptr(total).fetch_add(*segment, Ordering::Relaxed);
        }
    }
}
