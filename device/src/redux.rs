//! Reductions of a warp's 32 integers by one instruction, `redux.sync`, which exists from sm_80 on.
//!
//! Here and not from `cuda_std::warp`, because rust-cuda's is inline assembly, which its compiler may copy into divergent
//! branches. libNVVM, which compiles for rust-cuda, knows the instruction's addition alone, under a name that LLVM does not
//! know; the others are shuffles there.
//!
//! [`warp::reduce`](crate::warp::reduce) uses these functions wherever they exist.

#![cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]

use cuda_std::gpu_only;

#[cfg(target_feature = "sm_80")]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.redux.sync.add"]
    fn redux_sync_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    fn redux_sync_min(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    fn redux_sync_max(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    fn redux_sync_umin(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    fn redux_sync_umax(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    fn redux_sync_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    fn redux_sync_or(value: u32, mask: u32) -> u32;
}

/// The same functions for whole warps, as rust-cuda can compile them.
#[cfg(target_feature = "compute_80")]
mod in_rust_cuda {
    use crate::shuffle::shuffle_xor;

    pub unsafe fn redux_sync_add(value: u32, mask: u32) -> u32 {
        unsafe extern "C" {
            #[link_name = "llvm.nvvm.redux.sync"]
            fn redux_sync(operation: u32, value: u32, mask: u32) -> u32;
        }
        // SAFETY: the caller's promise is the instruction's; operation 0 is the addition.
        unsafe { redux_sync(0, value, mask) }
    }

    #[inline(always)]
    unsafe fn butterfly(value: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
        let mut result = value;
        let mut distance = 1;
        while distance < 32 {
            // SAFETY: the mask is the whole warp.
            result = combine(result, unsafe { shuffle_xor(result, distance) });
            distance *= 2;
        }
        result
    }

    #[inline(always)]
    pub unsafe fn redux_sync_min(value: u32, _mask: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { butterfly(value, |left, right| (left as i32).min(right as i32) as u32) }
    }

    #[inline(always)]
    pub unsafe fn redux_sync_max(value: u32, _mask: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { butterfly(value, |left, right| (left as i32).max(right as i32) as u32) }
    }

    #[inline(always)]
    pub unsafe fn redux_sync_umin(value: u32, _mask: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { butterfly(value, |left, right| left.min(right)) }
    }

    #[inline(always)]
    pub unsafe fn redux_sync_umax(value: u32, _mask: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { butterfly(value, |left, right| left.max(right)) }
    }

    #[inline(always)]
    pub unsafe fn redux_sync_and(value: u32, _mask: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { butterfly(value, |left, right| left & right) }
    }

    #[inline(always)]
    pub unsafe fn redux_sync_or(value: u32, _mask: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { butterfly(value, |left, right| left | right) }
    }
}
#[cfg(target_feature = "compute_80")]
use in_rust_cuda::*;

macro_rules! redux {
    ($($(#[$doc:meta])* $name:ident: $value:ident by $instruction:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// All 32 lanes of the warp call it, and none has exited.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name(value: $value) -> $value {
            // SAFETY: the mask names all 32 lanes, and the caller promises that all of them come here.
            unsafe { $instruction(value as u32, u32::MAX) as $value }
        }
    )*};
}

redux! {
    /// The sum of the warp's 32 values, in every lane, by one instruction.
    redux_add: i32 by redux_sync_add;
    /// The least of the warp's 32 values, in every lane.
    redux_min: i32 by redux_sync_min;
    /// The greatest of the warp's 32 values, in every lane.
    redux_max: i32 by redux_sync_max;
    /// The least of the warp's 32 values, in every lane.
    redux_min_u32: u32 by redux_sync_umin;
    /// The greatest of the warp's 32 values, in every lane.
    redux_max_u32: u32 by redux_sync_umax;
    /// The bits that are set in all of the warp's 32 values, in every lane.
    redux_and: u32 by redux_sync_and;
    /// The bits that are set in any of the warp's 32 values, in every lane.
    redux_or: u32 by redux_sync_or;
}
