//! # Cooperation 3 · Who holds what I hold?
//!
//! ## Before
//! A vote answers one question, the same for all lanes. To find out which lanes hold its own value, a lane would need a
//! vote for every possible value.
//!
//! ## Idea
//! A *match* compares the value of each lane with those of all others in the mask. `match_any` tells each lane which lanes,
//! itself among them, hold its value; `match_all` tells whether all do. With the first, lanes that are about to update the
//! same word of memory find each other, and one of them can do it for all.
//!
//! Each of the two is one instruction. That of `match_all` returns a word and a predicate; Rust cannot declare an intrinsic
//! that returns such a pair, so this is inline assembly, which may ignore the predicate. The word is enough: the mask if all
//! lanes hold the same value, else 0.
//!
//! ## Picture
//! ```text
//! lane        0         1         2         3         4
//! value       7         5         7         7         5
//! match_any   00001101  00010010  00001101  00001101  00010010
//! match_all   no
//! ```
//!
//! ## Cost
//! One instruction for a warp, but a slow one: the hardware goes through the different values one by one.
//!
//! ## Observe
//! In the PTX: `match.any.sync.b32` in one kernel and `match.all.sync.b32` in the other.
//! ```console
//! $ warpfold run match_any -n 1000 --block 64
//! ...
//! lanes in an answer, on average      15.89
//! ...
//! ```
//! **Predict.** For the same values, does `match_all` name more lanes on average than `match_any`, or fewer?
//! ```console
//! $ warpfold run match_all -n 1000 --block 64
//! ...
//! lanes in an answer, on average       4.10
//! answers without any                   872
//! ...
//! ```
//! One other value is enough, and no lane of the warp gets an answer.
//!
//! ## Break it
//! Match the lowest bit alone, `*values.add(index) & 1`: lanes with different values are then taken for equal, 16 of 32 on average:
//! ```console
//! $ warpfold try match_any -n 100 --block 64
//! ...
//! lanes in an answer, on average      16.00
//! ...
//! warpfold: `match_any` leaves 2565600975 in element 0 of `answers`, which should be 4801033
//! ```
//! And compare floats instead: a match compares bits, so 0.0 does not match −0.0, and a NaN matches itself.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on warp match functions: `__match_any_sync`, `__match_all_sync`.

use cuda_std::gpu_only;
use cuda_std::warp::warp_match_any;

use crate::cooperation::c02_votes::lanes_below;
use crate::prelude::*;

/// Writes for each element which elements of its warp are equal to it, one bit each, the first one the lowest.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `answers` to `n` that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn match_any(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n and this thread's alone; all lanes with an element, and no others, are here.
        unsafe { *answers.add(index) = warp_match_any(lanes_below(n), *values.add(index)) };
    }
}

/// Writes for each element the mask of its warp if all elements of the warp are equal, else 0.
///
/// # Safety
/// As for [`match_any`].
#[kernel]
pub unsafe fn match_all(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: as above.
        unsafe { *answers.add(index) = mask_if_all_match(lanes_below(n), *values.add(index)) };
    }
}

/// The mask if all its lanes hold the same value, else 0.
///
/// Inline assembly, which a compiler may copy into both sides of a branch that follows; the lanes of a match have to meet at
/// one instruction. So this is for straight code: nothing may branch on the result.
///
/// # Safety
/// The calling lane is in `mask`, and all lanes in `mask` make this call with the same mask.
#[gpu_only]
#[inline(always)]
unsafe fn mask_if_all_match(mask: u32, value: i32) -> u32 {
    let matched: u32;
    // SAFETY: the caller's promise. Without `pure`: the compiler may not drop, move or share the instruction.
    unsafe {
        core::arch::asm!(
            "match.all.sync.b32 {matched}, {value}, {mask};",
            matched = out(reg32) matched,
            value = in(reg32) value,
            mask = in(reg32) mask,
            options(nomem, nostack, preserves_flags),
        );
    }
    matched
}
