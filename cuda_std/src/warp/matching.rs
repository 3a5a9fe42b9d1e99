//! Matches: which lanes hold the same value.

use crate::gpu_only;

/// A value that a warp match compares, bit by bit.
pub trait WarpMatchValue: Sized {
    /// The lanes in `mask` that hold `value`.
    ///
    /// # Safety
    /// As for [`warp_match_any`].
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// `Some(mask)` if every lane in `mask` holds `value`.
    ///
    /// # Safety
    /// As for [`warp_match_all`].
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

/// The lanes in `mask` that hold the same `value` as the calling lane, one bit each.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has exited, and all of them call this with the same mask.
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::match_any(mask, value) }
}

/// `Some(mask)` if all lanes in `mask` hold the same `value`, else `None`.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has exited, and all of them call this with the same mask.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::match_all(mask, value) }
}

#[gpu_only]
#[inline(always)]
unsafe fn match_any_32(mask: u32, bits: u32) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        fn match_any(mask: u32, bits: u32) -> u32;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { match_any(mask, bits) }
}

#[gpu_only]
#[inline(always)]
unsafe fn match_any_64(mask: u32, bits: u64) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.match.any.sync.i64"]
        fn match_any(mask: u32, bits: u64) -> u32;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { match_any(mask, bits) }
}

macro_rules! impl_match {
    ($($type:ty: $match_any:ident($to_bits:expr);)*) => {$(
        impl WarpMatchValue for $type {
            #[inline(always)]
            unsafe fn match_any(mask: u32, value: Self) -> u32 {
                let to_bits = $to_bits;
                // SAFETY: the caller's promise is the one asked for.
                unsafe { $match_any(mask, to_bits(value)) }
            }

            // Rust cannot name the pair of a word and a one-bit predicate that the intrinsic of `match.all`
            // returns; all lanes are equal exactly if each finds the whole mask by `match.any`.
            #[inline(always)]
            unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
                // SAFETY: the caller's promise is the one asked for.
                let equal = unsafe { Self::match_any(mask, value) };
                (equal == mask).then_some(mask)
            }
        }
    )*};
}

impl_match! {
    i32: match_any_32(|value: i32| value as u32);
    u32: match_any_32(|value: u32| value);
    f32: match_any_32(f32::to_bits);
    i64: match_any_64(|value: i64| value as u64);
    u64: match_any_64(|value: u64| value);
    f64: match_any_64(f64::to_bits);
}
