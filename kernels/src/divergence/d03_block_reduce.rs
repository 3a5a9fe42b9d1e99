//! # Divergence 3 · Two trees, and as many elements as there are
//!
//! ## Before
//! The pages before this one look at a branch by itself. Its real cost shows in a kernel that spends its time there.
//!
//! ## Idea
//! The sum of each block, in place in global memory, by the two trees of the ladder's steps 1 and 3. All else is equal: both
//! take the same number of additions, accesses and barriers. In the first tree the threads at work are scattered (`tid` a
//! multiple of twice the stride), so for five steps every warp takes the branch with a part of its lanes. In the second they
//! are neighbours (`tid` below the stride), so whole warps take it or skip it.
//!
//! Both take any length that fits into memory: the length, and where a tile begins, are 64-bit numbers. Within a tile 32 bits are
//! enough. The same goes for the sums: those of tiles have 32 bits, as their elements have, and the host adds them up in 64. So 3·2³⁰
//! ones, 12 GiB, make 3,221,225,472, where 32 bits would have wrapped around.
//!
//! ## Picture
//! A tile of 8 elements, and the threads that work:
//! ```text
//!             block_reduce_1               block_reduce_2
//! step 1      0 · 2 · 4 · 6 ·              0 1 2 3 · · · ·
//! step 2      0 · · · 4 · · ·              0 1 · · · · · ·
//! step 3      0 · · · · · · ·              0 · · · · · · ·
//! ```
//!
//! ## Cost
//! For one block over a whole tile, in either: B − 1 additions in log₂ B steps, each two loads and one store, and one more of
//! each for the partial sum: 2B − 1 loads, B stores, log₂ B barriers.
//!
//! ## Observe
//! **Predict.** Both trees make the same accesses, of 785,920 bytes. Which of them touches more sectors, and which
//! has the better branch efficiency?
//! ```console
//! $ warpfold profile block_reduce_1 block_reduce_2 -n 2^16 --block 512 \
//!       --metrics branch_efficiency,assembled_branch_efficiency,global_sectors,global_bytes
//! ...
//! metric                       block_reduce_1  block_reduce_2
//! ...
//! branch_efficiency                   70.00 %         98.12 %
//! assembled_branch_efficiency         68.75 %         98.36 %
//! global_sectors                       98,176          25,600
//! global_bytes                        785,920         785,920
//! ...
//! ```
//! The branch efficiency tells the two apart, in the PTX and as a GPU's assembler leaves the branches. So do the
//! sectors for the same bytes, because the lanes at work are further apart in each step of the first.
//!
//! On an H200 the first takes a quarter longer for 2²² elements (31.6 µs against 25.2 µs) and a fifth longer for 2²⁶ (0.488 ms against
//! 0.401 ms). In the PTX: `mul.wide.u32`, which makes a 64-bit product of the number of the block and its size.
//!
//! The sum of 0, 1, 2 … 2²⁰ − 1 has 39 bits, that of any tile 29 at most:
//! ```console
//! $ warpfold run block_reduce_1 -n 2^20 --data iota
//! ...
//! sum                           549755289600
//! sum on the CPU                549755289600
//! ...
//! ```
//!
//! ## Break it
//! Remove the barrier of `block_reduce_1`. Warps then read sums of the step before that others have not written yet:
//! ```console
//! $ warpfold try block_reduce_1 --check -n 1000 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000000008 (4 bytes) in kernel ...
//! ...
//! ```
//! And multiply in 32 bits: `(block_idx_x() * block_dim_x()) as usize`. Every test still passes, up to 2³² elements. Beyond that, the first
//! elements are added twice and the others not at all.
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernels 1 and 3, in place in global memory as in John Cheng, Max
//! Grossman, Ty McKercher, *Professional CUDA C Programming* (2014), chapter 3. Texts that return early from threads without
//! an element (`if (idx >= n) return;`) do so before a barrier, which the rest of the block then waits at; here such threads stay.

use crate::ladder::l03_interleaved::tree_step;
use crate::prelude::*;

/// Writes the sum of each block's B elements to `partials`, by the tree whose stride doubles; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn block_reduce_1(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();
    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    let mut stride = 1;
    while stride < block {
        // Whether `tid` is a multiple of twice the stride, a power of two.
        if (tid & (2 * stride - 1) == 0) & (tid + stride < count) {
            // SAFETY: both elements are in the tile, and in this step no other thread touches them.
            unsafe {
                let mine = tile.add(tid as usize);
                let partner = tile.add((tid + stride) as usize);
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

/// Writes the sum of each block's B elements to `partials`, by the tree whose stride halves; overwrites `input`.
///
/// # Safety
/// As for [`block_reduce_1`].
#[kernel]
pub unsafe fn block_reduce_2(input: *mut i32, partials: *mut i32, n: usize) {
    let block = block_dim_x();
    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    let mut stride = block / 2;
    while stride > 0 {
        // SAFETY: the tile has `count` elements, and the stride is the same in every thread.
        unsafe { tree_step(tile, count, stride) };
        stride /= 2;
    }

    if thread_idx_x() == 0 {
        // SAFETY: there is one partial per block, and the tile has a first element.
        unsafe { *partials.add(block_idx_x() as usize) = *tile };
    }
}
