//! # Cooperation 1 · Barriers that count
//!
//! ## Before
//! A barrier tells every thread that all others have come. What the others have found still has to go through shared
//! memory: a tree, or at least a word and another barrier.
//!
//! ## Idea
//! Let the barrier carry one bit. Every thread passes a predicate, here whether its element is positive, and learns from
//! the barrier for how many threads of the block it holds, or whether it holds for all, or for any.
//!
//! Every thread must come, also those past the end of the input, and what these pass must not change the answer: *false*
//! for `count` and `or`, *true* for `and`. It is the identity of the operator, as in every reduction.
//!
//! ## Picture
//! A block of 8 threads over 6 elements:
//! ```text
//! element          3  -1   4   1  -5   9
//! barrier_count    1   0   1   1   0   1   0   0     every thread gets 4
//! barrier_and      1   0   1   1   0   1   1   1     every thread gets false
//! barrier_or       1   0   1   1   0   1   0   0     every thread gets true
//! ```
//!
//! ## Cost
//! One barrier per block, and not a word of shared memory; one load and one store for each element.
//!
//! ## Observe
//! In the PTX: `bar.red.popc.u32`, `bar.red.and.pred` and `bar.red.or.pred`, where a plain barrier is `bar.sync`.
//!
//! **Predict.** 1000 elements take 16 blocks of 64 threads, 32 warps. How many barriers are counted, one for each
//! warp that comes to one, and what is the greatest answer that one can give?
//! ```console
//! $ warpfold run barrier_count -n 1000 --block 64
//! ...
//! fewest in a block                    0
//! most in a block                     64
//! ...
//! barriers                            32
//! ...
//! ```
//! All threads of a block have the same answer.
//!
//! ## Break it
//! Let the threads of `barrier_count` that have no element return before the barrier. The others wait for them:
//! ```console
//! $ warpfold try barrier_count --check -n 1000 --block 64
//! ...
//! synccheck: barrier never completed in kernel ...
//! ...
//! ```
//! On a GPU this may go well if whole warps are gone.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on synchronization functions: `__syncthreads_count`, `__syncthreads_and`, `__syncthreads_or`.

use crate::prelude::*;

/// Whether this thread has an element, and whether that is positive.
///
/// # Safety
/// `values` points to `n` values that nothing writes.
#[inline(always)]
unsafe fn element(values: *const i32, n: usize) -> (bool, bool) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n.
        (true, unsafe { *values.add(index) } > 0)
    } else {
        (false, false)
    }
}

/// Writes the block's answer to the place of the thread's element, if it has one.
///
/// # Safety
/// `answers` points to `n` values that nothing else touches.
#[inline(always)]
unsafe fn answer(answers: *mut u32, answer: u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, and is this thread's alone.
        unsafe { *answers.add(index) = answer };
    }
}

/// Writes for each element how many elements of its block are positive.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `counts` to `n` that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn barrier_count(values: *const i32, counts: *mut u32, n: usize) {
    // SAFETY: the caller's promise; every thread comes to the barrier.
    unsafe {
        let (_, is_positive) = element(values, n);
        answer(counts, sync_threads_count(is_positive), n);
    }
}

/// Writes for each element 1 if all elements of its block are positive, else 0.
///
/// # Safety
/// As for [`barrier_count`].
#[kernel]
pub unsafe fn barrier_and(values: *const i32, answers: *mut u32, n: usize) {
    // SAFETY: the caller's promise; every thread comes to the barrier.
    unsafe {
        let (exists, is_positive) = element(values, n);
        answer(answers, sync_threads_and(!exists | is_positive).into(), n);
    }
}

/// Writes for each element 1 if any element of its block is positive, else 0.
///
/// # Safety
/// As for [`barrier_count`].
#[kernel]
pub unsafe fn barrier_or(values: *const i32, answers: *mut u32, n: usize) {
    // SAFETY: the caller's promise; every thread comes to the barrier.
    unsafe {
        let (_, is_positive) = element(values, n);
        answer(answers, sync_threads_or(is_positive).into(), n);
    }
}
