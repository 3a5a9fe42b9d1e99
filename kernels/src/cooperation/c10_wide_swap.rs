//! # Cooperation 10 · Sixteen bytes at once
//!
//! ## Before
//! An atomic changes one word of at most eight bytes. What belongs together and is larger needs a lock (page 6), where
//! threads wait for one another.
//!
//! ## Idea
//! From sm_90 on, compare-and-swap takes 16 bytes: two words that change together or not at all. Here they are a value and
//! its place. Each thread offers its element with its index, and in the end the greatest value is there with the first index
//! at which it stands. With two atomics on two words, the value of one thread could end up beside the index of another.
//!
//! The loop is that of page 8. A thread begins with a guess of what is there. If the guess is wrong, the swap fails and
//! returns what it found. So no load is needed, which might see the halves of two different swaps.
//!
//! Registers have at most 64 bits. The inline assembly makes wider ones: `mov.b128` joins two registers into one, or splits one
//! into two.
//!
//! The instruction needs PTX 8.3, and so is in the PTX module of page 9.
//!
//! ## Picture
//! ```text
//!                            value   place
//! there                        7       3
//! thread with (9, 5)    cas  ( 7       3 ) → ( 9   5 )     both words at once
//! thread with (9, 4)    cas  ( 7       3 ) finds ( 9   5 ): as great, and further left, so
//!                       cas  ( 9       5 ) → ( 9   4 )
//! ```
//!
//! ## Cost
//! One swap for the first element and for each that is no better than what is there, two or more for the others; all on the same bytes.
//!
//! ## Observe
//! In the PTX for sm_90: `atom.relaxed.gpu.global.cas.b128` between three `mov.b128`.
//!
//! **Predict.** The greatest value stands at many places here, and their threads come in any order. Which of the
//! places is beside it at the end?
//! ```console
//! $ warpfold run wide_swap -n 2^16 --device emulator
//! ...
//! greatest                      4290672328704
//! its first place                         105
//! ...
//! ```
//! The first, as on the CPU.
//!
//! ## Break it
//! Swap the two words one after the other, by `cas.b64` each: another thread's swap may come between, and in the end the
//! place is not that of the value.
//!
//! ## Source
//! *PTX ISA*, on `atom.cas.b128`.

use cuda_std::gpu_only;

use crate::prelude::*;

/// A value and its place: what changes together. Its alignment is what the instruction asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(16))]
struct Best {
    value: i64,
    place: u64,
}

impl Best {
    /// Less than any element at any place.
    const NONE: Self = Self {
        value: i64::MIN,
        place: u64::MAX,
    };

    /// Whether it is greater, or as great and further left.
    #[inline(always)]
    fn beats(self, other: Self) -> bool {
        self.value > other.value || self.value == other.value && self.place < other.place
    }
}

/// Stores `new` where `expected` is; gives what was there.
///
/// # Safety
/// `best` points to global memory, and while others use it, they use it only through this function.
#[gpu_only]
#[inline(always)]
unsafe fn compare_and_swap(best: *mut Best, expected: Best, new: Best) -> Best {
    let (value, place): (i64, u64);
    // SAFETY: one swap of 16 bytes that are valid, and aligned to 16, by the caller's promise.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b128 old, new, found;",
            "mov.b128 old, {{ {old_value}, {old_place} }};",
            "mov.b128 new, {{ {new_value}, {new_place} }};",
            "atom.relaxed.gpu.global.cas.b128 found, [{best}], old, new;",
            "mov.b128 {{ {value}, {place} }}, found; }}",
            best = in(reg64) best,
            old_value = in(reg64) expected.value,
            old_place = in(reg64) expected.place,
            new_value = in(reg64) new.value,
            new_place = in(reg64) new.place,
            value = out(reg64) value,
            place = out(reg64) place,
            options(nostack, preserves_flags),
        );
    }
    Best { value, place }
}

/// Leaves the greatest of `values`, and the index of the first that is so great, in the two words at `best`.
///
/// # Safety
/// - `values` points to `n` values that nothing writes; `best` to two words, at a multiple of 16 bytes, which nothing else
///   touches: the least `i64` and the greatest `u64`.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn wide_swap(values: *const i64, best: *mut i64, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n.
        let value = unsafe { *values.add(index) };
        let mine = Best {
            value,
            place: index as u64,
        };
        let mut there = Best::NONE;
        while mine.beats(there) {
            // SAFETY: both words are touched only by this function.
            let found = unsafe { compare_and_swap(best.cast(), there, mine) };
            if found == there {
                break;
            }
            there = found;
        }
    }
}
