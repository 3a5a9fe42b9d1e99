//! Runs of equal neighbours: where each begins, and what its values are. With it a reduction by key is one of segments.

use crate::block::{self, Scratch};
use crate::lanes::WARP_SIZE;
use crate::operator::Sum;
use crate::scan::{BLOCK, Workspace, tiles};
use crate::thread::{sync_threads, thread_idx_x};

/// Keys of a tile.
pub const TILE: usize = ITEMS * BLOCK as usize;
/// Keys of a thread.
const ITEMS: usize = 8;

/// What is found, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Found<K> {
    /// Where runs begin, and after the last one the number of keys.
    pub starts: *mut u64,
    /// Their keys.
    pub keys: *mut K,
    /// How many there is room for; `starts` has one place more.
    pub room: usize,
    /// How many there are.
    pub count: *mut u64,
}

/// The shared memory of a block, which is uninitialised.
#[derive(Debug)]
pub struct Memory {
    /// The counts of the warps.
    pub scratch: Scratch<u32, BLOCK>,
    /// How many runs begin before the tile.
    pub before: *mut u64,
    /// The number of the tile.
    pub number: *mut u32,
}

/// Finds the runs of `n` keys, in one pass. If there are more than there is room for, the first are written, and how many there are.
///
/// Tiles hand to each other how many runs begin in them, as those of a [`scan`](crate::scan) their states.
///
/// # Safety
/// - The grid has one dimension and a block for each of the [`tiles`] of `n` keys, at least one key, and a block [`BLOCK`] threads; every
///   thread makes the call, once, with the same arguments.
/// - Nothing writes the keys, and nothing else touches what is found, nor the workspace.
#[inline(always)]
pub unsafe fn runs<K: Copy + PartialEq>(
    keys: *const K,
    n: usize,
    found: Found<K>,
    workspace: Workspace<u64>,
    memory: Memory,
) {
    let thread = thread_idx_x() as usize;
    // SAFETY: the caller's promise; between the writes and the reads of shared memory by different threads there is a barrier.
    unsafe {
        let number = workspace.next_tile(memory.number);
        let tiles = tiles(n, TILE);
        let first = number * TILE + thread * ITEMS;
        let mut heads = 0_u32;
        let mut item = 0;
        while item < ITEMS {
            let place = first + item;
            if place < n {
                let begins = place == 0 || *keys.add(place) != *keys.add(place - 1);
                heads |= u32::from(begins) << item;
            }
            item += 1;
        }
        let scanned = block::exclusive_scan(Sum, u32::count_ones(heads), memory.scratch);
        let in_tile = u64::from(scanned.total);
        if thread < WARP_SIZE as usize {
            let before = workspace.before(Sum, number, tiles, in_tile);
            if thread == 0 {
                *memory.before = before;
                if number == tiles - 1 {
                    let count = before + in_tile;
                    *found.count = count;
                    if count as usize <= found.room {
                        *found.starts.add(count as usize) = n as u64;
                    }
                }
            }
        }
        sync_threads();
        let mut rank = (*memory.before + u64::from(scanned.prefix)) as usize;
        while heads != 0 && rank < found.room {
            let place = first + u32::trailing_zeros(heads) as usize;
            *found.starts.add(rank) = place as u64;
            *found.keys.add(rank) = *keys.add(place);
            heads &= heads - 1;
            rank += 1;
        }
        workspace.leave(tiles);
    }
}
