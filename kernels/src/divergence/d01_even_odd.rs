//! # Divergence 1 · Even and odd
//!
//! ## Before
//! The ladder's first step is slow, and its branch efficiency shows why. What is a branch that diverges, and what does it
//! cost by itself?
//!
//! ## Idea
//! A warp has one program counter for all lanes on the same path. At an `if` that some lanes take and others don't, the
//! warp executes both sides, one after the other, each time with the other lanes idle.
//!
//! Both kernels write a 2 at every even index and a 1 at every odd one. `even_odd_divergent` asks for the parity of the
//! *thread*: in every warp 16 lanes take one side and 16 the other. `even_odd_warp` asks for the parity of the *warp*, so
//! all lanes of a warp take the same side. It pays with the index: of 64 neighbouring places, the lanes of one warp own the
//! even ones, and those of the next warp the odd ones.
//!
//! ## Picture
//! With warps of 4 lanes; in each cell, which thread writes there.
//! ```text
//! index                0   1   2   3   4   5   6   7
//! even_odd_divergent   0   1   2   3   4   5   6   7     warp 0 and warp 1 diverge
//! even_odd_warp        0   4   1   5   2   6   3   7     warp 0 writes every 2, warp 1 every 1
//! ```
//!
//! ## Cost
//! A whole warp of `even_odd_divergent` executes two branches, of which one diverges; its store touches 4 sectors. A whole
//! warp of `even_odd_warp` executes two branches and none diverges, but its 32 words are 2 apart, and the store touches 8
//! sectors.
//!
//! ## Observe
//! `warpfold profile even_odd_divergent even_odd_warp`: a branch efficiency of 50 % against 100 %, and 4 sectors per store
//! against 8. In the PTX of both, the parity decides a `bra`. On a GPU the assembler has the last word: it may turn two
//! sides as short as these into instructions under a predicate (`@P0 …`), during which the other lanes idle without any
//! branch. A profiler then shows 100 % for both, and the idle lanes are still idle.
//!
//! ## Break it
//! Write `2` and `1` for `two()` and `one()`. The compiler sees that the two sides differ in one number, and turns the
//! branch into a `selp`: a selection, which every lane executes. A short `if` is nothing to fear; look at the PTX first.
//!
//! ## Source
//! John Cheng, Max Grossman, Ty McKercher, *Professional CUDA C Programming* (2014), chapter 3, `mathKernel1` and
//! `mathKernel2`; the index is made right for every n.

use cuda_std::gpu_only;

use crate::prelude::*;

/// Writes 2 at every even index and 1 at every odd one, by the parity of the thread.
///
/// # Safety
/// - `out` points to `n` values that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn even_odd_divergent(out: *mut i32, n: usize) {
    let index = global_index();
    if index < n {
        let value = if index.is_multiple_of(2) {
            two()
        } else {
            one()
        };
        // SAFETY: the index is below n, and is this thread's alone.
        unsafe { *out.add(index) = value };
    }
}

/// The same, by the parity of the warp.
///
/// # Safety
/// As for [`even_odd_divergent`], and B is a multiple of 64.
#[kernel]
pub unsafe fn even_odd_warp(out: *mut i32, n: usize) {
    let thread = global_index();
    let lane = thread % WARP_SIZE as usize;
    let is_even_warp = (thread / WARP_SIZE as usize).is_multiple_of(2);

    // Two warps share 64 places. A block has whole pairs of warps, so every place below n has a thread.
    let pair_start = thread / 64 * 64;
    let mut index = pair_start + 2 * lane;
    let value = if is_even_warp {
        two()
    } else {
        index += 1;
        one()
    };
    if index < n {
        // SAFETY: the index is below n, and is this thread's alone.
        unsafe { *out.add(index) = value };
    }
}

/// 2, by an instruction that the compiler does not move, so the branch around it remains a branch.
#[gpu_only]
#[inline(always)]
fn two() -> i32 {
    let value: i32;
    // SAFETY: the instruction sets one register. Without `pure`: the compiler may not execute it for threads that don't
    // call.
    unsafe {
        core::arch::asm!("mov.b32 {value}, 2;", value = out(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// 1, likewise.
#[gpu_only]
#[inline(always)]
fn one() -> i32 {
    let value: i32;
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("mov.b32 {value}, 1;", value = out(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}
