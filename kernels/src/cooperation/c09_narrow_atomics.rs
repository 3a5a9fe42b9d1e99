//! # Cooperation 9 · Atomics on half a word
//!
//! ## Before
//! Each atomic so far takes a word of 32 or 64 bits. Many numbers have only 16: the halves `f16` and `bf16`, in which neural
//! networks are trained, and small counters.
//!
//! ## Idea
//! PTX adds halves, one at a time or two in one word (`f16x2`, `bf16x2`), and compares and swaps 16 bits. What lies beside
//! them in the same word is left alone. Two at a time is not one atomic operation on both: each half is atomic by itself.
//!
//! There is no integer `add` of 16 bits, so a counter is built from compare-and-swap, like the maximum on page 8.
//!
//! Halves are coarse. An `f16` has 11 bits, so that 2048 + 1 is 2048: a sum of ones stops there. A `bf16` has 8 and stops at
//! 256. Sums of halves therefore belong in an `f32`, and these instructions are for few or small summands, such as gradients
//! that come from a few threads each. `.noftz`, which both need, says that subnormal numbers are kept.
//!
//! These instructions are newer than the others of this part: PTX 6.3 has those on `f16`, and sm_90 those on `bf16`. They are
//! in a PTX module of their own, so that the other lessons need no newer driver for their sake.
//!
//! ## Picture
//! ```text
//! one word     ┌──── high half ────┬──── low half ────┐
//!              │ threads 1, 3, 5 … │ threads 0, 2, 4 … │   each half by 16-bit swaps, beside each other
//! add f16x2    │ + b               │ + a               │   one instruction, two atomic additions
//! ```
//!
//! ## Cost
//! For each element that is not 0, an addition of one half, one of two, and, on `f16`, one load and at least one swap of the
//! counter.
//!
//! ## Observe
//! In the PTX: `red.relaxed.gpu.global.add.noftz.f16`, `.f16x2` and `atom.relaxed.gpu.global.cas.b16`; in the other
//! kernel, for sm_90, `.bf16` and `.bf16x2`.
//!
//! **Predict.** 1986 of these elements are −1, and all others are 0. Is their sum in an `f16` exact, and how many of
//! them does each counter get, that of the even and that of the odd places?
//! ```console
//! $ warpfold run atomics_on_f16 -n 2^16 --device emulator
//! ...
//! sum alone                              -1986
//! sums of two                   -1986 and 1986
//! counters                         993 and 993
//! ...
//! ```
//! All sums are exact, here and in `warpfold run atomics_on_bf16`, since the values are few ones and minus ones.
//!
//! ## Break it
//! Return from `count` after the first swap, whatever it found: write `(found == old) | true`. Only the first swap of each counter does anything:
//! ```console
//! $ warpfold try atomics_on_f16 -n 1000 --block 64
//! ...
//! counters                           1 and 1
//! ...
//! warpfold: `atomics_on_f16` counts [1, 1], which should be [500, 500]
//! ```
//! And give every element the value 1: from 2048 on, in `bf16` from 256, nothing is added any more.
//!
//! ## Source
//! *PTX ISA*, on `atom`, `red` and their versions; *CUDA C++ Programming Guide*, on `atomicAdd` and `atomicCAS`.

use cuda_std::gpu_only;

use crate::prelude::*;

/// A half, and two of them, of one format: how to add to them.
macro_rules! additions {
    ($one:ident, $two:ident, $format:literal) => {
        /// # Safety
        /// `half` points to global memory, and while others use it, they change it only by atomic operations.
        #[gpu_only]
        #[inline(always)]
        unsafe fn $one(half: *mut u16, value: u16) {
            // SAFETY: one addition to a half that is valid by the caller's promise.
            unsafe {
                core::arch::asm!(
                    concat!("red.relaxed.gpu.global.add.noftz.", $format, " [{half}], {value};"),
                    half = in(reg64) half,
                    value = in(reg16) value,
                    options(nostack, preserves_flags),
                );
            }
        }

        /// # Safety
        /// As for one half.
        #[gpu_only]
        #[inline(always)]
        unsafe fn $two(halves: *mut u32, values: u32) {
            // SAFETY: one addition to each of two halves that are valid by the caller's promise.
            unsafe {
                core::arch::asm!(
                    concat!("red.relaxed.gpu.global.add.noftz.", $format, "x2 [{halves}], {values};"),
                    halves = in(reg64) halves,
                    values = in(reg32) values,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

additions!(add_f16, add_f16x2, "f16");
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_90",
    target_feature = "compute_90"
))]
additions!(add_bf16, add_bf16x2, "bf16");

/// Stores `new` where `expected` is; gives what was there.
///
/// # Safety
/// As for the additions.
#[gpu_only]
#[inline(always)]
unsafe fn compare_and_swap(half: *mut u16, expected: u16, new: u16) -> u16 {
    let found: u16;
    // SAFETY: one swap of a half that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "atom.relaxed.gpu.global.cas.b16 {found}, [{half}], {expected}, {new};",
            half = in(reg64) half,
            expected = in(reg16) expected,
            new = in(reg16) new,
            found = out(reg16) found,
            options(nostack, preserves_flags),
        );
    }
    found
}

/// Adds 1 to a counter of 16 bits.
///
/// # Safety
/// As for the additions.
#[inline(always)]
unsafe fn count(counter: *mut u16) {
    // Whatever is there: the first swap tells.
    let mut old = 0_u16;
    loop {
        // SAFETY: the caller's promise.
        let found = unsafe { compare_and_swap(counter, old, old.wrapping_add(1)) };
        if found == old {
            return;
        }
        old = found;
    }
}

/// Adds each of `values`, which are f16, to `sum`, and beside its negative to the two `sums`; counts those that are not 0 in two
/// `counters`, by the parity of their index.
///
/// # Safety
/// - `values` points to `n` values that nothing writes; `sum` to one value, `sums` to two in one word, and `counters` to two,
///   that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn atomics_on_f16(
    values: *const u16,
    sum: *mut u16,
    sums: *mut u32,
    counters: *mut u16,
    n: usize,
) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, and the words are touched only by atomics.
        unsafe {
            let value = *values.add(index);
            if value != 0 {
                add_f16(sum, value);
                add_f16x2(sums, with_negative(value));
                count(counters.add(index % 2));
            }
        }
    }
}

/// The same of bf16, without the counters.
///
/// # Safety
/// - `values` points to `n` values that nothing writes; `sum` to one value and `sums` to two in one word that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_90",
    target_feature = "compute_90"
))]
#[kernel]
pub unsafe fn atomics_on_bf16(values: *const u16, sum: *mut u16, sums: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, and the words are touched only by atomics.
        unsafe {
            let value = *values.add(index);
            if value != 0 {
                add_bf16(sum, value);
                add_bf16x2(sums, with_negative(value));
            }
        }
    }
}

/// A half of either format in the lower half of a word, and its negative in the upper one: the sign is the first bit.
#[inline(always)]
fn with_negative(half: u16) -> u32 {
    u32::from(half) | u32::from(half ^ 0x8000) << 16
}
