//! What the 32 threads of a warp do together: barriers, shuffles, votes, matches and reductions.
//!
//! The `mask` that most functions take has one bit per lane: the lanes that take part. Each of them must call the
//! function with the same mask, and none may have exited; `u32::MAX` stands for the whole warp.

mod matching;
mod reduce;
mod shuffle;
mod vote;

pub use matching::{WarpMatchValue, warp_match_all, warp_match_any};
pub use reduce::{WarpReduceValue, WarpReductionOp, warp_reduce};
#[doc(hidden)]
pub use shuffle::WarpShuffleMode;
pub use shuffle::{
    WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};
pub use vote::{warp_vote_all, warp_vote_any, warp_vote_ballot};

use crate::gpu_only;

/// Waits until every lane in `mask` has come here. Afterwards all of them see what each wrote before.
///
/// # Safety
/// The calling lane is in `mask`, and no lane in `mask` has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn bar_warp_sync(mask: u32);
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { bar_warp_sync(mask) }
}

/// The lane of the thread in its warp: 0 to 31.
#[gpu_only]
#[inline(always)]
pub fn lane_id() -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        fn laneid() -> u32;
    }
    // SAFETY: reading a special register has no precondition.
    unsafe { laneid() }
}

/// The lanes that execute this call together with the calling one, at this moment; needs PTX 6.2.
///
/// The hardware decides which lanes those are. To the other functions pass a mask that the algorithm knows, not this one.
#[gpu_only]
#[inline(always)]
pub fn activemask() -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.activemask"]
        fn activemask() -> u32;
    }
    // SAFETY: reading the mask has no precondition.
    unsafe { activemask() }
}
