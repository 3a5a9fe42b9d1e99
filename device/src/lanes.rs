//! What the lanes of a warp wait for and vote on together.

use cuda_std::gpu_only;

/// Threads in a warp, on every NVIDIA GPU so far.
pub const WARP_SIZE: u32 = 32;

/// Waits until every lane of the warp has come here. Afterwards all of them see what each wrote before.
///
/// Here so that calls need not repeat the mask, which is the whole warp in nearly every kernel.
///
/// # Safety
/// All 32 lanes of the warp call it, and none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp() {
    // SAFETY: the mask names all 32 lanes, and the caller promises that all of them come here.
    unsafe { sync_lanes(u32::MAX) }
}

/// Like [`sync_warp`], for the lanes of the warp that `mask` names, one bit each.
///
/// # Safety
/// All lanes in `mask` call it with the same `mask`, the calling one is among them, and none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_lanes(mask: u32) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn bar_warp_sync(mask: u32);
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { bar_warp_sync(mask) }
}

/// Whether `predicate` holds in every lane of `mask`.
///
/// This and the next two are here because rust-cuda's are inline assembly, which its compiler may copy into branches.
///
/// # Safety
/// The calling lane is in `mask`, and all lanes of `mask` make the call with the same mask; none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn vote_all(mask: u32, predicate: bool) -> bool {
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
/// As for [`vote_all`].
#[gpu_only]
#[inline(always)]
pub unsafe fn vote_any(mask: u32, predicate: bool) -> bool {
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
/// As for [`vote_all`].
#[gpu_only]
#[inline(always)]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        fn vote_ballot(mask: u32, predicate: bool) -> u32;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_ballot(mask, predicate) }
}
