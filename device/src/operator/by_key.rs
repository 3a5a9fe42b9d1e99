//! States that are combined by their keys.

use super::Combine;

/// Of two [keys](Combine::key) the greater.
#[derive(Clone, Copy)]
pub(crate) struct ByKey;

impl Combine<u64> for ByKey {
    #[inline(always)]
    fn identity(self) -> u64 {
        0
    }
    #[inline(always)]
    fn combine(self, left: u64, right: u64) -> u64 {
        if right > left { right } else { left }
    }
    #[inline(always)]
    unsafe fn combine_warp(self, key: u64, _count: u32) -> Option<u64> {
        // SAFETY: the caller's promise.
        unsafe { greatest_of_warp(key) }
    }
}

/// The greatest of the warp's 32 keys in every lane: by two instructions, of which the second takes the lower halves where the upper ones
/// are greatest.
///
/// # Safety
/// All 32 lanes of the warp call it, and none has exited.
#[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
#[inline(always)]
unsafe fn greatest_of_warp(key: u64) -> Option<u64> {
    use crate::redux::redux_max_u32;
    let (low, high) = (key as u32, (key >> 32) as u32);
    // SAFETY: the caller's promise.
    unsafe {
        let greatest = redux_max_u32(high);
        let low = redux_max_u32(if high == greatest { low } else { 0 });
        Some(u64::from(greatest) << 32 | u64::from(low))
    }
}

/// A step of a tree: the greater of this lane's key and that of the lane so far away.
#[cfg(target_feature = "sm_70")]
#[cfg(not(target_feature = "sm_80"))]
macro_rules! step {
    ($distance:literal) => {
        concat!(
            "mov.b64 {{%low, %high}}, {greatest};\n",
            "shfl.sync.bfly.b32 %low, %low, ",
            $distance,
            ", 31, -1;\n",
            "shfl.sync.bfly.b32 %high, %high, ",
            $distance,
            ", 31, -1;\n",
            "mov.b64 %other, {{%low, %high}};\n",
            "max.u64 {greatest}, {greatest}, %other;",
        )
    };
}

/// The greatest of the warp's 32 keys in every lane.
///
/// By shuffles. The comments say in the same text how GPUs from sm_80 on do it by two instructions: what loads the text may put the lines
/// after `//from sm_80 on:` in the place of those after `//before:`.
///
/// # Safety
/// All 32 lanes of the warp call it, and none has exited.
#[cfg(target_feature = "sm_70")]
#[cfg(not(target_feature = "sm_80"))]
#[inline(always)]
unsafe fn greatest_of_warp(key: u64) -> Option<u64> {
    let greatest: u64;
    // A barrier in the same stretch of code keeps rustc's compiler from copying the assembly into branches. rust-cuda, of which that is not
    // known, gets the other function.
    // SAFETY: the caller's promise, of both.
    unsafe {
        crate::lanes::sync_lanes(u32::MAX);
        core::arch::asm!(
            "{{",
            ".reg .b32 %low, %high;",
            ".reg .b64 %other;",
            "mov.b64 {greatest}, {key};",
            "//from sm_80 on:",
            "//.reg .b32 %most;",
            "//.reg .pred %is_less;",
            "//mov.b64 {{%low, %high}}, {key};",
            "//redux.sync.max.u32 %most, %high, -1;",
            "//setp.ne.u32 %is_less, %high, %most;",
            "//@%is_less mov.b32 %low, 0;",
            "//redux.sync.max.u32 %low, %low, -1;",
            "//mov.b64 {greatest}, {{%low, %most}};",
            "//before:",
            step!(1),
            step!(2),
            step!(4),
            step!(8),
            step!(16),
            "//end",
            "}}",
            key = in(reg64) key,
            greatest = out(reg64) greatest,
            options(nostack, preserves_flags),
        );
    }
    Some(greatest)
}

/// None here: keys are combined one after the other.
///
/// # Safety
/// It does nothing.
#[cfg(not(any(target_feature = "sm_70", target_feature = "compute_80")))]
#[inline(always)]
unsafe fn greatest_of_warp(_key: u64) -> Option<u64> {
    None
}
