//! Segments that cross warps and blocks.
//!
//! The first segment that ends in a warp's part may have begun in an earlier one, and what comes after the last end belongs to a later one.
//! One thread of each block combines these states of its warps. Those of the blocks go to global memory, and the last block to come
//! combines them, in their order, by a scan that begins anew at each end.

use super::memory::{CARRIES, Memory};
use super::path::List;
use crate::lanes::{WARP_SIZE, ballot};
use crate::operator::{Combine, Operator};
use crate::shuffle::shuffle_up;
use crate::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use crate::vector::Loaded;
use crate::words::Words;

/// What the blocks hand to each other, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<S> {
    /// Two states per block: of the first segment that ends in it, and of what comes after the last end.
    pub states: *mut S,
    /// Per block, how many segments end in it and before.
    pub ends: *mut u64,
    /// A word that is 0 before and after.
    pub counter: *mut u32,
}

/// Combines what the warps of a block leave, writes the results of segments that cross warps within it, and leaves the states of the block in
/// the workspace.
///
/// # Safety
/// One thread makes the call, after all warps have left their states.
#[inline(always)]
pub(super) unsafe fn join_warps<T: Loaded, O: Operator<T>>(
    operator: O,
    list: List,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    let block = block_idx_x() as usize;
    let mut rest = operator.identity();
    let mut is_first = true;
    let mut warp = 0;
    // SAFETY: the caller's promise.
    unsafe {
        while warp < (block_dim_x() / WARP_SIZE) as usize {
            let (start, end) = (
                *memory.places.add(2 * warp),
                *memory.places.add(2 * warp + 1),
            );
            if start < end {
                let state = operator.combine(rest, *memory.states.add(2 * warp));
                if is_first {
                    *workspace.states.add(2 * block) = state;
                    is_first = false;
                } else {
                    *results.add(start) = operator.finish(state, list.length_of(start));
                }
                rest = operator.identity();
            }
            rest = operator.combine(rest, *memory.states.add(2 * warp + 1));
            *workspace.ends.add(block) = end as u64;
            warp += 1;
        }
        *workspace.states.add(2 * block + 1) = rest;
    }
}

/// What the threads before this one have left since the last of them that is ended. If none is ended, the carry of this `turn` comes before.
///
/// A thread leaves `rest`: the state of what comes after its last end if `is_ended`, of all its values otherwise. What all threads leave
/// becomes the other carry, that of the next turn.
///
/// # Safety
/// All threads of the block make the call. There is a barrier before the memory is used again.
#[inline(always)]
unsafe fn carry_into<S: Words>(
    operator: impl Combine<S>,
    is_ended: bool,
    rest: S,
    turn: usize,
    memory: Memory<S>,
) -> S {
    let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
    // Where the words of the warps begin that say whether one of its threads is ended.
    let ended_warps = 32;
    // SAFETY: all lanes of the warp are here; what is read after the barrier was written before it.
    unsafe {
        let ended = ballot(u32::MAX, is_ended);
        // A lane combines from the last ended lane up to itself; if none is ended, from the first lane.
        let first = 31 - u32::leading_zeros(ended & (u32::MAX >> (31 - lane)) | 1);
        let mut sum = rest;
        let mut delta = 1;
        while delta < WARP_SIZE {
            let before = shuffle_up(sum, delta);
            if lane >= first + delta {
                sum = operator.combine(before, sum);
            }
            delta *= 2;
        }
        let before = shuffle_up(sum, 1);
        if lane == WARP_SIZE - 1 {
            *memory.states.add(warp as usize) = sum;
            *memory.words.add((ended_warps + warp) as usize) = (ended != 0).into();
        }
        sync_threads();

        let mut carry = *memory.states.add(CARRIES + turn);
        let mut other = 0;
        while other < warp {
            let of_warp = *memory.states.add(other as usize);
            carry = if *memory.words.add((ended_warps + other) as usize) != 0 {
                of_warp
            } else {
                operator.combine(carry, of_warp)
            };
            other += 1;
        }
        if thread_idx_x() == block_dim_x() - 1 {
            *memory.states.add(CARRIES + (turn ^ 1)) = if ended != 0 {
                sum
            } else {
                operator.combine(carry, sum)
            };
        }
        if lane == 0 {
            carry
        } else if ended & ((1 << lane) - 1) != 0 {
            before
        } else {
            operator.combine(carry, before)
        }
    }
}

/// Writes the results of the segments that are the first to end in a block: the last block to come does this for all.
///
/// # Safety
/// All threads of the block make the call, after all blocks have left their states.
#[inline(always)]
pub(super) unsafe fn finish_crossing<T: Loaded, O: Operator<T>>(
    operator: O,
    list: List,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    let (tid, blocks) = (thread_idx_x() as usize, grid_dim_x() as usize);
    let mut turn = 0;
    let mut first = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if tid == 0 {
            *memory.states.add(CARRIES) = operator.identity();
        }
        while first < blocks {
            sync_threads();
            let block = first + tid;
            let (mut start, mut end, mut rest) = (0, 0, operator.identity());
            if block < blocks {
                if block > 0 {
                    start = *workspace.ends.add(block - 1) as usize;
                }
                end = *workspace.ends.add(block) as usize;
                rest = *workspace.states.add(2 * block + 1);
            }
            let carry = carry_into(operator, start < end, rest, turn, memory);
            if start < end {
                let state = operator.combine(carry, *workspace.states.add(2 * block));
                *results.add(start) = operator.finish(state, list.length_of(start));
            }
            turn ^= 1;
            first += block_dim_x() as usize;
        }
    }
}
