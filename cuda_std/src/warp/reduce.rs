//! Integer reductions of a warp in one instruction (`redux.sync`, compute capability 8.0 and above).

#[cfg(target_arch = "nvptx64")]
use WarpReductionOp::{Add, And, Max, Min, Or, Xor};

use crate::gpu_only;

/// The operation of a warp reduction.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The wrapping sum.
    Add,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// Bits set in every value.
    And,
    /// Bits set in any value.
    Or,
    /// Bits set in an odd number of values.
    Xor,
}

/// A value that a warp reduces in one instruction.
pub trait WarpReduceValue: Sized {
    /// The reduction of `value` over the lanes in `mask`.
    ///
    /// # Safety
    /// As for [`warp_reduce`].
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

/// The reduction of `value` over the lanes in `mask`, returned in each of them; needs compute capability 8.0.
///
/// `op` must be a constant where the call is compiled.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has exited, and all of them call this with the same mask.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller's promise is the one asked for.
    unsafe { T::reduce(mask, value, op) }
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.redux.sync.add"]
    fn redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    fn redux_min_signed(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    fn redux_min_unsigned(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    fn redux_max_signed(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    fn redux_max_unsigned(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    fn redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    fn redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    fn redux_xor(value: u32, mask: u32) -> u32;
}

#[gpu_only]
#[inline(always)]
unsafe fn reduce_unsigned(mask: u32, value: u32, op: WarpReductionOp) -> u32 {
    // SAFETY: the caller's promise is the instruction's.
    unsafe {
        match op {
            Add => redux_add(value, mask),
            Min => redux_min_unsigned(value, mask),
            Max => redux_max_unsigned(value, mask),
            And => redux_and(value, mask),
            Or => redux_or(value, mask),
            Xor => redux_xor(value, mask),
        }
    }
}

#[gpu_only]
#[inline(always)]
unsafe fn reduce_signed(mask: u32, value: i32, op: WarpReductionOp) -> i32 {
    let bits = value as u32;
    // SAFETY: the caller's promise is the instruction's.
    let reduced = unsafe {
        match op {
            Add => redux_add(bits, mask),
            Min => redux_min_signed(bits, mask),
            Max => redux_max_signed(bits, mask),
            And => redux_and(bits, mask),
            Or => redux_or(bits, mask),
            Xor => redux_xor(bits, mask),
        }
    };
    reduced as i32
}

impl WarpReduceValue for u32 {
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { reduce_unsigned(mask, value, op) }
    }
}

impl WarpReduceValue for i32 {
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { reduce_signed(mask, value, op) }
    }
}
