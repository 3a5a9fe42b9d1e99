//! # Other roads 5 · One block, neighbours read neighbours
//!
//! ## Before
//! On the road before, whole warps stay busy for single lanes, and those touch words that are far apart.
//!
//! ## Idea
//! As in the ladder's step 3, but one step earlier: the stride begins at B, where thread `tid` adds element `tid + B` to
//! element `tid`, and halves. The elements of a thread are a *stride* apart. The threads at work stay neighbours, and so do
//! the words that they touch.
//!
//! ## Picture
//! 8 elements, 4 threads; in each step equal letters add up, into the left one.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! stride 4   a   b   c   d   a   b   c   d     threads 0 1 2 3
//! stride 2   a   b   a   b                     threads 0 1
//! stride 1   a   a                             thread  0
//! ```
//!
//! ## Cost
//! Over 2B elements, as on the road before: log₂ B + 1 barriers, 4B − 1 loads, 2B stores.
//!
//! ## Observe
//! **Predict.** Which of these four are the same for both trees: branch efficiency, load requests, sectors, bytes?
//! ```console
//! $ warpfold profile blocked strided -n 1024 \
//!       --metrics branch_efficiency,global_load_requests,global_sectors,global_bytes
//! ...
//! metric                  blocked    strided
//! ...
//! branch_efficiency       71.43 %    98.21 %
//! global_load_requests        223         73
//! global_sectors            1,535        392
//! global_bytes             12,284     12,284
//! ...
//! ```
//! The bytes are the same, in a third of the requests and a quarter of the sectors. Only the last five steps, within
//! one warp, cost branch efficiency.
//!
//! ## Break it
//! Begin with stride B/2, as step 3 does: from n = B + 1 on, elements are left out.
//! ```console
//! $ warpfold try strided -n 100 --block 64
//! ...
//! sum                           -337856629
//! sum on the CPU                 964725955
//! ...
//! ```
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, the convergent sum
//! reduction kernel.

use crate::ladder::l03_interleaved::tree_step;
use crate::prelude::*;

/// Writes the sum of up to 2·B elements to `total`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values, at least 1 and at most 2·B, and `total` to one; they don't overlap, and nothing else
///   touches them.
/// - The launch is one block of a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn strided(input: *mut i32, total: *mut i32, n: usize) {
    // SAFETY: the caller's promise; every thread of the block makes the call.
    unsafe {
        strided_tree(input, n as u32);
        if thread_idx_x() == 0 {
            *total = *input;
        }
    }
}

/// Adds up the segment into its first element, and ends with a barrier.
///
/// # Safety
/// `segment` points to `count` elements, at most two per thread, that only this block touches, and every thread of the block
/// makes the call with the same values.
#[inline(always)]
pub unsafe fn strided_tree(segment: *mut i32, count: u32) {
    let mut stride = block_dim_x();
    while stride > 0 {
        // SAFETY: the caller's promise; the stride is the same in every thread.
        unsafe { tree_step(segment, count, stride) };
        stride /= 2;
    }
}
