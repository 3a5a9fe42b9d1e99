//! Segments, in the fixed order.

use super::order::{CHUNK, SLOTS, of_thread, within_warp};
use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{Combine, Operator};
use crate::segments::Offsets;
use crate::shuffle::shuffle_index;
use crate::thread::{global_index, thread_idx_x};
use crate::vector::Share;
use crate::words::Words;

/// The values of the longest segment that a lane reduces by itself.
const OF_LANE: usize = 16;

/// What warps hand to each other, in global memory, for segments longer than a chunk. A *window* is [`CHUNK`] values from the first
/// offset on: ⌈values ∕ `CHUNK`⌉ of them.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<S> {
    /// Two states per window: of the first chunk of a segment that begins in it, and of a later chunk.
    pub states: *mut S,
    /// A word per window that is 0 before and after.
    pub counters: *mut u32,
}

/// Reduces each segment, in one launch of any grid. Indices and counts are those within the segment.
///
/// Segments of up to a chunk are shared out among warps, 32 at a time: short ones have a lane each, others the warp. Chunks of longer ones
/// are found from the values: between two neighbours of the places 0, `CHUNK`, 2 `CHUNK` … begins at most one first chunk of a longer
/// segment, and at most one of its later chunks. The last of a segment's warps to come combines its chunks.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments; the size of a block is a multiple of 32.
/// - `offsets` has `count + 1` places, which do not decrease, and `input` has values from the first to the last; nothing writes
///   either. `results` points to one result per segment, and nothing else touches it or the workspace.
#[inline(always)]
pub unsafe fn segments<T: Copy, O: Operator<T>>(
    operator: O,
    input: *const T,
    offsets: Offsets,
    count: usize,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
) {
    if count == 0 {
        return;
    }
    let reduction = Reduction {
        operator,
        input,
        offsets,
        count,
        workspace,
        results,
    };
    let warps = Share::of_grid().of / WARP_SIZE as usize;
    let warp = global_index() / WARP_SIZE as usize;
    // SAFETY: the caller's promise; whole warps make the calls.
    unsafe {
        let mut first = warp * WARP_SIZE as usize;
        while first < count {
            reduction.up_to_a_chunk(first);
            first += warps * WARP_SIZE as usize;
        }
        let values = offsets.get(count) - offsets.get(0);
        let mut window = warp + 1;
        while window * CHUNK < values {
            reduction.chunks_at(window);
            window += warps;
        }
    }
}

struct Reduction<T, O: Operator<T>> {
    operator: O,
    input: *const T,
    offsets: Offsets,
    count: usize,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
}

impl<T: Copy, O: Operator<T>> Reduction<T, O> {
    /// Reduces those of the 32 segments from number `first` on that have no more values than a chunk.
    ///
    /// # Safety
    /// As for [`segments`]; all 32 lanes of the warp make the call. There is a first one.
    #[inline(always)]
    unsafe fn up_to_a_chunk(&self, first: usize) {
        let lane = thread_idx_x() % WARP_SIZE;
        let segment = first + lane as usize;
        // SAFETY: the caller's promise; what a lane without a segment has, no one uses.
        unsafe {
            let (start, length) = if segment < self.count {
                let start = self.offsets.get(segment);
                (start, self.offsets.get(segment + 1) - start)
            } else {
                (0, usize::MAX)
            };
            if length <= OF_LANE {
                let state = of_thread(self.operator, length, 0, 1, self.lift(start, 0));
                *self.results.add(segment) = self.operator.finish(state, length as u64);
            }
            let mut others = ballot(u32::MAX, length > OF_LANE && length <= CHUNK);
            while others != 0 {
                let other = u32::trailing_zeros(others);
                others &= others - 1;
                let start = shuffle_index(start as u64, other) as usize;
                let length = shuffle_index(length as u64, other) as usize;
                let state = of_warp(self.operator, length, self.lift(start, 0));
                if lane == 0 {
                    *self.results.add(first + other as usize) =
                        self.operator.finish(state, length as u64);
                }
            }
        }
    }

    /// Reduces the chunks of a segment longer than a chunk that goes on from the window before this one: its first chunk, if that begins
    /// there, and the one that begins in this window, if one does.
    ///
    /// # Safety
    /// As for [`segments`]; all 32 lanes of the warp make the call. The window is one after the first.
    #[inline(always)]
    unsafe fn chunks_at(&self, window: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.offsets.get(0);
            let place = from + window * CHUNK;
            let segment = self.last_before(place);
            let (start, end) = (self.offsets.get(segment), self.offsets.get(segment + 1));
            let length = end - start;
            if end <= place || length <= CHUNK {
                return;
            }
            let first_window = (start - from) / CHUNK;
            let here = window - first_window;
            let mut chunk = if here == 1 { 0 } else { here };
            while chunk <= here && chunk * CHUNK < length {
                let later = usize::from(chunk > 0);
                self.hand_in(segment, chunk, 2 * (first_window + chunk) + later);
                chunk += 1;
            }
        }
    }

    /// Reduces a chunk of a segment, and leaves its state at a place of the workspace. Whoever hands in the last combines them.
    ///
    /// # Safety
    /// As for [`Self::chunks_at`]; the segment is longer than a chunk, and has this one.
    #[inline(always)]
    unsafe fn hand_in(&self, segment: usize, chunk: usize, place: usize) {
        let Workspace { states, counters } = self.workspace;
        let lane = thread_idx_x() % WARP_SIZE;
        // SAFETY: the caller's promise. A ticket orders the store of a state before it, and the loads of the last warp after it, whose lanes
        // wait for the one that draws.
        unsafe {
            let start = self.offsets.get(segment);
            let length = self.offsets.get(segment + 1) - start;
            let chunks = length.div_ceil(CHUNK);
            let first_window = (start - self.offsets.get(0)) / CHUNK;
            let first = chunk * CHUNK;
            let left = length - first;
            let values = if left < CHUNK { left } else { CHUNK };
            let of_chunk = of_warp(self.operator, values, self.lift(start, first));
            let counter = counters.add(first_window);
            let mut drawn = 0;
            if lane == 0 {
                *states.add(place) = of_chunk;
                drawn = draw_ticket(counter);
            }
            if shuffle_index(drawn, 0) as usize != chunks - 1 {
                return;
            }
            sync_warp();
            let state = of_warp(self.operator, chunks, |chunk| {
                let later = usize::from(chunk > 0);
                *states.add(2 * (first_window + chunk) + later)
            });
            if lane == 0 {
                store_relaxed(counter, 0);
                *self.results.add(segment) = self.operator.finish(state, length as u64);
            }
        }
    }

    /// The states of the values of a segment that begins at `start`, by their places after the first `before`.
    ///
    /// # Safety
    /// The function is called with places of values that there are.
    #[inline(always)]
    unsafe fn lift(&self, start: usize, before: usize) -> impl Fn(usize) -> O::State {
        move |place| {
            let index = before + place;
            // SAFETY: the caller's promise.
            let value = unsafe { *self.input.add(start + index) };
            self.operator.lift(value, index as u64)
        }
    }

    /// The last segment that begins before this place.
    ///
    /// # Safety
    /// As for [`segments`]; one begins before it.
    #[inline(always)]
    unsafe fn last_before(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.count - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            // SAFETY: it is the number of a segment.
            if unsafe { self.offsets.get(middle) } < place {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}

/// The states of these numbers combined in the fixed order, in the first lane of the warp; the identity of none.
///
/// # Safety
/// The whole warp makes the call, with the same count.
#[inline(always)]
unsafe fn of_warp<S: Words>(
    operator: impl Combine<S>,
    count: usize,
    state: impl Fn(usize) -> S,
) -> S {
    let lane = thread_idx_x() % WARP_SIZE;
    let slots = if count < SLOTS { count } else { SLOTS } as u32;
    let mine = of_thread(operator, count, lane, WARP_SIZE, state);
    // SAFETY: the caller's promise.
    unsafe { within_warp(operator, mine, lane, WARP_SIZE / 2, slots) }
}
