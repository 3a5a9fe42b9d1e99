//! # Step 1 · Neighbours add up
//!
//! ## Before
//! One thread on the CPU adds n elements one after another, and each addition waits for the one before.
//!
//! ## Idea
//! Additions need no order, so arrange them as a tree. In the first step every even element takes its right neighbour, in
//! the next every fourth element takes the one 2 further on, and so on. A tile of B elements takes log₂ B steps. All
//! additions of a step run at once, one per thread. The tree grows in place: it overwrites the input. A barrier ends each
//! step, because the next step reads what other threads have just written.
//!
//! ## Picture
//! A tile of 8 elements; in each step equal letters add up, into the left one.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! stride 1   a   a   b   b   c   c   d   d     threads 0 2 4 6
//! stride 2   a       a       b       b         threads 0 4
//! stride 4   a               a                 thread  0
//! ```
//!
//! ## Cost
//! For one block over a whole tile: log₂ B barriers; B − 1 additions, each two loads and one store, and one more of each
//! for the partial sum: 2B − 1 loads, B stores. Half of the threads do nothing in the first step, three quarters in the
//! second, and so on. The threads at work are scattered: while the stride is below 32, every warp of the block has some.
//!
//! ## Observe
//! In the PTX: a division in every step of the loop.
//! ```console
//! $ warpfold ptx neighbored
//! ...
//! rem.u32 ...
//! ...
//! ```
//! **Predict.** A block of 256 threads has 8 warps. In how many of them is a thread at work in step 1, and in step 5?
//! Which is the first step in which a warp has nothing to do?
//! ```console
//! $ warpfold profile neighbored -n 2^16 --block 256 --by step --metrics branch_efficiency
//! ...
//! branch_efficiency     66.67 %
//! ...
//! step  blocks  active warps            active threads
//! ...
//!    1     256        8 of 8  100.00 %      128 of 256  50.00 %
//!    2     256        8 of 8  100.00 %       64 of 256  25.00 %
//!    3     256        8 of 8  100.00 %       32 of 256  12.50 %
//!    4     256        8 of 8  100.00 %       16 of 256   6.25 %
//!    5     256        8 of 8  100.00 %        8 of 256   3.12 %
//!    6     256        4 of 8   50.00 %        4 of 256   1.56 %
//!    7     256        2 of 8   25.00 %        2 of 256   0.78 %
//!    8     256        1 of 8   12.50 %        1 of 256   0.39 %
//! ...
//! ```
//! In each of the first five steps every warp takes both sides of the branch, with fewer and fewer of its threads. It
//! is the lowest branch efficiency of the ladder.
//!
//! ## Break it
//! Write `tid % (2 * stride)` for `remainder(tid, 2 * stride)`. The compiler can prove that the stride is a power of two, and turns the division
//! into an `and`, so that a GPU's most expensive arithmetic costs no more than an addition:
//! ```console
//! $ warpfold try neighbored --profile -n 2^16 --metrics warp_instructions,barriers
//! ...
//! warp_instructions     378,624
//! ...
//! ```
//! The PTX has more instructions than before, because a division is one instruction there and 17 in the machine code. This lesson asks for
//! the division by name, because its price is part of the lesson.
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 1; John Cheng, Max Grossman, Ty McKercher,
//! *Professional CUDA C Programming* (2014), chapter 3, `reduceNeighbored`. The book's threads without an element return
//! before the barriers at which the rest of their block waits; here all threads stay.

use cuda_std::gpu_only;

use crate::prelude::*;

/// Writes the sum of each block's B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn neighbored(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    // The tile, and how many elements it has: B, or fewer if n cuts it short.
    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    let mut stride = 1;
    while stride < block {
        // `&` and not `&&`: testing both is cheaper than branching twice.
        if (remainder(tid, 2 * stride) == 0) & (tid + stride < count) {
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

/// `a % b` for a `b` that is not 0, by the one instruction that computes it.
#[gpu_only]
#[inline(always)]
fn remainder(a: u32, b: u32) -> u32 {
    let remainder: u32;
    // SAFETY: one arithmetic instruction on registers.
    unsafe {
        core::arch::asm!(
            "rem.u32 {remainder}, {a}, {b};",
            a = in(reg32) a,
            b = in(reg32) b,
            remainder = out(reg32) remainder,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    remainder
}
