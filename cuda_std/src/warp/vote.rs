//! Votes: one predicate per lane in, one answer for all out.

use crate::gpu_only;

/// Whether `predicate` holds in every lane of `mask`.
///
/// # Safety
/// The calling lane is in `mask`, and no lane in `mask` has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.all.sync"]
        fn vote_all(mask: u32, predicate: bool) -> bool;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_all(mask, predicate) }
}

/// Whether `predicate` holds in any lane of `mask`.
///
/// # Safety
/// The calling lane is in `mask`, and no lane in `mask` has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.any.sync"]
        fn vote_any(mask: u32, predicate: bool) -> bool;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_any(mask, predicate) }
}

/// The lanes of `mask` in which `predicate` holds, one bit each.
///
/// # Safety
/// The calling lane is in `mask`, and no lane in `mask` has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        fn vote_ballot(mask: u32, predicate: bool) -> u32;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_ballot(mask, predicate) }
}
