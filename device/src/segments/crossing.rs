//! Segments that cross the parts of the path.
//!
//! The first segment that ends in a part may have begun in an earlier one, and what comes after the last end belongs to a later one. So a part
//! leaves a record of two states. The warp that is done last of [`GROUP`] neighbouring parts combines their records, in their order, by a
//! scan that begins anew at each end, and leaves a record of the group; the one that is done last of all does the same with the groups.

use super::fold::scan_from_ends;
use super::marks::lanes_below;
use super::path::{Offsets, ROUNDS};
use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::Operator;
use crate::shuffle::shuffle_up;
use crate::thread::thread_idx_x;
use crate::unroll::{array, each};
use crate::vector::Loaded;

/// Neighbouring parts whose records one warp combines.
const GROUP: usize = 128;

/// What the warps of a launch hand to each other, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<S> {
    /// Two states for each of [`records`]: of the first segment that ends there, and of what comes after the last end.
    pub states: *mut S,
    /// Two numbers for each of them: how many segments end before, and there and before.
    pub ends: *mut u64,
    /// As many words as [`counters`] says, which are 0 before and after.
    pub counters: *mut u32,
}

/// The most parts that a launch of this many warps has.
const fn parts(warps: usize) -> usize {
    ROUNDS * warps
}

/// How many records there is room for in the workspace of a launch of this many warps.
pub const fn records(warps: usize) -> usize {
    parts(warps) + parts(warps).div_ceil(GROUP)
}

/// How many counters the workspace of a launch of this many warps has: of the parts that are handed out, of the groups that are done, and of
/// the parts of each group.
pub const fn counters(warps: usize) -> usize {
    2 + parts(warps).div_ceil(GROUP)
}

/// A level of the records: those of the parts or those of the groups.
#[derive(Clone, Copy)]
struct Level {
    /// Which the first record is, and how many there are.
    first: usize,
    count: usize,
    /// How many are combined together.
    group: usize,
    /// The counters of their groups.
    counters: *mut u32,
}

/// Leaves the record of a part in the workspace; the last warp of a group, and of all, writes the results of the segments that cross parts.
///
/// # Safety
/// All 32 lanes of the warp make the call, once for each part. `first` and `rest` are the first lane's; `start` and `end` say how many segments
/// end before the part, and there and before.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a part is found by number")]
pub(super) unsafe fn leave<T: Loaded, O: Operator<T>>(
    operator: O,
    offsets: Offsets,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    (part, parts): (usize, usize),
    (first, rest): (*const O::State, *const O::State),
    (start, end): (usize, usize),
) {
    let lane = thread_idx_x() % WARP_SIZE;
    // SAFETY: the caller's promise; there is room for each record, and one thread writes it.
    unsafe {
        if lane == 0 {
            *workspace.states.add(2 * part) = *first;
            *workspace.states.add(2 * part + 1) = *rest;
            *workspace.ends.add(2 * part) = start as u64;
            *workspace.ends.add(2 * part + 1) = end as u64;
        }
        let groups = parts.div_ceil(GROUP);
        let mut index = part;
        let mut level = Level {
            first: 0,
            count: parts,
            group: GROUP,
            counters: workspace.counters.add(2),
        };
        loop {
            let group = index / level.group;
            let from = group * level.group;
            let left = level.count - from;
            let size = if left < level.group {
                left
            } else {
                level.group
            };
            let counter = level.counters.add(group);
            let is_last = lane == 0 && draw_ticket(counter) as usize == size - 1;
            if ballot(u32::MAX, is_last) == 0 {
                return;
            }
            sync_warp();
            if lane == 0 {
                store_relaxed(counter, 0);
            }
            let is_top = level.first > 0;
            let target = if is_top { None } else { Some(parts + group) };
            combine_records(
                operator,
                offsets,
                workspace,
                results,
                level.first + from,
                size,
                target,
            );
            if is_top {
                if lane == 0 {
                    store_relaxed(workspace.counters, 0);
                }
                return;
            }
            sync_warp();
            index = group;
            level = Level {
                first: parts,
                count: groups,
                group: groups,
                counters: workspace.counters.add(1),
            };
        }
    }
}

/// Combines neighbouring records, and writes the results of the segments that begin and end among them. If they are not all, the state of the first that
/// ends there, and of what comes after the last end, go to the record `target`.
///
/// A lane has neighbouring records, and loads some of them at the same time.
///
/// # Safety
/// All 32 lanes of the warp make the call, after the records have been left.
#[inline(always)]
unsafe fn combine_records<T: Loaded, O: Operator<T>>(
    operator: O,
    offsets: Offsets,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    first: usize,
    count: usize,
    target: Option<usize>,
) {
    const AT_ONCE: usize = 4;
    let lane = thread_idx_x() % WARP_SIZE;
    let of_lane = count.div_ceil(WARP_SIZE as usize);
    let all = first + count;
    let bound = |record: usize| if record < all { record } else { all };
    let from = bound(first + lane as usize * of_lane);
    let to = bound(from + of_lane);
    // SAFETY: the caller's promise; what is loaded is of records that there are.
    unsafe {
        let (mut is_ended, mut rest) = (false, operator.identity());
        let mut record = from;
        while record < to {
            let some = |number: usize| {
                if record + number < to {
                    record + number
                } else {
                    record
                }
            };
            let bounds: [[u64; 2]; AT_ONCE] = array(
                #[inline(always)]
                |number| {
                    let ends = workspace.ends.add(2 * some(number));
                    [*ends, *ends.add(1)]
                },
            );
            let rests: [O::State; AT_ONCE] = array(
                #[inline(always)]
                |number| *workspace.states.add(2 * some(number) + 1),
            );
            each(
                AT_ONCE,
                #[inline(always)]
                |number| {
                    if record + number < to {
                        let [start, end] = bounds[number];
                        rest = if start < end {
                            rests[number]
                        } else {
                            operator.combine(rest, rests[number])
                        };
                        is_ended |= start < end;
                    }
                },
            );
            record += AT_ONCE;
        }

        // What the lanes before this one have left since the last of them that is ended.
        let ended = ballot(u32::MAX, is_ended);
        let sum = scan_from_ends(
            lane,
            ended,
            rest,
            #[inline(always)]
            |left, right| operator.combine(left, right),
        );
        let before = shuffle_up(sum, 1);
        let mut carry = if lane == 0 {
            operator.identity()
        } else {
            before
        };
        let mut is_first = ended & lanes_below(lane) == 0;
        // What is loaded again is in the nearest cache.
        let mut record = from;
        while record < to {
            let ends = workspace.ends.add(2 * record);
            let (start, end) = (*ends as usize, *ends.add(1) as usize);
            let rest = *workspace.states.add(2 * record + 1);
            if start < end {
                let state = operator.combine(carry, *workspace.states.add(2 * record));
                match target {
                    Some(target) if is_first => *workspace.states.add(2 * target) = state,
                    _ => *results.add(start) = operator.finish(state, offsets.length_of(start)),
                }
                is_first = false;
                carry = rest;
            } else {
                carry = operator.combine(carry, rest);
            }
            record += 1;
        }
        if let Some(target) = target
            && lane == WARP_SIZE - 1
        {
            *workspace.states.add(2 * target + 1) = carry;
            *workspace.ends.add(2 * target) = *workspace.ends.add(2 * first);
            *workspace.ends.add(2 * target + 1) = *workspace.ends.add(2 * all - 1);
        }
    }
}
