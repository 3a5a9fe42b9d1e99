//! The order itself: trees over the slots of a chunk, by the threads of a block, of a warp, or a single one.

use crate::lanes::WARP_SIZE;
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::Combine;
use crate::shuffle::Lanes;
use crate::thread::{sync_threads, sync_threads_or, thread_idx_x};
use crate::words::Words;

/// The values of a chunk.
pub const CHUNK: usize = 4096;
/// The slots that they belong to.
pub const SLOTS: usize = 1024;
/// The threads of a block of [`by_blocks`](super::by_blocks).
pub const BLOCK: u32 = 256;
/// Levels of the tree over all slots.
const LEVELS: usize = 10;
const _: () = assert!(1 << LEVELS == SLOTS);
/// Slots of a thread of a block.
const OF_THREAD: usize = SLOTS / BLOCK as usize;
/// Hands in the state of a chunk; in the first thread of the block that comes last, the state of all chunks.
///
/// # Safety
/// As for [`by_blocks`](super::by_blocks), for the states and the counter of a row.
#[inline(always)]
pub(super) unsafe fn finish<S: Words>(
    operator: impl Combine<S>,
    of_chunk: S,
    chunk: usize,
    chunks: usize,
    states: *mut S,
    counter: *mut u32,
    scratch: *mut S,
) -> Option<S> {
    // SAFETY: the caller's promise. A ticket orders the store of a state before it, and the loads of the last block after it.
    unsafe {
        let mut is_last = false;
        if thread_idx_x() == 0 {
            *states.add(chunk) = of_chunk;
            is_last = draw_ticket(counter) as usize == chunks - 1;
        }
        if !sync_threads_or(is_last) {
            return None;
        }
        let all = tree(operator, chunks, scratch, |chunk| *states.add(chunk));
        (thread_idx_x() == 0).then(|| {
            store_relaxed(counter, 0);
            all
        })
    }
}

/// The states of these numbers combined in the fixed order, in the first thread of the block; the identity of none.
///
/// # Safety
/// Every thread of the block makes the call; there are [`BLOCK`] of them, and as many states in `scratch`.
#[inline(always)]
pub(super) unsafe fn tree<S: Words>(
    operator: impl Combine<S>,
    count: usize,
    scratch: *mut S,
    state: impl Fn(usize) -> S,
) -> S {
    let thread = thread_idx_x();
    let slots = if count < SLOTS { count } else { SLOTS } as u32;
    let mut of_slots = [operator.identity(); OF_THREAD];
    let mut round = 0;
    while round < OF_THREAD {
        let mut number = thread as usize + round * BLOCK as usize;
        if number < count {
            of_slots[round] = state(number);
            number += SLOTS;
            while number < count {
                of_slots[round] = operator.combine(of_slots[round], state(number));
                number += SLOTS;
            }
        }
        round += 1;
    }
    let mut mine = within_thread(operator, of_slots, thread, BLOCK, slots);

    let mut distance = BLOCK / 2;
    // SAFETY: there is a place for each thread, and a barrier between a write and the reads of others, both ways. The first warp is whole.
    unsafe {
        while distance >= WARP_SIZE {
            *scratch.add(thread as usize) = mine;
            sync_threads();
            if thread < distance && thread + distance < slots {
                let other = *scratch.add((thread + distance) as usize);
                mine = operator.combine(mine, other);
            }
            sync_threads();
            distance /= 2;
        }
        within_warp(operator, mine, thread, WARP_SIZE / 2, slots)
    }
}

/// The slots of a thread, `apart` from one another, combined: the first with that half of them further, and so on.
#[inline(always)]
pub(super) fn within_thread<S: Copy, const N: usize>(
    operator: impl Combine<S>,
    mut states: [S; N],
    first: u32,
    apart: u32,
    slots: u32,
) -> S {
    let mut half = N / 2;
    while half > 0 {
        let mut place = 0;
        while place < half {
            if first + (place + half) as u32 * apart < slots {
                states[place] = operator.combine(states[place], states[place + half]);
            }
            place += 1;
        }
        half /= 2;
    }
    states[0]
}

/// The slots of a thread that shares a tree of `count` states with `apart` − 1 others, combined: `first`, which is below `apart`, and
/// every slot `apart` further. `apart` is a power of two up to [`SLOTS`]. The identity if there is no such slot.
///
/// The leaves are visited in the order of the tree, depth first, so that a state for each level is all that waits: the number of a leaf,
/// with its bits reversed, says which slot it is, and how many ones it ends with, how many states it completes.
#[inline(always)]
pub(super) fn of_thread<S: Copy>(
    operator: impl Combine<S>,
    count: usize,
    first: u32,
    apart: u32,
    state: impl Fn(usize) -> S,
) -> S {
    let slots = if count < SLOTS { count } else { SLOTS } as u32;
    let mut levels = 0;
    while apart << levels < slots {
        levels += 1;
    }
    let mut waiting = [operator.identity(); LEVELS + 1];
    // A bit for each level: whether what waits there has a slot at all.
    let mut are_there = 0_u32;
    let mut leaf = 0_u32;
    while leaf < 1 << levels {
        let slot = first + (leaf.reverse_bits() >> 1 >> (31 - levels)) * apart;
        let mut mine = operator.identity();
        let mut is_there = slot < slots;
        if is_there {
            let mut number = slot as usize;
            mine = state(number);
            number += SLOTS;
            while number < count {
                mine = operator.combine(mine, state(number));
                number += SLOTS;
            }
        }
        let completed = u32::trailing_ones(leaf);
        let mut level = 0;
        while level < completed {
            // Of two neighbours the first has a slot if the second has.
            let left = waiting[level as usize];
            mine = if is_there {
                operator.combine(left, mine)
            } else {
                left
            };
            is_there = are_there & (1 << level) != 0;
            level += 1;
        }
        waiting[level as usize] = mine;
        are_there = are_there & !(1 << level) | u32::from(is_there) << level;
        leaf += 1;
    }
    waiting[levels as usize]
}

/// The states of lanes combined with those at this distance, then at half of it, and so on.
///
/// # Safety
/// The whole warp makes the call.
#[inline(always)]
pub(super) unsafe fn within_warp<S: Words>(
    operator: impl Combine<S>,
    mut mine: S,
    slot: u32,
    mut distance: u32,
    slots: u32,
) -> S {
    while distance > 0 {
        // SAFETY: the caller's promise.
        let other = unsafe { Lanes::WARP.shuffle_down(mine, distance) };
        // What lanes beyond the distance combine, nobody asks for.
        if slot + distance < slots {
            mine = operator.combine(mine, other);
        }
        distance /= 2;
    }
    mine
}
