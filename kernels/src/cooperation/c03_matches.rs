//! # Cooperation 3 · Who holds what I hold?
//!
//! ## Before
//! A vote answers one question, the same for all lanes. A lane that asks who holds the same value as itself would need a vote
//! for every value there is.
//!
//! ## Idea
//! A *match* compares the value of each lane with those of all others in the mask. `match_any` tells each lane which lanes,
//! itself among them, hold its value; `match_all` tells whether all do. With the first, lanes that are about to update the
//! same word of memory find each other, and one of them can do it for all.
//!
//! `match_all` has an instruction of its own (`match.all.sync`), which returns a word and a predicate. Rust has no
//! name for such a pair, so that this kernel asks `match_any`: all lanes hold the same value exactly if each finds the
//! whole mask.
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
//! One instruction for a warp, though one that takes its time: the hardware goes through the different values one by one.
//!
//! ## Observe
//! In the PTX: `match.any.sync.b32`, in both kernels.
//!
//! ## Break it
//! Compare floats instead: a match is about bits, so that 0.0 does not match −0.0, and a NaN matches itself.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on warp match functions: `__match_any_sync`, `__match_all_sync`.

use cuda_std::warp::warp_match_any;

use crate::cooperation::c02_votes::lanes_below;
use crate::prelude::*;

/// Leaves for each element which elements of its warp are equal to it, one bit each, the first one the lowest.
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

/// Leaves for each element the mask of its warp if all elements of the warp are equal, else 0.
///
/// # Safety
/// As for [`match_any`].
#[kernel]
pub unsafe fn match_all(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        let mask = lanes_below(n);
        // SAFETY: as above.
        unsafe {
            let equal = warp_match_any(mask, *values.add(index));
            *answers.add(index) = if equal == mask { mask } else { 0 };
        }
    }
}
