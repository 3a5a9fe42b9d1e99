//! # Operators and types 7 · A sum wider than its values
//!
//! ## Before
//! A sum of `i32` values wraps around once it needs more than 32 bits: 3·2³⁰ ones come to −1,073,741,824.
//!
//! ## Idea
//! The type of the values and the type in which they are added need not be the same. Each value is widened when it has been loaded,
//! before the first addition, and everything after that is in the wider type: `i32` in `i64`, `u32` in `u64`, `f32` in `f64`. The body
//! is that of the page before, with a type of its own for what it accumulates.
//!
//! The input still moves at 4 bytes per value, and that is what the time goes into. An array that was widened beforehand would take
//! twice the memory and twice the time.
//!
//! ## Picture
//! ```text
//! 16 bytes      i32   i32   i32   i32        one load
//!                │     │     │     │         widened: four conversions
//! registers     i64 + i64   i64 + i64        from here on 64 bits: warps, shared memory, partials, total
//! ```
//!
//! ## Cost
//! The loads of the page before. In addition, for each value one conversion; each addition of 64-bit integers is two instructions of
//! a GPU, and every value that lanes exchange takes two shuffles.
//!
//! ## Observe
//! The sum of 0, 1, 2 … 2²⁰ − 1 has 39 bits:
//! ```console
//! $ warpfold run single_pass_sum_i32 -n 2^20 --data iota
//! ...
//! sum                             -524288
//! ...
//! $ warpfold run wide_sum_i32 -n 2^20 --data iota
//! ...
//! sum                           549755289600
//! ...
//! ```
//! In the PTX: `ld.global.v4.b32`, as for values of 4 bytes, and `add.s64`.
//!
//! **Predict.** `single_pass_sum_i32` loads 131,076 sectors, and `single_pass_sum_i64` twice as many. To which of
//! them is `wide_sum_i32` close in sectors, and to which in instructions?
//! ```console
//! $ warpfold profile single_pass_sum_i32 wide_sum_i32 single_pass_sum_i64 -n 2^20 \
//!       --metrics warp_instructions,global_load_sectors
//! ...
//! metric               single_pass_sum_i32  wide_sum_i32  single_pass_sum_i64
//! ...
//! warp_instructions                 95,389       147,792              142,160
//! global_load_sectors              131,076       131,080              262,152
//! ...
//! ```
//! The input is read once, and moves in as many sectors as for a sum in 32 bits. The additions are those of 64 bits.
//!
//! ## Break it
//! Widen one step later: `A::from(O::combine(…))` over the four values of a vector. Nearly every sum is still right. Four values
//! that together exceed 32 bits show the mistake, and random ones do so at once.
//!
//! ## Source
//! NumPy and PyTorch add up `int32` values in `int64` by default. CUB calls the wider type the accumulator's (`AccumT`).

use pastey::paste;

use crate::for_each_widening;
use crate::operators::o01_operators::Sum;
use crate::operators::o06_single_pass::single_pass;
use crate::prelude::*;

macro_rules! entries {
    ($($variant:ident $value:ident $wide_variant:ident $wide:ident;)*) => { $(paste! {
        #[doc = concat!("Writes the sum of the input in [`", stringify!($wide), "`] to `total`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes; `partials` to one per block, `total`
        ///   and `counter` to one, and nothing else touches those. The counter is 0, and is 0 again at the end.
        /// - The grid has one dimension and any number of blocks, and a block a power of two B of threads, 64 to 1024.
        #[kernel]
        pub unsafe fn [<wide_sum_ $value>](
            input: *const $value,
            partials: *mut $wide,
            n: usize,
            total: *mut $wide,
            counter: *mut u32,
        ) {
            // SAFETY: the caller's promise.
            unsafe { single_pass::<Sum, $value, $wide>(input, partials, n, total, counter) }
        }
    })* };
}

for_each_widening!(entries);
