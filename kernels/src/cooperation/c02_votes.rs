//! # Cooperation 2 · Votes
//!
//! ## Before
//! A reducing barrier stops the whole block for one bit. A warp can have such an answer on its own.
//!
//! ## Idea
//! A *vote* takes a predicate from each lane, here whether its element is positive, and gives every lane the answer:
//! whether it holds for all (`vote_all`), for any (`vote_any`), or in which lanes it holds, one bit each (`ballot`). The
//! first two follow from the third, which is also the one to build on: the number of set bits says how many lanes agree,
//! and the number of set bits below a lane's own says its place among them.
//!
//! The *mask* says who votes. Each lane in it has to come to the vote with the same mask, and nobody waits for any other
//! lane. If n ends within a warp, the lanes that have an element vote, and each of them can compute from n which lanes
//! these are.
//!
//! ## Picture
//! A warp of 8 lanes over 6 elements:
//! ```text
//! lane       0   1   2   3   4   5   6   7
//! element    3  -1   4   1  -5   9               mask   00111111
//! positive   1   0   1   1   0   1               ballot 00101101, lane 0 at the right end
//! ```
//!
//! ## Cost
//! One instruction for a warp; no memory accesses besides one load and one store for each element.
//!
//! ## Observe
//! In the PTX: `vote.sync.all.pred`, `vote.sync.any.pred`, `vote.sync.ballot.b32`, each with the mask as its last operand.
//!
//! **Predict.** Does one of the three need fewer instructions than the other two, and how many barriers does each
//! need?
//! ```console
//! $ warpfold profile vote_all vote_any ballot -n 2^16 --metrics warp_instructions,barriers
//! ...
//! metric              vote_all   vote_any     ballot
//! ...
//! warp_instructions     61,440     61,440     59,392
//! barriers                   0          0          0
//! ...
//! ```
//!
//! ## Break it
//! Vote with `u32::MAX` in `ballot`, in the branch that only the lanes with an element take. Nothing is found, though in the last warp some
//! lanes of the mask never vote:
//! ```console
//! $ warpfold try ballot --check -n 1000 --block 64
//! ...
//! blocks    16 of   64 threads: clean
//! ```
//! A vote waits for the lanes of its mask that have not exited, and these exit at once. If they went on to a barrier instead, they would
//! wait for the lanes that vote, and the vote for them.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on warp vote functions: `__all_sync`, `__any_sync`, `__ballot_sync`.

use crate::prelude::{self, *};

/// The lanes of this warp that have an element, for a thread that has one.
#[inline(always)]
pub fn lanes_below(n: usize) -> u32 {
    let index = global_index();
    let warp_start = index / WARP_SIZE as usize * WARP_SIZE as usize;
    let lanes = (n - warp_start).min(WARP_SIZE as usize) as u32;
    u32::MAX >> (WARP_SIZE - lanes)
}

/// Writes for each element 1 if all elements of its warp are positive, else 0.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `answers` to `n` that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn vote_all(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n and this thread's alone; all lanes with an element, and no others, are here.
        unsafe {
            let is_positive = *values.add(index) > 0;
            *answers.add(index) = prelude::vote_all(lanes_below(n), is_positive).into();
        }
    }
}

/// Writes for each element 1 if any element of its warp is positive, else 0.
///
/// # Safety
/// As for [`vote_all`].
#[kernel]
pub unsafe fn vote_any(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: as above.
        unsafe {
            let is_positive = *values.add(index) > 0;
            *answers.add(index) = prelude::vote_any(lanes_below(n), is_positive).into();
        }
    }
}

/// Writes for each element which elements of its warp are positive, one bit each, the first one the lowest.
///
/// # Safety
/// As for [`vote_all`].
#[kernel]
pub unsafe fn ballot(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: as above.
        unsafe {
            let is_positive = *values.add(index) > 0;
            *answers.add(index) = prelude::ballot(lanes_below(n), is_positive);
        }
    }
}
