//! The kernels.

#![allow(missing_docs, reason = "the README says what each does")]

use warpfold_device::half::{Bf16, F16};
use warpfold_device::thread::{block_dim_x, global_index, grid_dim_x};

/// The places that this thread is for: from its own on, the size of the grid apart.
#[inline(always)]
fn places(count: usize) -> impl Iterator<Item = usize> {
    (global_index()..count).step_by(grid_dim_x() as usize * block_dim_x() as usize)
}

macro_rules! packs {
    ($($name:ident: $word:ty;)*) => {$(
        /// Copies the values of an array of four axes side by side, the last axis fastest.
        ///
        /// # Safety
        /// - `length_1` to `length_3` are the lengths of the last three axes, none of which is 0, and `count` is the number of values.
        /// - From `input` on, in steps of `step_0` to `step_3` values (which may be negative, in two's complement), there are these
        ///   values, which nothing writes; `output` points to as many, which nothing else touches.
        /// - The grid has one dimension.
        #[cuda_std::kernel]
        pub unsafe fn $name(
            input: *const $word,
            output: *mut $word,
            count: usize,
            length_1: usize,
            length_2: usize,
            length_3: usize,
            step_0: usize,
            step_1: usize,
            step_2: usize,
            step_3: usize,
        ) {
            for place in places(count) {
                let (rest, at_3) = (place / length_3, place % length_3);
                let (rest, at_2) = (rest / length_2, rest % length_2);
                let (at_0, at_1) = (rest / length_1, rest % length_1);
                let offset = at_0
                    .wrapping_mul(step_0)
                    .wrapping_add(at_1.wrapping_mul(step_1))
                    .wrapping_add(at_2.wrapping_mul(step_2))
                    .wrapping_add(at_3.wrapping_mul(step_3));
                // SAFETY: the caller's promise.
                unsafe { *output.add(place) = *input.wrapping_add(offset) };
            }
        }
    )*};
}

packs! {
    pack_1: u8;
    pack_2: u16;
    pack_4: u32;
    pack_8: u64;
}

macro_rules! conversions {
    ($($name:ident: |$value:ident: $from:ty| -> $to:ty { $converted:expr })*) => {$(
        /// Converts `count` values.
        ///
        /// # Safety
        /// `input` points to as many values, which nothing writes, and `output` to as many, which nothing else touches. The grid has one
        /// dimension.
        #[cuda_std::kernel]
        pub unsafe fn $name(input: *const $from, output: *mut $to, count: usize) {
            for place in places(count) {
                // SAFETY: the caller's promise.
                unsafe {
                    let $value = *input.add(place);
                    *output.add(place) = $converted;
                }
            }
        }
    )*};
}

conversions! {
    narrow_f16: |value: f32| -> F16 { F16::from_f32(value) }
    narrow_bf16: |value: f32| -> Bf16 { Bf16::from_f32(value) }
    nonzero_u32: |value: u32| -> u8 { u8::from(value != 0) }
}
