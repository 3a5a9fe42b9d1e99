//! # Other roads 4 · One block, a pair of elements a thread
//!
//! ## Before
//! The ladder gives B threads a tile of B elements, and in the first step of its tree half of them are idle. Many books
//! start from the other side: one block, and twice as many elements as threads.
//!
//! ## Idea
//! Thread `tid` owns element `2·tid` and in the first step adds its right neighbour, so all threads work. Then the stride
//! doubles, and the threads whose number is a multiple of it go on. The elements of a thread are *blocked*: one contiguous
//! piece of the input. The next road changes that.
//!
//! ## Picture
//! 8 elements, 4 threads; in each step equal letters add up, into the left one.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! stride 1   a   a   b   b   c   c   d   d     threads 0 1 2 3
//! stride 2   a       a       b       b         threads 0 2
//! stride 4   a               a                 thread  0
//! ```
//!
//! ## Cost
//! Over 2B elements: log₂ B + 1 barriers; 2B − 1 additions, each two loads and one store, and one more of each for the
//! total: 4B − 1 loads, 2B stores.
//!
//! ## Observe
//! **Predict.** In the first step all threads work, where half of them do in step 1 of the ladder. Is the branch
//! efficiency much better than the 70 % of that step?
//! ```console
//! $ warpfold profile blocked -n 1024 --metrics warps_launched,branch_efficiency
//! ...
//! warps_launched            16
//! branch_efficiency    71.43 %
//! ...
//! $ warpfold profile neighbored -n 1024 --metrics branch_efficiency
//! ...
//! branch_efficiency     70.00 %
//! ...
//! ```
//! Hardly better, for the same reason: from the second step on, the threads at work are scattered over all warps. And
//! these 16 warps are one block, however many the GPU could hold.
//!
//! ## Break it
//! Let the loop go on only while `stride < block_dim_x()`. For n up to B the sum is still right, and beyond that half of the elements are
//! missing:
//! ```console
//! $ warpfold try blocked -n 100 --block 64
//! ...
//! sum                           -337856629
//! sum on the CPU                 964725955
//! ...
//! ```
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, the simple sum
//! reduction kernel.

use crate::prelude::*;

/// Writes the sum of up to 2·B elements to `total`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values, at least 1 and at most 2·B, and `total` to one; they don't overlap, and nothing else
///   touches them.
/// - The launch is one block of a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn blocked(input: *mut i32, total: *mut i32, n: usize) {
    // SAFETY: the caller's promise; every thread of the block makes the call.
    unsafe {
        blocked_tree(input, n as u32);
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
pub unsafe fn blocked_tree(segment: *mut i32, count: u32) {
    let tid = thread_idx_x();
    let mut stride = 1;
    while stride <= block_dim_x() {
        if (tid % stride == 0) & (2 * tid + stride < count) {
            // SAFETY: both elements are among the `count`, and in this step no other thread touches them.
            unsafe {
                let mine = segment.add(2 * tid as usize);
                let partner = mine.add(stride as usize);
                *mine = (*mine).wrapping_add(*partner);
            }
        }
        sync_threads();
        stride *= 2;
    }
}
