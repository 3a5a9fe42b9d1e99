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
//! In the PTX of both, the parity decides a `bra`.
//!
//! **Predict.** 10⁶ threads are 31,250 warps. How many branches diverge in each kernel, and how many sectors does a
//! store of each touch?
//! ```console
//! $ warpfold profile even_odd_divergent even_odd_warp -n 10^6 --block 256 \
//!       --metrics divergent_branches,branch_efficiency,global_store_sectors_per_request
//! ...
//! metric                            even_odd_divergent  even_odd_warp
//! ...
//! divergent_branches                            31,250              0
//! branch_efficiency                            50.00 %       100.00 %
//! global_store_sectors_per_request                4.00           8.00
//! ...
//! ```
//! Every second branch of `even_odd_divergent` diverges, and `even_odd_warp` stores to twice as many sectors.
//!
//! On a GPU the assembler has the last word: it may turn two sides as short as these into instructions under a predicate (`@P0 …`),
//! during which the other lanes idle without any branch. A profiler then shows 100 % for both, and the idle lanes are still idle.
//!
//! For such a kernel, over 10⁶ elements in blocks of 256, a branch efficiency of 87.50 % has been published: 250,042 branches, of which
//! 31,256 diverge. It comes from a build without optimisation, which jumps after every part of an `if`, and the profiler counted these
//! jumps as branches. The 3,907 blocks have 31,256 warps, and the parity divides each of them once. If it is one of eight branches, the
//! efficiency is 1 − 1∕8. The last six warps lie past the end; if each has one branch less, there are 8 · 31,250 + 7 · 6 = 250,042. The
//! same kernel in Rust, compiled without optimisation (`emulator/tests/data/even_odd.rs`), has exactly these:
//! ```console
//! $ warpfold profile --ptx emulator/tests/data/even_odd.rustc_O0.sm_80.ptx --kernel even_odd_divergent --grid 3907 \
//!       --block 256 --arg buf:i32:zeros:1000000 --arg u64:1000000 \
//!       --metrics warps_launched,divergent_branches,branch_instructions,branch_instruction_efficiency
//! ...
//! warps_launched                             31,256
//! divergent_branches                         31,256
//! branch_instructions                       250,042
//! branch_instruction_efficiency             87.50 %
//! ...
//! ```
//! So the same divergence gives an efficiency of 50 %, 87.5 % or 100 %, depending on how many other branches the compiler leaves.
//! Compare efficiencies only of code from one compiler.
//!
//! ## Break it
//! Write `2` and `1` for `two()` and `one()` in `even_odd_divergent`. The compiler sees that the two sides differ in one number, and turns the
//! branch into a `selp`: a selection, which every lane executes.
//! ```console
//! $ warpfold try even_odd_divergent --profile -n 4096 --metrics branches,divergent_branches
//! ...
//! branches                           128
//! divergent_branches                   0
//! ...
//! ```
//! A short `if` is nothing to fear; look at the PTX first.
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
