//! # Step 2 · Whole warps retire
//!
//! ## Before
//! In step 1 the threads that add are scattered over the block: threads 0, 2, 4 …, then 0, 4, 8 …. The 32 threads of a warp
//! share one instruction stream, so a warp with a single working lane takes as long as a full one. While every warp has a
//! working lane, no warp finishes early.
//!
//! ## Idea
//! The same sums by other threads: thread `tid` works on element `2 * stride * tid`, so the threads at work are always the
//! first of the block. In the first step the first half of the warps works with all lanes, and the second half has nothing
//! to do. The slow remainder is gone as well.
//!
//! ## Picture
//! A tile of 8 elements; in each step equal letters add up, into the left one. Only the threads differ from step 1.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! stride 1   a   a   b   b   c   c   d   d     threads 0 1 2 3
//! stride 2   a       a       b       b         threads 0 1
//! stride 4   a               a                 thread  0
//! ```
//!
//! ## Cost
//! For one block over a whole tile, as in step 1: log₂ B barriers, 2B − 1 loads, B stores. But a warp diverges only in the
//! last five steps, when fewer than 32 threads have work left.
//!
//! ## Observe
//! In the PTX: one comparison per step, where step 1 has a remainder and two comparisons.
//!
//! **Predict.** Compared with step 1, which of these three rise, and which fall: the instructions of a warp, the
//! branch efficiency, the sectors of a request?
//! ```console
//! $ warpfold profile neighbored neighbored_less -n 2^16 \
//!       --metrics inst_per_warp,branch_efficiency,global_load_sectors_per_request
//! ...
//! metric                           neighbored  neighbored_less
//! ...
//! inst_per_warp                        175.88           124.62
//! branch_efficiency                   70.00 %          98.12 %
//! global_load_sectors_per_request        2.68            12.46
//! ...
//! $ warpfold profile neighbored_less -n 2^16 --block 256 --by step --metrics inst_per_warp
//! ...
//! step  blocks  active warps           active threads
//! ...
//!    1     256        4 of 8  50.00 %      128 of 256  50.00 %
//!    2     256        2 of 8  25.00 %       64 of 256  25.00 %
//!    3     256        1 of 8  12.50 %       32 of 256  12.50 %
//!    4     256        1 of 8  12.50 %       16 of 256   6.25 %
//! ...
//! ```
//! Far fewer instructions and a branch efficiency near 100 %, since whole warps have nothing left to do. But a
//! request takes more sectors: it comes from more lanes, whose elements are `2 * stride` words apart.
//!
//! For the same PTX an H200 executes 309.12 and 127.31 machine instructions per warp, because each division takes 17. For an older
//! compiler and GPU, 295.56 and 115.31 were published.
//!
//! ## Break it
//! Move `sync_threads()` into the `if`. Threads without work then miss the barrier, and the others wait for them:
//! ```console
//! $ warpfold try neighbored_less --check -n 1000 --block 64
//! ...
//! synccheck: barrier never completed in kernel ...
//! ...
//! ```
//! A GPU hangs, or gives a wrong sum.
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 2; Cheng, Grossman, McKercher, *Professional
//! CUDA C Programming* (2014), chapter 3, `reduceNeighboredLess`, whose threads without an element return before the barriers; here all
//! threads stay.

use crate::prelude::*;

/// Writes the sum of each block's B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn neighbored_less(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    let mut stride = 1;
    while stride < block {
        // One test says both that this thread works and that its second element exists.
        let index = 2 * stride * tid;
        if index + stride < count {
            // SAFETY: both elements are in the tile, and in this step no other thread touches them.
            unsafe {
                let mine = tile.add(index as usize);
                let partner = tile.add((index + stride) as usize);
                *mine = (*mine).wrapping_add(*partner);
            }
        }
        sync_threads();
        stride *= 2;
    }

    if tid == 0 {
        // SAFETY: there is one partial per block, and the tile has a first element.
        unsafe { *partials.add(block_idx_x() as usize) = *tile };
    }
}
