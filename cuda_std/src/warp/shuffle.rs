//! Shuffles: each lane reads a register of another lane.
//!
//! All four return the value and whether the source lane was in the calling lane's section of `width` lanes. If it was not,
//! the value is the lane's own. One shuffle moves 32 bits: a 64-bit value takes two, a 128-bit value four, and a smaller
//! value one.
//!
//! `width` is a power of two up to 32; anything else panics.

#[cfg(target_arch = "nvptx64")]
use super::lane_id;
use crate::gpu_only;

/// A value that can be shuffled.
pub trait WarpShuffleValue: Sized {
    /// One shuffle; `mode` must be a constant where the call is compiled.
    ///
    /// # Safety
    /// As for [`warp_shuffle_down`].
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool);
}

/// The value of the lane `delta` above the calling one.
///
/// # Safety
/// The calling lane is in `mask`, and no lane in `mask` has exited. The value is unspecified if the source lane is
/// not in `mask`.
#[inline(always)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
}

/// The value of the lane `delta` below the calling one.
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
}

/// The value of lane `idx` of the calling lane's section of `width` lanes.
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    idx: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Idx, mask, value, idx, width) }
}

/// The value of the lane whose number is the calling lane's number exclusive-or `lane_mask`.
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::shuffle(WarpShuffleMode::Xor, mask, value, lane_mask, width) }
}

/// How a shuffle finds the source lane.
#[doc(hidden)]
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum WarpShuffleMode {
    /// By its number.
    Idx = 0,
    /// By its distance below.
    Up = 1,
    /// By its distance above.
    Down = 2,
    /// By exclusive-or.
    Xor = 3,
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: u32, value: u32, b: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: u32, value: u32, b: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: u32, value: u32, b: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: u32, value: u32, b: u32, clamp: u32) -> u32;
}

#[gpu_only]
#[inline(always)]
unsafe fn shuffle_32(
    mode: WarpShuffleMode,
    mask: u32,
    value: u32,
    b: u32,
    width: u32,
) -> (u32, bool) {
    assert!(
        width.is_power_of_two() && width <= 32,
        "the width of a shuffle must be a power of two up to 32"
    );
    // The third operand of the instruction: the lane bits that name the section, and the clamp within it, which is at the
    // section's lower end only for `up`.
    let section_mask = 32 - width;
    let last_in_section = section_mask << 8 | 31;
    // SAFETY: the caller's promise is the instruction's.
    let shuffled = unsafe {
        match mode {
            WarpShuffleMode::Idx => shfl_idx(mask, value, b, last_in_section),
            WarpShuffleMode::Up => shfl_up(mask, value, b, section_mask << 8),
            WarpShuffleMode::Down => shfl_down(mask, value, b, last_in_section),
            WarpShuffleMode::Xor => shfl_bfly(mask, value, b, last_in_section),
        }
    };
    // The instruction's own predicate is a one-bit integer in a pair, which Rust cannot name; this is its definition in the
    // PTX manual, and it costs nothing if the caller ignores it.
    let lane = lane_id();
    let first = lane & section_mask;
    let last = first | (31 & !section_mask);
    let b = b & 31;
    let in_section = match mode {
        WarpShuffleMode::Idx => first | (b & !section_mask) <= last,
        WarpShuffleMode::Up => lane as i32 - b as i32 >= first as i32,
        WarpShuffleMode::Down => lane + b <= last,
        WarpShuffleMode::Xor => lane ^ b <= last,
    };
    (shuffled, in_section)
}

/// Values that fit one shuffle: how they become 32 bits, and back.
macro_rules! impl_shuffle_32 {
    ($($type:ty: $to_bits:expr, $from_bits:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            unsafe fn shuffle(
                mode: WarpShuffleMode,
                mask: u32,
                value: Self,
                b: u32,
                width: u32,
            ) -> (Self, bool) {
                let (to_bits, from_bits) = ($to_bits, $from_bits);
                // SAFETY: the caller's promise is the one asked for.
                let (bits, in_section) = unsafe { shuffle_32(mode, mask, to_bits(value), b, width) };
                (from_bits(bits), in_section)
            }
        }
    )*};
}

impl_shuffle_32! {
    u8: |value: u8| u32::from(value), |bits: u32| bits as u8;
    i8: |value: i8| value as u32, |bits: u32| bits as i8;
    u16: |value: u16| u32::from(value), |bits: u32| bits as u16;
    i16: |value: i16| value as u32, |bits: u32| bits as i16;
    u32: |value: u32| value, |bits: u32| bits;
    i32: |value: i32| value as u32, |bits: u32| bits as i32;
    f32: f32::to_bits, f32::from_bits;
}

/// Values shuffled as two halves: the type of a half, its width in bits, and how they become bits, and back.
macro_rules! impl_shuffle_halves {
    ($($type:ty: $bits:ty, $half:ty, $to_bits:expr, $from_bits:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            unsafe fn shuffle(
                mode: WarpShuffleMode,
                mask: u32,
                value: Self,
                b: u32,
                width: u32,
            ) -> (Self, bool) {
                let (to_bits, from_bits) = ($to_bits, $from_bits);
                let bits: $bits = to_bits(value);
                // SAFETY: the caller's promise is the one asked for, once per half.
                let ((low, in_section), (high, _)) = unsafe {
                    (
                        <$half>::shuffle(mode, mask, bits as $half, b, width),
                        <$half>::shuffle(mode, mask, (bits >> <$half>::BITS) as $half, b, width),
                    )
                };
                (
                    from_bits((<$bits>::from(high) << <$half>::BITS) | <$bits>::from(low)),
                    in_section,
                )
            }
        }
    )*};
}

impl_shuffle_halves! {
    u64: u64, u32, |value: u64| value, |bits: u64| bits;
    i64: u64, u32, |value: i64| value as u64, |bits: u64| bits as i64;
    f64: u64, u32, f64::to_bits, f64::from_bits;
    u128: u128, u64, |value: u128| value, |bits: u128| bits;
    i128: u128, u64, |value: i128| value as u128, |bits: u128| bits as i128;
}
