//! # Other roads 2 · One atomic for a warp
//!
//! ## Before
//! n atomic additions to one word stand in line, 32 of them from each warp at the same moment.
//!
//! ## Idea
//! The warp adds up its 32 values first, by the shuffles of the ladder's step 9, and one lane does the atomic. The line is
//! 32 times shorter. No shared memory and no barrier: the warps of a block still need not know of each other.
//!
//! ## Picture
//! ```text
//! warp 0   32 values ── 5 shuffles ── lane 0 ──┐
//! warp 1   32 values ── 5 shuffles ── lane 0 ──┼──▶ total
//! warp 2   32 values ── 5 shuffles ── lane 0 ──┘
//! ```
//!
//! ## Cost
//! n/32 atomic additions in all; for one block, B loads, B/32 atomics and 5 shuffles in each warp.
//!
//! ## Observe
//! In the PTX: five `shfl.sync.down.b32`, then `atom.global.add.u32` behind a test of the lane. In a run: B/32 atomics a
//! block, where the road before has B. On a GPU from sm_80 on, the same time: there the assembler does as much for the
//! road before. Older ones are left to you, and so is whatever is no addition to one and the same word.
//!
//! ## Break it
//! Put the shuffles under the test `index < n`. In the last warp lanes without an element don't come to them, and
//! `warpfold check` names the lanes that the mask of the shuffle has and the launch has not.
//!
//! ## Source
//! Andrew Adinets, *CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics* (NVIDIA, 2014).

use core::sync::atomic::{AtomicI32, Ordering};

use crate::ladder::l09_shuffle::warp_sum;
use crate::prelude::*;

/// Adds the `n` elements of `input` to `total`, a warp's together.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `total` to one value that others change by atomics at most.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn warp_aggregated_atomic(input: *const i32, total: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let index = block_idx_x() as usize * block_dim_x() as usize + tid as usize;
    // SAFETY: the index is below n where the element is read; whole warps add up; the total is there.
    unsafe {
        let value = if index < n { *input.add(index) } else { 0 };
        let sum = warp_sum(value);
        if tid % WARP_SIZE == 0 {
            AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
        }
    }
}
