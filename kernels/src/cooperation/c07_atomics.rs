//! # Cooperation 7 · Atomics on integers
//!
//! ## Before
//! The pages so far used two or three atomic operations of `core`. On integers PTX has ten, and each comes in three scopes.
//!
//! ## Idea
//! An atomic operation reads a word, computes a new value from it, and writes that, and no other access comes between. Some
//! are arithmetic (`add`, `min`, `max`, `and`, `or`, `xor`). Two count in a circle: `inc` from 0 up to a limit and
//! again from 0, `dec` the other way round. `exch` stores a new value; `cas`, compare-and-swap, does so if the old value is
//! the expected one. All return the old value. From `cas` all others can be built.
//!
//! The *scope* says for whom the operation is atomic: the threads of the block, of the whole device, or of the whole
//! system, including the host and other GPUs. A narrower scope may be cheaper, and is wrong as soon as somebody outside
//! joins in. So here each block has words of its own for the block's scope. Core's atomics have the device's scope or a
//! wider one. The narrower scope and the two circles need inline assembly, and all others use it too, so that they stand
//! side by side.
//!
//! CUDA C++ has an eleventh, `atomicSub`, which is `add` of the negative. `inc` and `dec` exist for `u32` only.
//!
//! ## Picture
//! n threads at one word:
//! ```text
//! add   0 → Σ values            exch   0 → 1, and one thread gets the 0 back
//! max   least → the greatest    cas    0 → 1, and one thread gets the 0 back
//! inc   0 → n mod (limit + 1)   dec    0 → limit, limit − 1 …
//! ```
//!
//! ## Cost
//! For each element 29 atomic operations in each scope, all at the same words; those of one warp at one word take 32 turns.
//!
//! ## Observe
//! In the PTX: `atom.relaxed.cta`, `atom.relaxed.gpu`, `atom.relaxed.sys`. A run shows the result of each operation,
//! in each scope.
//!
//! **Predict.** 1000 threads each do `inc` with a limit of 1000 on a word that is 0, and `cas` from 0 to 1 on
//! another. What do the two words hold at the end?
//! ```console
//! $ warpfold run atomics -n 1000 --block 64
//! ...
//! add i32                                           device 1925887271 · system 1925887271 · right in 16 of 16 blocks
//! ...
//! inc u32                                                       device 1000 · system 1000 · right in 16 of 16 blocks
//! ...
//! cas u64                                                             device 1 · system 1 · right in 16 of 16 blocks
//! ...
//! ```
//!
//! ## Break it
//! Give all blocks the same words in the block's scope: `of_blocks` for the table of each. The emulator loses no update, but a GPU may, since it
//! need not look beyond the block:
//! ```console
//! $ warpfold try atomics --check -n 100 --block 64
//! ...
//! racecheck: write after write at global address 0x7f0000000500 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! *PTX ISA*, on the instruction `atom`; *CUDA C++ Programming Guide*, on atomic functions.

use cuda_std::gpu_only;

use crate::prelude::*;

/// What `inc` and `dec` count up to and down from.
pub const LIMIT: u32 = 1000;
/// What `exch` and `cas` store where there was a 0.
pub const NEW: u32 = 1;

/// The scopes.
const BLOCK: u32 = 0;
const DEVICE: u32 = 1;
const SYSTEM: u32 = 2;

/// Applies every operation with its `value` to the words of its table, each in the scope.
macro_rules! operations {
    (
        updates by $value:ident {
            $($operation:ident $type:ident, $class:ident: $instruction:literal $operand:tt;)*
        }
        takes {
            $($take:ident $take_type:ident, $take_class:ident: $take_instruction:literal $take_operands:tt;)*
        }
    ) => {
        /// The operations whose words come first in a table: name and type, as in `add i32`.
        pub const UPDATES: &[&str] = &[$(concat!(stringify!($operation), " ", stringify!($type))),*];
        /// The operations after them, with two words each: the result, and how many threads got the 0 back.
        pub const TAKES: &[&str] = &[$(concat!(stringify!($take), " ", stringify!($take_type))),*];

        /// # Safety
        /// `words` points to a table, that is [`WORDS`] values, which the threads of the scope touch only through this
        /// function.
        #[gpu_only]
        #[inline(always)]
        #[allow(unused_assignments, reason = "nothing follows the last word")]
        unsafe fn apply<const SCOPE: u32>(words: *mut u64, $value: u64) {
            let mut word = words;
            // SAFETY: there are words for both lists. A narrow word is the lower half of a wide one.
            unsafe {
                $(
                    let _: $type = atomic!(SCOPE, $instruction, $class, word, $operand);
                    word = word.add(1);
                )*
                $(
                    let old: $take_type = atomic!(SCOPE, $take_instruction, $take_class, word, $take_operands);
                    if old == 0 {
                        let _: u64 = atomic!(SCOPE, "add.u64", reg64, word.add(1), 1_u64);
                    }
                    word = word.add(2);
                )*
            }
        }
    };
}

/// One atomic operation in a scope, by inline assembly; gives the old value.
#[cfg(target_arch = "nvptx64")]
macro_rules! atomic {
    ($scope:ident, $operation:literal, $class:ident, $word:expr, $operands:tt) => {
        match $scope {
            BLOCK => atomic!("cta", $operation, $class, $word, $operands),
            DEVICE => atomic!("gpu", $operation, $class, $word, $operands),
            _ => atomic!("sys", $operation, $class, $word, $operands),
        }
    };
    ($scope:literal, $operation:literal, $class:ident, $word:expr, ($expected:expr, $new:expr)) => {{
        let old;
        core::arch::asm!(
            concat!("atom.relaxed.", $scope, ".", $operation, " {old}, [{word}], {expected}, {new};"),
            word = in(reg64) $word,
            expected = in($class) $expected,
            new = in($class) $new,
            old = out($class) old,
            options(nostack, preserves_flags),
        );
        old
    }};
    ($scope:literal, $operation:literal, $class:ident, $word:expr, $operand:tt) => {{
        let old;
        core::arch::asm!(
            concat!("atom.relaxed.", $scope, ".", $operation, " {old}, [{word}], {operand};"),
            word = in(reg64) $word,
            operand = in($class) $operand,
            old = out($class) old,
            options(nostack, preserves_flags),
        );
        old
    }};
}

operations! {
    updates by value {
        add i32, reg32: "add.s32" (value as i32);
        sub i32, reg32: "add.s32" ((value as i32).wrapping_neg());
        min i32, reg32: "min.s32" (value as i32);
        max i32, reg32: "max.s32" (value as i32);
        and i32, reg32: "and.b32" (value as i32);
        or i32, reg32: "or.b32" (value as i32);
        xor i32, reg32: "xor.b32" (value as i32);
        add u32, reg32: "add.u32" (value as u32);
        sub u32, reg32: "add.u32" ((value as u32).wrapping_neg());
        min u32, reg32: "min.u32" (value as u32);
        max u32, reg32: "max.u32" (value as u32);
        and u32, reg32: "and.b32" (value as u32);
        or u32, reg32: "or.b32" (value as u32);
        xor u32, reg32: "xor.b32" (value as u32);
        inc u32, reg32: "inc.u32" LIMIT;
        dec u32, reg32: "dec.u32" LIMIT;
        add u64, reg64: "add.u64" value;
        sub u64, reg64: "add.u64" (value.wrapping_neg());
        min u64, reg64: "min.u64" value;
        max u64, reg64: "max.u64" value;
        and u64, reg64: "and.b64" value;
        or u64, reg64: "or.b64" value;
        xor u64, reg64: "xor.b64" value;
    }
    takes {
        exch i32, reg32: "exch.b32" NEW;
        cas i32, reg32: "cas.b32" (0, NEW);
        exch u32, reg32: "exch.b32" NEW;
        cas u32, reg32: "cas.b32" (0, NEW);
        exch u64, reg64: "exch.b64" (u64::from(NEW));
        cas u64, reg64: "cas.b64" (0_u64, u64::from(NEW));
    }
}

/// Words of a table.
pub const WORDS: usize = UPDATES.len() + 2 * TAKES.len();

/// Applies every operation, in every scope, with each of `values`.
///
/// # Safety
/// - `values` points to `n` values that nothing writes.
/// - `of_blocks` points to a table, of [`WORDS`] words, per block; `of_device` and `of_system` to one each; nothing else touches
///   them.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn atomics(
    values: *const u64,
    of_blocks: *mut u64,
    of_device: *mut u64,
    of_system: *mut u64,
    n: usize,
) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, there is a table per block, and nobody but its threads touches it.
        unsafe {
            let value = *values.add(index);
            apply::<BLOCK>(of_blocks.add(block_idx_x() as usize * WORDS), value);
            apply::<DEVICE>(of_device, value);
            apply::<SYSTEM>(of_system, value);
        }
    }
}
