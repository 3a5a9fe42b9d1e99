//! The path along all values and all ends of segments, and the part of it that each warp reduces.
//!
//! Segments may have any lengths, so that warps with equally many segments would have very unequal work. The path has a step for each value
//! and [`STEPS_OF_END`] steps for each end of a segment, which come after those of the segment's values. Warps get equally many steps. A search
//! among the offsets finds the place where a part begins (the *merge path* of Merrill and Garland).

use crate::lanes::{WARP_SIZE, ballot};
use crate::shuffle::shuffle_index;
use crate::thread::{global_index, thread_idx_x};
use crate::vector::Share;

/// How many steps of the path the end of a segment is; a value is one. If all warps have as many ends, it is about as much work as four values.
/// But beside warps that have few, which wait for memory alone, those with many take longer for each than in the company of their like. On an H100
/// a giant segment among those of 4 values is reduced at 85 % of the reading speed with 8 steps, at 87 % with 12, and at 80 % with 20; lengths
/// after Zipf's law at 84, 84 and 77 %.
pub const STEPS_OF_END: usize = 8;

/// Where segments begin and end, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    /// One place more than there are segments, which are `u64` or `u32`.
    pub places: *const u64,
    /// Whether they are `u64`.
    pub are_wide: bool,
}

impl Offsets {
    /// One of them.
    ///
    /// # Safety
    /// There are more.
    #[inline(always)]
    pub(crate) unsafe fn get(self, index: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            if self.are_wide {
                *self.places.add(index) as usize
            } else {
                *self.places.cast::<u32>().add(index) as usize
            }
        }
    }
}

/// All segments of an array.
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) offsets: Offsets,
    pub(super) count: usize,
    /// Where the first begins.
    pub(super) from: usize,
    /// Where the last ends.
    pub(super) to: usize,
}

/// A place on the path, between two steps: the next segment to end and the next value.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) segment: usize,
    pub(super) value: usize,
}

/// A part of the path, which one warp reduces.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) start: Place,
    pub(super) end: Place,
}

impl List {
    /// Where a segment begins, and the one before it ends.
    ///
    /// # Safety
    /// There are as many segments, or one fewer.
    #[inline(always)]
    pub(super) unsafe fn start_of(self, segment: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.offsets.get(segment) }
    }

    /// How many values a segment has.
    ///
    /// # Safety
    /// There is such a segment.
    #[inline(always)]
    pub(super) unsafe fn length_of(self, segment: usize) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { (self.start_of(segment + 1) - self.start_of(segment)) as u64 }
    }

    /// This warp's part of the path.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    #[inline(always)]
    pub(super) unsafe fn part(self) -> Part {
        const HALF: u32 = WARP_SIZE / 2;
        let length = STEPS_OF_END * self.count + (self.to - self.from);
        let warps = Share::of_grid().of / WARP_SIZE as usize;
        let each = length.div_ceil(warps);
        let warp = global_index() / WARP_SIZE as usize;
        // One half of the lanes looks for the start, and the other for the end.
        let is_end = thread_idx_x() % WARP_SIZE >= HALF;
        let steps = (warp + usize::from(is_end)) * each;
        let steps = if steps < length { steps } else { length };
        // SAFETY: the caller's promise.
        unsafe {
            let segment = self.search::<HALF>(steps);
            let value = self.from + steps - STEPS_OF_END * segment;
            // A place may lie among the steps of an end. The segment has not ended there, and its values are all before.
            let next = if segment < self.count {
                segment + 1
            } else {
                segment
            };
            let end = self.start_of(next);
            let value = (if value < end { value } else { end }) as u64;
            let segment = segment as u64;
            let place = |lane: u32| Place {
                segment: shuffle_index(segment, lane) as usize,
                value: shuffle_index(value, lane) as usize,
            };
            Part {
                start: place(0),
                end: place(HALF),
            }
        }
    }

    /// How many segments end within the first `steps` steps of the path. `LANES` neighbouring lanes search together, for the same `steps`.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call; the path has as many steps.
    #[inline(always)]
    unsafe fn search<const LANES: u32>(self, steps: usize) -> usize {
        let lane = thread_idx_x() % WARP_SIZE;
        let (rank, first) = ((lane % LANES) as usize, lane / LANES * LANES);
        let values = self.to - self.from;
        let mut low = steps.saturating_sub(values) / STEPS_OF_END;
        let most = steps / STEPS_OF_END;
        let mut high = if most < self.count { most } else { self.count };
        // SAFETY: the caller's promise.
        while unsafe { ballot(u32::MAX, low < high) } != 0 {
            let stride = (high - low).div_ceil(LANES as usize);
            let segment = low + rank * stride;
            // SAFETY: the segment is one of the list.
            let is_before = segment < high
                && unsafe { self.start_of(segment + 1) } - self.from
                    <= steps - STEPS_OF_END * (segment + 1);
            // SAFETY: the caller's promise. A segment whose end is before the place is after others of which that holds, too.
            let votes = unsafe { ballot(u32::MAX, is_before) } >> first & ((1 << LANES) - 1);
            let before = u32::count_ones(votes) as usize;
            if before == 0 {
                high = low;
            } else {
                let next = low + before * stride;
                low = next - stride + 1;
                high = if next < high { next } else { high };
            }
        }
        low
    }
}
