//! # Other roads 2 · One atomic for a warp
//!
//! ## Before
//! n atomic additions to one word queue up, 32 of them from each warp at the same moment.
//!
//! ## Idea
//! Each warp first adds up its 32 values, by the shuffles of the ladder's step 9, and one lane does the atomic. The queue
//! is 32 times shorter. There is no shared memory and no barrier: the warps of a block still need not know of each other.
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
//! In the PTX: five `shfl.sync.down.b32`, then `atom.global.add.u32` after a test of the lane.
//!
//! **Predict.** The road before takes 65,536 atomics for these elements. How many are left?
//! ```console
//! $ warpfold profile naive_atomic warp_aggregated_atomic -n 2^16 --block 256 --metrics atomics
//! ...
//! metric   naive_atomic  warp_aggregated_atomic
//! ...
//! atomics        65,536                   2,048
//! ...
//! ```
//! B/32 atomics per block, where the road before has B.
//!
//! On a GPU from sm_80 on it takes the same time: there the assembler does the same for the road before. It does not do so for older
//! GPUs, nor for anything but additions to a single word.
//!
//! ## Break it
//! Put the shuffles under the test `index < n`. In the last warp, lanes without an element then skip them:
//! ```console
//! $ warpfold try warp_aggregated_atomic --check -n 1000 --block 64
//! ...
//! synccheck: shuffle from an absent lane in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Andrew Adinets, *CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics* (NVIDIA, 2014).

use core::sync::atomic::{AtomicI32, Ordering};

use crate::ladder::l09_shuffle::warp_sum;
use crate::prelude::*;

/// Adds the `n` elements of `input` to `total`, one atomic per warp.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `total` to one value that others change by atomics at most.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn warp_aggregated_atomic(input: *const i32, total: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let index = block_idx_x() as usize * block_dim_x() as usize + tid as usize;
    // SAFETY: the index is below n where the element is read; whole warps make the call; the total is valid.
    unsafe {
        let value = if index < n { *input.add(index) } else { 0 };
        let sum = warp_sum(value);
        if tid % WARP_SIZE == 0 {
            AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
        }
    }
}
