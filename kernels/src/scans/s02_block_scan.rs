//! # Scans 2 · A scan of a block
//!
//! ## Before
//! The page before ends at 32 elements, because a lane can't read a register of another warp.
//!
//! ## Idea
//! Scan three times. Each warp scans its elements. The last lane of each then has the sum of its warp and leaves it in shared memory. The
//! first warp scans these sums, 32 at most. Now the sum of everything before a warp is in the place of the warp before it, and each
//! thread adds it to its own.
//!
//! Every scan of something larger has this shape: scan the parts, scan the sums of the parts, add. The sum of all parts comes for free,
//! at the end of the second scan.
//!
//! ## Picture
//! A block of three warps of four lanes:
//! ```text
//! elements        3  1  4  1 │ 5  9  2  6 │ 5  3  5  8
//! each warp       3  4  8  9 │ 5 14 16 22 │ 5  8 13 21
//! their sums               9           22           21
//! scanned                  9           31           52     the sum of the block
//! + the one before         0            9           31
//!                 3  4  8  9 │14 23 25 31 │36 39 44 52
//! ```
//!
//! ## Cost
//! For one block of B threads: B loads and B + 1 stores; 2 barriers; 2·B ∕ 32 shared words stored and B − 32 + B ∕ 32 + 1 loaded, a
//! warp at a time without conflicts, because its lanes read one word.
//!
//! ## Observe
//! In the PTX of `block_scan`: ten `shfl.sync.up.b32` and two `bar.sync`.
//!
//! **Predict.** A block of 512 threads has 16 warps, and 2¹⁶ elements are 128 blocks. How many wavefronts of shared
//! memory do the loads take, and how many of all wavefronts are excessive?
//! ```console
//! $ warpfold profile block_scan -n 2^16 --metrics shared_load_wavefronts,shared_store_wavefronts,shared_wavefronts_excessive
//! ...
//! shared_wavefronts_excessive           0
//! shared_load_wavefronts            2,176
//! shared_store_wavefronts           2,176
//! ...
//! ```
//! None is excessive: for each block there are as many loads, and as many stores, as it has warps, and one more of
//! either.
//!
//! ## Break it
//! Take the second barrier out of `scan_block`. Warps then read a sum before the first warp has scanned it:
//! ```console
//! $ warpfold try block_scan --check -n 1000 --block 64
//! ...
//! racecheck: write after read at shared address 0x0 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Shubhabrata Sengupta, Mark Harris, Michael Garland, *Efficient Parallel Scan Algorithms for GPUs* (NVIDIA, 2008), whose warps are
//! scanned through shared memory.

use crate::prelude::*;
use crate::scans::s01_warp_scan::scan_section;

/// The most warps of a block.
pub const MOST_WARPS: u32 = 32;

/// What a scan of a block gives to a thread.
#[derive(Clone, Copy, Debug)]
pub struct ScanOfBlock {
    /// The sum of the values of the block's threads up to this one, with its own.
    pub sum: i32,
    /// The sum of all of them.
    pub total: i32,
}

/// Scans the tile of each block: `sums` gets for each element the sum of its tile up to it, and `totals` the sum of each tile.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, `sums` to `n` and `totals` to one per block that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn block_scan(values: *const i32, sums: *mut i32, totals: *mut i32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; MOST_WARPS]);
    let index = global_index();
    // SAFETY: the index is below n where memory is accessed; the shared array has one element per warp, and every thread makes
    // the call.
    unsafe {
        let value = if index < n { *values.add(index) } else { 0 };
        let scan = scan_block(value, warp_sums);
        if index < n {
            *sums.add(index) = scan.sum;
        }
        if thread_idx_x() == 0 {
            *totals.add(block_idx_x() as usize) = scan.total;
        }
    }
}

/// The sums of the values of the block's threads up to this one, and of all.
///
/// # Safety
/// `warp_sums` points to one element per warp that only this block touches, and all threads of the block make the call; B is a multiple
/// of 32. Before it is used again there is a barrier.
#[inline(always)]
pub unsafe fn scan_block(value: i32, warp_sums: *mut i32) -> ScanOfBlock {
    let lane = thread_idx_x() % WARP_SIZE;
    let warp = thread_idx_x() / WARP_SIZE;
    let warps = block_dim_x() / WARP_SIZE;
    // SAFETY: whole warps make the calls; there is one element per warp, and between two barriers each is touched by one thread or only
    // read.
    unsafe {
        let of_warp = scan_section(Lanes::WARP, value);
        if lane == WARP_SIZE - 1 {
            *warp_sums.add(warp as usize) = of_warp;
        }
        sync_threads();

        if warp == 0 {
            let mine = if lane < warps {
                *warp_sums.add(lane as usize)
            } else {
                0
            };
            let scanned = scan_section(Lanes::WARP, mine);
            if lane < warps {
                *warp_sums.add(lane as usize) = scanned;
            }
        }
        sync_threads();

        let before = if warp == 0 {
            0
        } else {
            *warp_sums.add(warp as usize - 1)
        };
        ScanOfBlock {
            sum: before.wrapping_add(of_warp),
            total: *warp_sums.add(warps as usize - 1),
        }
    }
}
