//! Segments that cross warps and strips.
//!
//! The first segment that ends in a warp's part may have begun in an earlier one, and what comes after the last end belongs to a later one.
//! One thread combines these states of the warps of a strip. Those of the strips go to global memory, and the last block to come
//! combines them, in their order, by a scan that begins anew at each end.

use super::fold::scan_from_ends;
use super::memory::OfBlock;
use super::path::{List, Strips};
use crate::lanes::{WARP_SIZE, ballot};
use crate::operator::{Combine, Operator};
use crate::shuffle::shuffle_up;
use crate::thread::{block_dim_x, grid_dim_x, sync_threads, thread_idx_x};
use crate::unroll::{array, each};
use crate::vector::Loaded;
use crate::words::Words;

/// What the strips hand to each other, in global memory. A block has at most as many strips as warps.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<S> {
    /// Two states per strip: of the first segment that ends in it, and of what comes after the last end.
    pub states: *mut S,
    /// Per strip, how many segments end in it and before.
    pub ends: *mut u64,
    /// A word that is 0 before and after.
    pub counter: *mut u32,
}

/// Combines what the warps of a strip leave, writes the results of segments that cross warps within it, and leaves the states of the strip in the
/// workspace.
///
/// # Safety
/// One thread makes the call, after all warps have left their places and states.
#[inline(always)]
pub(super) unsafe fn join_strip<T: Loaded, O: Operator<T>>(
    operator: O,
    list: List,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: OfBlock<O::State>,
    strips: Strips,
    strip: usize,
) {
    let number = strips.number(strip);
    let mut rest = operator.identity();
    let mut is_first = true;
    let (first, count) = strips.warps(strip);
    let mut warp = first;
    // SAFETY: the caller's promise.
    unsafe {
        while warp < first + count {
            let [start, end] = *memory.places.add(warp);
            if start < end {
                let state = operator.combine(rest, *memory.states.add(2 * warp));
                if is_first {
                    *workspace.states.add(2 * number) = state;
                    is_first = false;
                } else {
                    let segment = start as usize;
                    *results.add(segment) = operator.finish(state, list.length_of(segment));
                }
                rest = operator.identity();
            }
            rest = operator.combine(rest, *memory.states.add(2 * warp + 1));
            *workspace.ends.add(number) = end;
            warp += 1;
        }
        *workspace.states.add(2 * number + 1) = rest;
    }
}

/// What the threads before this one have left since the last of them that is ended.
///
/// A thread leaves `rest`: the state of what comes after its last end if `is_ended`, of all its values otherwise.
///
/// # Safety
/// All threads of the block make the call. There is a barrier before the memory is used again.
#[inline(always)]
unsafe fn carry_into<S: Words>(
    operator: impl Combine<S>,
    is_ended: bool,
    rest: S,
    memory: OfBlock<S>,
) -> S {
    let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
    // SAFETY: all lanes of the warp are here; what is read after the barrier was written before it.
    unsafe {
        let ended = ballot(u32::MAX, is_ended);
        let sum = scan_from_ends(
            ended,
            rest,
            #[inline(always)]
            |left, right| operator.combine(left, right),
        );
        let before = shuffle_up(sum, 1);
        if lane == WARP_SIZE - 1 {
            *memory.states.add(warp as usize) = sum;
            *memory.words.add(warp as usize) = (ended != 0).into();
        }
        sync_threads();

        let mut carry = operator.identity();
        let mut other = 0;
        while other < warp {
            let of_warp = *memory.states.add(other as usize);
            carry = if *memory.words.add(other as usize) != 0 {
                of_warp
            } else {
                operator.combine(carry, of_warp)
            };
            other += 1;
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

/// Writes the results of the segments that are the first to end in a strip: the last block to come does this for all.
///
/// A thread has neighbouring strips, and loads what some of them have left at the same time.
///
/// # Safety
/// All threads of the block make the call, after all blocks have left their states.
#[inline(always)]
pub(super) unsafe fn finish_crossing<T: Loaded, O: Operator<T>>(
    operator: O,
    list: List,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: OfBlock<O::State>,
    strips: Strips,
) {
    const AT_ONCE: usize = 4;
    let tid = thread_idx_x() as usize;
    let all = strips.count() * grid_dim_x() as usize;
    let of_thread = all.div_ceil(block_dim_x() as usize);
    let first = tid * of_thread;
    let to = if first + of_thread < all {
        first + of_thread
    } else {
        all
    };
    // SAFETY: the caller's promise; what is loaded is of strips that there are.
    unsafe {
        let start = if first == 0 || first >= all {
            0
        } else {
            *workspace.ends.add(first - 1)
        };
        let (mut ended, mut is_ended, mut rest) = (start, false, operator.identity());
        let mut strip = first;
        while strip < to {
            let some = |number: usize| {
                if strip + number < to {
                    strip + number
                } else {
                    strip
                }
            };
            let ends: [u64; AT_ONCE] = array(
                #[inline(always)]
                |number| *workspace.ends.add(some(number)),
            );
            let rests: [O::State; AT_ONCE] = array(
                #[inline(always)]
                |number| *workspace.states.add(2 * some(number) + 1),
            );
            each(
                AT_ONCE,
                #[inline(always)]
                |number| {
                    if strip + number < to {
                        let ends_here = ended < ends[number];
                        rest = if ends_here {
                            rests[number]
                        } else {
                            operator.combine(rest, rests[number])
                        };
                        is_ended |= ends_here;
                        ended = ends[number];
                    }
                },
            );
            strip += AT_ONCE;
        }
        let mut carry = carry_into(operator, is_ended, rest, memory);
        // What is loaded again is in the nearest cache.
        let mut start = start as usize;
        let mut strip = first;
        while strip < to {
            let end = *workspace.ends.add(strip) as usize;
            let rest = *workspace.states.add(2 * strip + 1);
            if start < end {
                let state = operator.combine(carry, *workspace.states.add(2 * strip));
                *results.add(start) = operator.finish(state, list.length_of(start));
                carry = rest;
            } else {
                carry = operator.combine(carry, rest);
            }
            start = end;
            strip += 1;
        }
    }
}
