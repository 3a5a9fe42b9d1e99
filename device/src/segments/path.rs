//! The path along all values and all ends of segments, and the part of it that each warp reduces.
//!
//! Segments may have any lengths, so that warps with equally many segments would have very unequal work. The path has a step for each value
//! and some for each end of a segment, which come after those of the segment's values. Warps get equally many steps. A search among the offsets
//! finds the place where a part begins (the *merge path* of Merrill and Garland).
//!
//! A tile in which segments end is more work than one in the middle of a segment, and more so beside warps that have no ends and wait for
//! memory alone. So each end is [`FEWEST_STEPS_OF_END`] steps, and besides a share of the geometric mean of the lengths of a sample.
//!
//! Segments may be long in one place of an array and short in another, so that a block with neighbouring parts would have less to do than
//! another. Its warps have parts of several strips, which are far from one another.

use super::memory::picks_values;
use crate::lanes::{WARP_SIZE, ballot};
use crate::operator::Operator;
use crate::shuffle::{shuffle_index, shuffle_xor};
use crate::thread::{block_idx_x, grid_dim_x, thread_idx_x};
use crate::unroll::each;
use crate::vector::Loaded;

/// The sample is of rows of neighbouring segments, one for each lane.
const ROWS: usize = 4;
/// A longer segment of the sample counts as one of this many values.
const LONG: u64 = 512;

/// How many steps of the path the end of a segment is, besides those for its values.
///
/// On an H200, with 6, 8 and 10 steps, the sum of a giant segment among those of 4 values was made at 84, 85 and 82 % of the reading speed.
pub const FEWEST_STEPS_OF_END: usize = 8;

/// How many eighths of the average length the end of a segment is besides. It is less where a place is sought, since each value is more work there.
///
/// On an H200, with 4, 6, 7, 8 and 10 eighths, the sum of a giant segment among those of 32 values was made at 87, 87, 89, 89 and 88 % of
/// the reading speed, and among those of 4 at 85, 85, 85, 84 and 84. With 4, 5 and 6, argmax of lengths after Zipf's law was made at 88, 88
/// and 86 % with 32 values on average, and at 86, 85 and 85 with 1024.
const fn eighths_of_length<T: Loaded, O: Operator<T>>() -> usize {
    if picks_values::<T, O>() { 4 } else { 7 }
}

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
        unsafe { self.words(index) }.place()
    }

    /// The words of one of them. The lower one is loaded in one way, whatever the type is.
    ///
    /// # Safety
    /// There are more.
    #[inline(always)]
    pub(super) unsafe fn words(self, index: usize) -> PlaceWords {
        // SAFETY: the caller's promise.
        unsafe { self.words_at(self.at(index)) }
    }

    /// Where the lower word of one of them is.
    ///
    /// # Safety
    /// There are more.
    #[inline(always)]
    pub(super) unsafe fn at(self, index: usize) -> *const u32 {
        // SAFETY: the caller's promise.
        unsafe { self.places.cast::<u32>().add(self.word(index)) }
    }

    /// The number of the lower word of a place among all words.
    #[inline(always)]
    pub(super) fn word(self, index: usize) -> usize {
        index << u32::from(self.are_wide)
    }

    /// The words of the place whose lower one is here.
    ///
    /// # Safety
    /// It is that of one of them.
    #[inline(always)]
    pub(super) unsafe fn words_at(self, low: *const u32) -> PlaceWords {
        // SAFETY: the caller's promise.
        unsafe {
            PlaceWords {
                low: *low,
                high: if self.are_wide { *low.add(1) } else { 0 },
            }
        }
    }
}

/// A place as it comes from memory. What makes one number of the words waits until they are there, so it is done where the number is needed.
#[derive(Clone, Copy)]
pub(super) struct PlaceWords {
    low: u32,
    high: u32,
}

impl PlaceWords {
    #[inline(always)]
    pub(super) fn place(self) -> usize {
        (u64::from(self.high) << 32 | u64::from(self.low)) as usize
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

/// Warps whose parts of the path are neighbours.
const WARPS_OF_STRIP: usize = 4;

/// The strips of the path that a block has, each for a few of its warps.
#[derive(Clone, Copy)]
pub(super) struct Strips {
    /// Warps of a block.
    warps: usize,
}

impl Strips {
    /// Those of blocks of so many warps.
    #[inline(always)]
    pub(super) fn of(warps: usize) -> Self {
        Self { warps }
    }

    /// How many a block has.
    #[inline(always)]
    pub(super) fn count(self) -> usize {
        self.warps.div_ceil(WARPS_OF_STRIP)
    }

    /// The warps of one: the first, and how many.
    #[inline(always)]
    pub(super) fn warps(self, strip: usize) -> (usize, usize) {
        let first = strip * WARPS_OF_STRIP;
        let rest = self.warps - first;
        let count = if rest < WARPS_OF_STRIP {
            rest
        } else {
            WARPS_OF_STRIP
        };
        (first, count)
    }

    /// The number of one of this block's strips among those of all blocks, along the path: all blocks' first strips, then all second ones.
    #[inline(always)]
    pub(super) fn number(self, strip: usize) -> usize {
        strip * grid_dim_x() as usize + block_idx_x() as usize
    }

    /// The number of a warp's part of the path.
    #[inline(always)]
    fn part_of(self, warp: usize) -> usize {
        let (first, count) = self.warps(warp / WARPS_OF_STRIP);
        first * grid_dim_x() as usize + count * block_idx_x() as usize + (warp - first)
    }
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

    /// The part of the path that a warp of this block has.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    #[inline(always)]
    pub(super) unsafe fn part<T: Loaded, O: Operator<T>>(
        self,
        strips: Strips,
        warp: usize,
    ) -> Part {
        const HALF: u32 = WARP_SIZE / 2;
        // SAFETY: the caller's promise.
        unsafe {
            let of_length = self.average_length() * eighths_of_length::<T, O>() / 8;
            let of_end = FEWEST_STEPS_OF_END + of_length;
            let length = of_end * self.count + (self.to - self.from);
            let each = length.div_ceil(strips.warps * grid_dim_x() as usize);
            // One half of the lanes looks for the start, and the other for the end.
            let is_end = thread_idx_x() % WARP_SIZE >= HALF;
            let steps = (strips.part_of(warp) + usize::from(is_end)) * each;
            let steps = if steps < length { steps } else { length };
            let segment = self.search::<HALF>(of_end, steps);
            let value = self.from + steps - of_end * segment;
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

    /// The geometric mean of the lengths of a sample, which a few long segments among short ones do not change much. It is the same for all warps.
    ///
    /// # Safety
    /// There is a segment; all 32 lanes of the warp make the call.
    #[inline(always)]
    unsafe fn average_length(self) -> usize {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        let mut bits = 0;
        // SAFETY: the caller's promise; the segments are of the list.
        unsafe {
            each(
                ROWS,
                #[inline(always)]
                |row| {
                    let segment = self.count / (2 * ROWS) * (2 * row + 1) + lane;
                    let segment = if segment < self.count {
                        segment
                    } else {
                        self.count - 1
                    };
                    let length = self.length_of(segment);
                    let length = if length < LONG { length } else { LONG };
                    let length = if length > 0 { length } else { 1 };
                    // The bits of a float grow about as its logarithm does.
                    bits += f32::to_bits(length as f32) / (ROWS as u32 * WARP_SIZE);
                },
            );
            let mut distance = 1;
            while distance < WARP_SIZE {
                bits += shuffle_xor(bits, distance);
                distance *= 2;
            }
        }
        f32::from_bits(bits) as usize
    }

    /// How many segments end within the first `steps` steps of the path, where each end is `of_end`. `LANES` neighbouring lanes search together,
    /// for the same `steps`.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call; the path has as many steps.
    #[inline(always)]
    unsafe fn search<const LANES: u32>(self, of_end: usize, steps: usize) -> usize {
        let lane = thread_idx_x() % WARP_SIZE;
        let (rank, first) = ((lane % LANES) as usize, lane / LANES * LANES);
        let (mut low, mut high) = (0, self.count);
        // SAFETY: the caller's promise.
        while unsafe { ballot(u32::MAX, low < high) } != 0 {
            let stride = (high - low).div_ceil(LANES as usize);
            let segment = low + rank * stride;
            // SAFETY: the segment is one of the list.
            let is_before = segment < high
                && unsafe { self.start_of(segment + 1) } - self.from + of_end * (segment + 1)
                    <= steps;
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
