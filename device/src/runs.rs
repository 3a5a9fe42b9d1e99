//! Runs of equal neighbours: where each begins, and what its values are. With it a reduction by key is one of segments.

use core::hint::assert_unchecked;

use crate::block::{self, Scratch};
use crate::lanes::{WARP_SIZE, ballot};
use crate::look_back::{FromHeads, SinceHead, Workspace, tiles};
use crate::operator::Sum;
use crate::scan::{AT_ONCE, BLOCK, each_item};
use crate::shuffle::shuffle_index;
use crate::thread::{block_dim_x, global_index, thread_idx_x};
use crate::unroll::each;
use crate::words::Words;

/// The keys of a thread, up to 64: the larger a tile, the fewer wait for one another.
const fn items<K>() -> usize {
    if size_of::<K>() > 4 {
        2 * AT_ONCE
    } else {
        4 * AT_ONCE
    }
}

/// The keys of a tile.
pub const fn tile<K>() -> usize {
    items::<K>() * BLOCK as usize
}

/// What is found, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Found<K> {
    /// Where runs begin, and then where the last one ends: `u64`, or `u32`.
    pub starts: *mut u64,
    /// Whether they are `u64`.
    pub are_wide: bool,
    /// Their keys.
    pub keys: *mut K,
    /// How many there is room for; `starts` has one place more.
    pub room: usize,
    /// How many there are.
    pub count: *mut u64,
}

impl<K> Found<K> {
    /// Writes where a run begins.
    ///
    /// # Safety
    /// There is such a run, or one fewer.
    #[inline(always)]
    unsafe fn write_start(&self, run: usize, start: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.are_wide {
                *self.starts.add(run) = start as u64;
            } else {
                *self.starts.cast::<u32>().add(run) = start as u32;
            }
        }
    }
}

/// The shared memory of a block, which is uninitialised.
#[derive(Debug)]
pub struct Memory {
    /// Where the runs of a tile begin in it: a place for each key.
    pub starts: *mut u16,
    /// The counts of the warps.
    pub scratch: Scratch<u32, BLOCK>,
    /// How many runs begin before the tile, in parts.
    pub before: *mut SinceHead<u64>,
    /// The number of the tile.
    pub number: *mut u32,
}

/// Finds the runs of `n` keys, in one pass. If there are more than there is room for, the first are written, where the next begins, and how
/// many there are.
///
/// A warp has rows of 32 neighbouring keys. Of each row it votes where a run begins. How many begin before the tile, tiles tell each
/// other as those of a [`scan`](crate::scan) do; meanwhile a tile gathers its own in shared memory, to write them side by side.
///
/// # Safety
/// - The grid has one dimension, and a block [`BLOCK`] threads; every thread makes the call, once, with the same arguments.
/// - Nothing writes the keys, and nothing else touches what is found. `workspace` points to as many words as
///   [`workspace_words`](crate::look_back::workspace_words) says for the [`tile`]s of `n` keys and a `u64`, which are 0; they are 0 again
///   afterwards.
#[inline(always)]
pub unsafe fn runs<K: Words + PartialEq>(
    keys: *const K,
    n: usize,
    found: Found<K>,
    workspace: *mut u64,
    memory: Memory,
) {
    let lane = thread_idx_x() % WARP_SIZE;
    let items = items::<K>();
    let tiles = tiles(n, tile::<K>()) as u32;
    if n == 0 {
        if global_index() == 0 {
            // SAFETY: the caller's promise.
            unsafe {
                *found.count = 0;
                found.write_start(0, 0);
            }
        }
        return;
    }
    let last = n - 1;
    // SAFETY: the caller's promise; whole warps shuffle and vote; there is a barrier between the writes and the reads of shared memory.
    unsafe {
        assert_unchecked(block_dim_x() == BLOCK && thread_idx_x() < BLOCK);
        let workspace = Workspace::new(workspace, tiles);
        let mut drawn = workspace.draw();
        loop {
            let number = workspace.drawn(drawn, memory.number);
            if number >= tiles {
                break;
            }
            let of_tile = number as usize * tile::<K>();
            let of_warp = of_tile + (thread_idx_x() - lane) as usize * items;
            let place = |item: usize| of_warp + item * WARP_SIZE as usize + lane as usize;
            // Many loads are under way together. Beyond the end it is the last key once more.
            let nearest = |place: usize| if place < last { place } else { last };
            let mut before_row = *keys.add(nearest(if of_warp == 0 { 0 } else { of_warp - 1 }));
            // Where runs begin among the keys of this lane, a bit for each. Beyond the end none does: the last key comes again.
            let mut heads = u64::from(place(0) == 0);
            let mut from = 0;
            while from < items {
                let mut loaded = [before_row; AT_ONCE];
                if of_warp + items * WARP_SIZE as usize <= n {
                    let mine = keys.add(place(from));
                    each(
                        AT_ONCE,
                        #[inline(always)]
                        |item| loaded[item] = *mine.add(item * WARP_SIZE as usize),
                    );
                } else {
                    each(
                        AT_ONCE,
                        #[inline(always)]
                        |item| loaded[item] = *keys.add(nearest(place(from + item))),
                    );
                }
                each(
                    AT_ONCE,
                    #[inline(always)]
                    |item| {
                        // The last lane hands the key before the row to the first.
                        let is_last = lane == WARP_SIZE - 1;
                        let handed = if is_last { before_row } else { loaded[item] };
                        let previous = shuffle_index(handed, lane.wrapping_sub(1) % WARP_SIZE);
                        heads |= u64::from(loaded[item] != previous) << (from + item);
                        before_row = loaded[item];
                    },
                );
                from += AT_ONCE;
            }
            let mine = u32::count_ones(heads as u32) + u32::count_ones((heads >> 32) as u32);
            let scanned = block::exclusive_scan(Sum, mine, memory.scratch);
            let before_warp = shuffle_index(scanned.prefix, 0);
            let mut rank = before_warp;
            each_item(
                items,
                #[inline(always)]
                |item| {
                    let begins = heads >> item & 1 != 0;
                    let row = ballot(u32::MAX, begins);
                    if begins {
                        let mine = rank + u32::count_ones(row & ((1 << lane) - 1));
                        *memory.starts.add(mine as usize) = (place(item) - of_tile) as u16;
                    }
                    rank += u32::count_ones(row);
                },
            );
            let in_tile = scanned.total as usize;
            let mine = SinceHead {
                state: in_tile as u64,
                has_head: false,
            };
            // Has a barrier, after which all is gathered.
            let before = workspace
                .before(FromHeads(Sum), number, mine, memory.before)
                .state as usize;
            // The next ticket arrives while the runs are written.
            drawn = workspace.draw();
            if thread_idx_x() == 0 && number == tiles - 1 {
                let count = before + in_tile;
                *found.count = count as u64;
                if count <= found.room {
                    found.write_start(count, n);
                }
            }
            // Those of the tile that there is room for, and the next, where the last of those ends.
            let left = (found.room + 1).saturating_sub(before);
            let most = if left < in_tile { left } else { in_tile };
            let mut run = thread_idx_x() as usize;
            while run < most {
                let start = of_tile + usize::from(*memory.starts.add(run));
                found.write_start(before + run, start);
                if before + run < found.room {
                    *found.keys.add(before + run) = *keys.add(start);
                }
                run += BLOCK as usize;
            }
        }
        workspace.leave(0);
    }
}
