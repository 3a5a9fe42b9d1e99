//! # Step 5b · The last warp in step
//!
//! ## Before
//! Step 5 trusts that the 32 lanes of a warp run in lockstep. Since Volta (2017) each lane has a program counter of its
//! own, and the hardware may let some lanes run ahead. A lane can then read an element before its neighbour has written it,
//! or after the neighbour has written it twice.
//!
//! ## Idea
//! Use a barrier for the warp alone, `bar.warp.sync`. It waits for 32 lanes instead of B threads, costs almost nothing, and
//! makes what each lane wrote visible to the others, so no access has to be volatile any longer. Every step has two: one
//! between writing and reading, and one between reading and the next write.
//!
//! Meanwhile each lane keeps its own sum in a register: no lane reads its own element back.
//!
//! ## Picture
//! The last 64 sums, by 32 lanes.
//! ```text
//! sum = element[lane] + element[lane + 32]
//! stride 16   element[lane] = sum   ┊   sum += element[lane + 16]   ┊
//! stride  8   element[lane] = sum   ┊   sum += element[lane + 8]    ┊      ┊ is a warp barrier
//!   …
//! stride  1   element[lane] = sum   ┊   sum += element[lane + 1]    ┊      lane 0 has the sum of all
//! ```
//!
//! ## Cost
//! For one block over a whole tile: log₂ B − 5 barriers and, in one warp, 10 warp barriers. The last six steps are 224
//! loads and 160 stores, where step 5 has 384 and 192: 8B + 2(B − 64) + 224 loads, 2B + 97 stores.
//!
//! ## Observe
//! In the PTX: `bar.warp.sync -1` between plain `st.global.b32` and `ld.global.b32`.
//!
//! **Predict.** `check` runs blocks of 64 to 1024 threads, each in 200 orders. For which of them do lanes race, or
//! leave another sum?
//! ```console
//! $ warpfold check unroll_warps8_sync --schedules 200
//! ...
//! memcheck, initcheck, racecheck, synccheck; 200 schedules, seeds 0 to 199
//! ...
//! blocks    25 of   64 threads: clean
//! blocks    13 of  128 threads: clean
//! blocks     7 of  256 threads: clean
//! blocks     4 of  512 threads: clean
//! blocks     2 of 1024 threads: clean
//! ```
//! No order of execution changes the sum.
//!
//! ## Break it
//! Remove the second of the two barriers in `sum_of_64`. Lane 0 then reads element 16 in one step and lane 16 writes it in the next, with
//! nothing to order the two:
//! ```console
//! $ warpfold try unroll_warps8_sync --check -n 2^12 --block 64
//! ...
//! racecheck: write after read at global address 0x7f0000000040 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Yuan Lin, Vinod Grover, *Using CUDA Warp-Level Primitives* (NVIDIA, 2018).

use crate::ladder::l03_interleaved::tree_step;
use crate::ladder::l04_unroll::{store_sum, sum_of_eight};
use crate::prelude::*;

/// Writes the sum of each block's 8·B elements to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn unroll_warps8_sync(input: *mut i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let tile_length = 8 * block;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n; the tile has `count` elements and then begins with `sums`
    // sums; every thread of the block makes the same calls, except the first warp's own, which its 32 lanes make.
    unsafe {
        let tile = input.add(start);
        let sum = sum_of_eight(tile, count, block);
        let sums = store_sum(tile, count, block, sum);

        let mut stride = block / 2;
        while stride > 32 {
            tree_step(tile, sums, stride);
            stride /= 2;
        }

        if sums < 64 {
            // Too few sums for a full warp: the tree of step 3 to the end.
            while stride > 0 {
                tree_step(tile, sums, stride);
                stride /= 2;
            }
            if tid == 0 {
                *partials.add(block_idx_x() as usize) = *tile;
            }
        } else if tid < 32 {
            let sum = sum_of_64(tile);
            if tid == 0 {
                *partials.add(block_idx_x() as usize) = sum;
            }
        }
    }
}

/// The sum of 64 elements by the first warp of the block, in lane 0; overwrites the first 32.
///
/// # Safety
/// `elements` points to 64 values that only this warp touches, and all its 32 lanes make the call.
#[inline(always)]
pub unsafe fn sum_of_64(elements: *mut i32) -> i32 {
    let lane = thread_idx_x();
    // SAFETY: the lane is below 32 and each stride at most 32, so that every element is among the 64; between one lane's
    // write of an element and another's read of it there is a barrier, both ways.
    unsafe {
        let mine = elements.add(lane as usize);
        let mut sum = (*mine).wrapping_add(*mine.add(32));
        let mut stride = 16;
        while stride > 0 {
            *mine = sum;
            sync_warp();
            sum = sum.wrapping_add(*mine.add(stride));
            sync_warp();
            stride /= 2;
        }
        sum
    }
}
