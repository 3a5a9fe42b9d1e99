//! # Cooperation 8 · Atomics on floats
//!
//! ## Before
//! The operations of page 7 are all on integers.
//!
//! ## Idea
//! For floats PTX has only one of these: `add`, for `f32` and for `f64`. Each addition rounds, and threads come in any
//! order, so that the sum of the same values may differ in its last bits from run to run. Where it has to be the same, each
//! block or each warp adds up in a fixed order first (step 11 of the ladder), or integers take the floats' place.
//!
//! There is no `max`. But *compare-and-swap* makes an atomic operation of any function: take the value that is there,
//! compute the new one, and swap it in if the old one is still there; if not, somebody else was faster, so do it again with
//! the value that was found. A maximum needs the swap only while a thread's value is greater than what is there. Soon that
//! is so for few threads; most of them read once and are done.
//!
//! `cas` compares bits, not numbers. A loop that waits until `found == expected` as floats would never end at a NaN, which is
//! equal to nothing; and it takes −0 and 0, which are different bits, for the same.
//!
//! Core has no atomic floats, so all three are inline assembly. An atomic that gives nothing back is `red`.
//!
//! ## Picture
//! ```text
//! thread with 5     reads 3            cas 3 → 5: finds 4, not 3    cas 4 → 5: finds 4, done
//! thread with 4     reads 3   cas 3 → 4: finds 3, done
//! thread with 2     reads 3: not greater, done
//! ```
//!
//! ## Cost
//! For each element two additions, one load, and as many swaps as it takes: none for nearly all elements.
//!
//! ## Observe
//! In the PTX: `red.relaxed.gpu.global.add.f32` and `.f64`, and a loop around `atom.relaxed.gpu.global.cas.b32`.
//!
//! **Predict.** The values are whole numbers, so that no addition rounds. The threads come in any order. By how
//! much does their sum differ from the CPU's?
//! ```console
//! $ warpfold run atomics_on_floats -n 2^16 --device emulator
//! ...
//! sum in f64                       -10470
//! sum on the CPU                   -10470
//! greatest                             63
//! ...
//! ```
//! Both sums are the CPU's, in `f32` as well.
//!
//! ## Break it
//! Build an addition from the same loop, end it when `found == old` as floats, and add a NaN: the loop never ends. And
//! replace the loop by an integer `max` on the bits: that is right for positive floats, whose bits are in the same order as
//! the numbers; for negative ones it is the other way round.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on atomic functions, which builds an `atomicAdd` of `double` from `atomicCAS` in this way;
//! *PTX ISA*, on `atom` and `red`.

use cuda_std::gpu_only;

use crate::prelude::*;

/// Adds to a word in global memory.
///
/// # Safety
/// `word` points to global memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
unsafe fn add_f32(word: *mut f32, value: f32) {
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "red.relaxed.gpu.global.add.f32 [{word}], {value};",
            word = in(reg64) word,
            value = in(reg32) value.to_bits(),
            options(nostack, preserves_flags),
        );
    }
}

/// Stores `new` where `expected` is; gives what was there.
///
/// # Safety
/// As for [`add_f32`].
#[gpu_only]
#[inline(always)]
unsafe fn compare_and_swap(word: *mut u32, expected: u32, new: u32) -> u32 {
    let found: u32;
    // SAFETY: one swap of a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "atom.relaxed.gpu.global.cas.b32 {found}, [{word}], {expected}, {new};",
            word = in(reg64) word,
            expected = in(reg32) expected,
            new = in(reg32) new,
            found = out(reg32) found,
            options(nostack, preserves_flags),
        );
    }
    found
}

/// Stores the value where it is greater than what is there.
///
/// # Safety
/// As for [`add_f32`].
#[inline(always)]
unsafe fn max_f32(word: *mut f32, value: f32) {
    let word: *mut u32 = word.cast();
    // SAFETY: the caller's promise.
    let mut old = unsafe { load_relaxed(word) };
    while value > f32::from_bits(old) {
        // SAFETY: the caller's promise.
        let found = unsafe { compare_and_swap(word, old, value.to_bits()) };
        if found == old {
            break;
        }
        old = found;
    }
}

/// Adds each of `values` to `sum` and to `wide_sum`, and leaves the greatest in `greatest`, unless it was less than what was
/// there.
///
/// # Safety
/// - `values` points to `n` values that nothing writes; `sum`, `wide_sum` and `greatest` to one each that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn atomics_on_floats(
    values: *const f32,
    sum: *mut f32,
    wide_sum: *mut f64,
    greatest: *mut f32,
    n: usize,
) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, and the three words are touched only by atomics.
        unsafe {
            let value = *values.add(index);
            add_f32(sum, value);
            add_f64(wide_sum, f64::from(value));
            max_f32(greatest, value);
        }
    }
}
