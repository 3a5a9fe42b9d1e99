//! # Operators and types 3 · Step 8 for every operator and type
//!
//! ## Before
//! On the page before, the tree is in global memory and leaves missing elements out.
//!
//! ## Idea
//! [Step 8](crate::ladder::l08_complete_unroll_shared) with its operator taken out. Here the identity is needed: each
//! thread first reduces up to eight elements, a thread without any stores the identity in shared memory, and the tree needs
//! no test of n. The block size stays a const generic beside the operator and the type: 120 kernels from one body.
//!
//! ## Picture
//! ```text
//! global   input:   8·B elements     each thread reduces 8; a missing one is the identity
//!                        │
//! shared   results: B values         log₂ B steps: 512 … 64 by the block, 32 … 1 by the first warp
//!                        │
//! global   partials[block]           one store
//! ```
//!
//! ## Cost
//! That of step 8, to the instruction, for the sum of `i32`. Shared memory is B values: 8B bytes for the 8-byte types, and
//! 8-byte accesses of a warp take two wavefronts where 4-byte ones take one.
//!
//! ## Observe
//! In the PTX: the kernel of `min_f64` has `.shared .align 16 .b8 results[4096]`.
//!
//! **Predict.** Step 8 executes 14,752 instructions here, with 1,120 wavefronts of shared memory. Which of the two
//! numbers change for the generic sum of `i32`, and which for the minimum of `f64`?
//! ```console
//! $ warpfold profile complete_unroll_shared complete_unroll_shared_sum_i32 complete_unroll_shared_min_f64 -n 2^16 \
//!       --metrics warp_instructions,shared_wavefronts
//! ...
//! metric             complete_unroll_shared_512  complete_unroll_shared_sum_i32_512  complete_unroll_shared_min_f64_512
//! ...
//! warp_instructions                      14,752                              14,752                              29,536
//! shared_wavefronts                       1,120                               1,120                               2,240
//! ...
//! ```
//! In the PTX `complete_unroll_shared_sum_i32_512` is `complete_unroll_shared_512` except for names.
//!
//! ## Break it
//! Leave out the barrier before the first step. Warps then read what others have not written yet:
//! ```console
//! $ warpfold try complete_unroll_shared_product_i32 --check -n 2^12 --block 256
//! ...
//! blocks     2 of  256 threads: 2 findings
//! ...
//! initcheck: read of uninitialised memory at shared address 0x200 (4 bytes) in kernel ...
//! ...
//! racecheck: write after read at shared address 0x200 (4 bytes) in kernel ...
//! ...
//! ```
//! And let a thread without elements store 0 whatever the operator: the product of 100 values becomes 0, their minimum is never above 0, and their
//! sum is right.
//!
//! ## Source
//! As for step 8: Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), whose last kernels are templates over the
//! type as well.

use pastey::paste;

use crate::lists::{for_each_block_size, for_each_instance};
use crate::operators::o01_operators::*;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn complete_unroll_shared<O: Operator<T>, T: Value, const B: u32>(
    input: *const T,
    partials: *mut T,
    n: usize,
) {
    let tid = thread_idx_x();
    let results = shared_array!(results: [T; B]);

    let tile_length = 8 * B;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one element
    // per thread, each written before the first barrier; every thread of the block makes the same calls, except the first
    // warp's own, which its 32 lanes make.
    unsafe {
        let tile = input.add(start);
        *results.add(tid as usize) = reduce_eight::<O, T>(tile, count, B);
        sync_threads();

        if B >= 1024 {
            shared_step::<O, T>(results, 512);
        }
        if B >= 512 {
            shared_step::<O, T>(results, 256);
        }
        if B >= 256 {
            shared_step::<O, T>(results, 128);
        }
        if B >= 128 {
            shared_step::<O, T>(results, 64);
        }

        if tid < 32 {
            let result = reduce_64::<O, T>(results);
            if tid == 0 {
                *partials.add(block_idx_x() as usize) = result;
            }
        }
    }
}

/// The thread's eight elements, which are `block` apart, combined. In a tile that n cuts short there may be fewer; of none
/// the result is the identity.
///
/// # Safety
/// `tile` points to `count` elements, at most `8 * block`.
#[inline(always)]
pub unsafe fn reduce_eight<O: Operator<T>, T: Value>(tile: *const T, count: u32, block: u32) -> T {
    let tid = thread_idx_x();
    if count == 8 * block {
        // SAFETY: a whole tile has all eight elements.
        unsafe {
            let mine = tile.add(tid as usize);
            let a0 = *mine;
            let a1 = *mine.add(block as usize);
            let a2 = *mine.add(2 * block as usize);
            let a3 = *mine.add(3 * block as usize);
            let a4 = *mine.add(4 * block as usize);
            let a5 = *mine.add(5 * block as usize);
            let a6 = *mine.add(6 * block as usize);
            let a7 = *mine.add(7 * block as usize);
            let first = O::combine(O::combine(O::combine(a0, a1), a2), a3);
            let second = O::combine(O::combine(O::combine(a4, a5), a6), a7);
            O::combine(first, second)
        }
    } else {
        let mut result = O::IDENTITY;
        let mut index = tid;
        while index < count {
            // SAFETY: the index is below `count`.
            result = O::combine(result, unsafe { *tile.add(index as usize) });
            index += block;
        }
        result
    }
}

/// One step of the tree, without a test of n: thread `tid` below `stride` combines element `tid` with element `tid +
/// stride`; then a barrier.
///
/// # Safety
/// `results` points to `2 * stride` elements or more that only this block touches, and every thread of the block makes
/// the call, after a barrier, with the same values.
#[inline(always)]
unsafe fn shared_step<O: Operator<T>, T: Value>(results: *mut T, stride: u32) {
    let tid = thread_idx_x();
    if tid < stride {
        // SAFETY: both elements are below `2 * stride`, and in this step no other thread touches them.
        unsafe {
            let mine = results.add(tid as usize);
            let partner = results.add((tid + stride) as usize);
            *mine = O::combine(*mine, *partner);
        }
    }
    sync_threads();
}

/// Combines 64 elements by the first warp of the block; the result is in lane 0. Overwrites the first 32.
///
/// # Safety
/// `elements` points to 64 values that only this warp touches, and all its 32 lanes make the call.
#[inline(always)]
unsafe fn reduce_64<O: Operator<T>, T: Value>(elements: *mut T) -> T {
    let lane = thread_idx_x();
    // SAFETY: the lane is below 32 and each stride at most 32, so that every element is among the 64; between one lane's
    // write of an element and another's read of it there is a barrier, both ways.
    unsafe {
        let mine = elements.add(lane as usize);
        let mut result = O::combine(*mine, *mine.add(32));
        let mut stride = 16;
        while stride > 0 {
            *mine = result;
            sync_warp();
            result = O::combine(result, *mine.add(stride));
            sync_warp();
            stride /= 2;
        }
        result
    }
}

macro_rules! entries {
    ($operator:ident $name:ident $value:ident) => {
        for_each_block_size! { entries, $operator $name $value; }
    };
    ($operator:ident $name:ident $value:ident; $($block:literal)*) => { paste! {$(
        #[doc = concat!("Writes the [`", stringify!($operator), "`] of each block's 8·", $block, " elements to `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
        #[doc = concat!("- The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn [<complete_unroll_shared_ $name _ $value _ $block>](input: *const $value, partials: *mut $value, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { complete_unroll_shared::<$operator, $value, $block>(input, partials, n) }
        }
    )*}};
}

for_each_instance!(entries);
