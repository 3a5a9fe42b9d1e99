//! # Other roads 12 · Down or across
//!
//! ## Before
//! Step 9 adds up a warp by shuffles *down*. At the end lane 0 has the sum, and what the other lanes have is meaningless.
//! Any other thread that needs the sum has to get it through memory and a barrier.
//!
//! ## Idea
//! Let each lane add what its partner holds, and the partner what this lane holds: lanes whose numbers differ in one bit
//! exchange values (a *butterfly*). After five such shuffles every lane has the sum of all 32, for the same price. This
//! page has both kernels. In the first, thread 0 gets the sum of the block. In the second every thread gets it, since every
//! warp can add up the sums of the warps by itself, and the last thread of the block stores the partial.
//!
//! ## Picture
//! A warp of 8 lanes, and what each lane has the sum of:
//! ```text
//! lane       0      1      2      3      4      5      6      7
//! down 4     0 4    1 5    2 6    3 7    ·      ·      ·      ·        · nobody reads this
//! down 2     0246   1357   ·      ·      ·      ·      ·      ·
//! down 1     all    ·      ·      ·      ·      ·      ·      ·
//!
//! xor 4      0 4    1 5    2 6    3 7    0 4    1 5    2 6    3 7
//! xor 2      0246   1357   0246   1357   0246   1357   0246   1357
//! xor 1      all    all    all    all    all    all    all    all
//! ```
//!
//! ## Cost
//! For one block over a whole tile of B elements: B global loads, one global store; B/32 shared stores; 1 barrier; 128 bytes
//! of shared memory. Down: 5 shuffles in each warp and 5 more in the first, B/32 shared loads. Across: 10 shuffles in each
//! warp, and (B/32)² shared loads.
//!
//! ## Observe
//! In the PTX: `shfl.sync.down.b32` against `shfl.sync.bfly.b32`, ten in either.
//!
//! **Predict.** `warp_shuffle_down` sends 2,176 requests to shared memory: in each of 128 blocks 16 warps store, and
//! the first loads. How many does `warp_shuffle_xor` send?
//! ```console
//! $ warpfold profile warp_shuffle_down warp_shuffle_xor -n 2^16 --metrics warp_instructions,shared_requests
//! ...
//! metric             warp_shuffle_down  warp_shuffle_xor
//! ...
//! warp_instructions             91,008           119,552
//! shared_requests                2,176             4,096
//! ...
//! ```
//! On a GPU both take the same time, because the second does its additional work in parallel.
//!
//! ## Break it
//! Let the last lane store in `warp_shuffle_down`, as the last thread does in the other kernel. The value of that lane means nothing:
//! ```console
//! $ warpfold try warp_shuffle_down -n 1000 --block 64
//! ...
//! sum                                     0
//! sum on the CPU                -1804912496
//! ...
//! ```
//!
//! ## Source
//! NVIDIA, *CUDA C++ Programming Guide*, warp shuffle functions, with its examples of a reduction across a warp.

use crate::ladder::l09_shuffle::warp_sum;
use crate::prelude::*;

/// Writes the sum of each block's B elements to `partials`; thread 0 has it.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
#[kernel]
pub unsafe fn warp_shuffle_down(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let warp_sums = shared_array!(warp_sums: [i32; WARP_SIZE]);
    // SAFETY: whole warps add up; there is one element per warp, each written before the barrier; there is one partial per
    // block.
    unsafe {
        let sum = warp_sum(value_of_thread(input, n));
        if tid % WARP_SIZE == 0 {
            *warp_sums.add((tid / WARP_SIZE) as usize) = sum;
        }
        sync_threads();
        if tid < WARP_SIZE {
            let sum = warp_sum(sum_of_warp(warp_sums));
            if tid == 0 {
                *partials.add(block_idx_x() as usize) = sum;
            }
        }
    }
}

/// Writes the sum of each block's B elements to `partials`; every thread has it, and the last one stores it.
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[kernel]
pub unsafe fn warp_shuffle_xor(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let warp_sums = shared_array!(warp_sums: [i32; WARP_SIZE]);
    // SAFETY: whole warps add up; there is one element per warp, each written before the barrier; there is one partial per
    // block.
    unsafe {
        let sum = warp_sum_in_every_lane(value_of_thread(input, n));
        if tid % WARP_SIZE == 0 {
            *warp_sums.add((tid / WARP_SIZE) as usize) = sum;
        }
        sync_threads();
        let sum = warp_sum_in_every_lane(sum_of_warp(warp_sums));
        if tid == block_dim_x() - 1 {
            *partials.add(block_idx_x() as usize) = sum;
        }
    }
}

/// The sum of the warp's 32 values, in every lane.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
pub unsafe fn warp_sum_in_every_lane(value: i32) -> i32 {
    let mut sum = value;
    let mut mask = WARP_SIZE / 2;
    while mask > 0 {
        // SAFETY: the caller's promise; `mask` is the same in every lane.
        sum = sum.wrapping_add(unsafe { shuffle_xor(sum, mask) });
        mask /= 2;
    }
    sum
}

/// The thread's element, or 0 if its index is not below n.
///
/// # Safety
/// `input` points to `n` values.
#[inline(always)]
unsafe fn value_of_thread(input: *const i32, n: usize) -> i32 {
    let index = block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize;
    if index < n {
        // SAFETY: the index is below n.
        unsafe { *input.add(index) }
    } else {
        0
    }
}

/// The sum of the warp whose number is this lane's, or 0 if the block has no such warp.
///
/// # Safety
/// `warp_sums` points to one value for each warp of the block.
#[inline(always)]
unsafe fn sum_of_warp(warp_sums: *const i32) -> i32 {
    let lane = thread_idx_x() % WARP_SIZE;
    if lane < block_dim_x() / WARP_SIZE {
        // SAFETY: the block has a warp of that number.
        unsafe { *warp_sums.add(lane as usize) }
    } else {
        0
    }
}
