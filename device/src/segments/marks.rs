//! Marks: a byte for each value of a warp's chunks, which is 1 where a segment ends after the value.
//!
//! A *pass* is what a warp folds at once, a chunk of neighbouring values in each lane. Marks cut it into *pieces*: the values of a segment
//! that are in the pass, what comes before the first value, and what comes after the last end. The state of a piece goes to a slot, or to the
//! place of its last value.

use super::path::PlaceWords;
use super::warp::{Progress, Warp};
use crate::lanes::{WARP_SIZE, ballot};
use crate::operator::Operator;
use crate::shuffle::{shuffle_index, shuffle_up};
use crate::thread::thread_idx_x;
use crate::unroll::each;
use crate::vector::{Loaded, Quad};

/// Rows of 32 ends of segments that a warp loads ahead.
pub(super) const ROWS_AHEAD: usize = 2;
/// Rows that it loads at once when those run out.
const MORE_ROWS: usize = 4;

/// The values that a warp folds at once, each lane a chunk. The chunk of the first lane begins at the value `start` of the tile.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    pub(super) start: u32,
    /// The value of the tile that they end before.
    pub(super) to: u32,
    /// How many segments end among them, and where the last does.
    pub(super) ended: u32,
    pub(super) last: u32,
    /// The slot of what comes after the last end, if that has one.
    pub(super) after: u32,
    pub(super) has_after: bool,
    /// Whether more segments end up to `to` than the warp has room for.
    pub(super) is_cut: bool,
}

/// The lanes before this one.
#[inline(always)]
pub(super) fn lanes_below() -> u32 {
    (1 << (thread_idx_x() % WARP_SIZE)) - 1
}

/// A place as seen from the base of a tile; the greatest number where that is far away.
#[inline(always)]
pub(super) fn relative(place: usize, base: usize) -> u32 {
    let distance = place.wrapping_sub(base);
    if distance < u32::MAX as usize {
        distance as u32
    } else {
        u32::MAX
    }
}

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// Marks where segments end in the next pass, which ends before the value `limit` of the tile or earlier. `ends` are then the next ends.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call, with the next ends; the marks are all 0.
    #[inline(always)]
    pub(super) unsafe fn mark_ends(
        self,
        at: &Progress,
        limit: u32,
        ends: &mut [PlaceWords; ROWS_AHEAD],
    ) -> Pass {
        let lane = thread_idx_x() % WARP_SIZE;
        let Progress {
            base,
            from,
            segment,
            ..
        } = *at;
        let start = if Self::VALUES_OF_PASS == Self::TILE {
            0
        } else {
            from / Self::VALUES_OF_PASS * Self::VALUES_OF_PASS
        };
        let to = if start + Self::VALUES_OF_PASS < limit {
            start + Self::VALUES_OF_PASS
        } else {
            limit
        };
        // Chunks begin at `start`, which may be before the first value. What is there counts as a piece. So does what comes after the last
        // end, unless it goes on to the last place of the last lane.
        let has_before = from > start;
        let left = self.part.end.segment - segment;
        let known = if left < Self::WINDOW as usize {
            left as u32
        } else {
            Self::WINDOW
        };
        let (mut row, mut ended, mut slot, mut last) = (0, 0, u32::from(has_before), from);
        // SAFETY: the caller's promise.
        unsafe {
            if lane == 0 {
                *self.bounds = from as u16;
                if has_before {
                    self.mark(from - start, 0, 0);
                }
            }
            let mut mark_row = |end: PlaceWords| {
                let number = row + lane;
                let end = relative(end.place(), base);
                *self.bounds.add(number as usize + 1) = end as u16;
                let is_here = number < known && end <= to;
                let previous = shuffle_up(end, 1);
                let begin = if lane == 0 { last } else { previous };
                let here = u32::count_ones(ballot(u32::MAX, is_here));
                let is_filled = is_here && begin < end;
                if Self::IS_IN_PLACE {
                    if is_filled {
                        self.mark(end - start, 0, 0);
                    }
                } else {
                    let filled = ballot(u32::MAX, is_filled);
                    if is_filled {
                        let before = u32::count_ones(filled & lanes_below());
                        self.mark(end - start, begin - start, slot + before);
                    }
                    slot += u32::count_ones(filled);
                }
                if here > 0 {
                    last = shuffle_index(end, here - 1);
                }
                ended += here;
                row += WARP_SIZE;
                here == WARP_SIZE && row < Self::WINDOW
            };
            let mut may_go_on = true;
            each(
                ROWS_AHEAD,
                #[inline(always)]
                |place| may_go_on = may_go_on && mark_row(ends[place]),
            );
            let mut next = ROWS_AHEAD * WARP_SIZE as usize;
            while may_go_on {
                let more = self.ends::<MORE_ROWS>(segment + next);
                each(
                    MORE_ROWS,
                    #[inline(always)]
                    |place| may_go_on = may_go_on && mark_row(more[place]),
                );
                next += MORE_ROWS * WARP_SIZE as usize;
            }
            let is_cut = ended == Self::WINDOW
                && left > ended as usize
                && relative(self.end(segment, ended), base) <= to;
            let has_after = !is_cut && last < to && to < start + Self::VALUES_OF_PASS;
            if lane == 0 && has_after {
                self.mark(to - start, last - start, slot);
            }
            let next = segment + ended as usize;
            *ends = self.ends(next);
            // No more than are likely to be looked at next, and without a branch, of which compilers make two ways through all that follows.
            self.prefetch_end(
                next + ROWS_AHEAD * WARP_SIZE as usize + (lane * ended / WARP_SIZE) as usize,
            );
            Pass {
                start,
                to,
                ended,
                last,
                after: slot,
                has_after,
                is_cut,
            }
        }
    }

    /// Marks the last value of a piece, whose state goes to this slot. `begin` and `end` are counted from the first lane's chunk on.
    ///
    /// # Safety
    /// The piece has a value, no other ends there, and the mark has been 0.
    #[inline(always)]
    unsafe fn mark(self, end: u32, begin: u32, slot: u32) {
        let last = end - 1;
        let chunk = last / Self::CHUNK;
        // SAFETY: the caller's promise; there is a mark for each value of a chunk.
        unsafe {
            let marks = self.marks.add(chunk as usize * Self::MARKS).cast::<u8>();
            *marks.add((last % Self::CHUNK) as usize) = 1;
            if !Self::IS_IN_PLACE && begin <= chunk * Self::CHUNK {
                *self.first_slots.add(chunk as usize) = slot;
            }
        }
    }

    /// Makes the marks of this lane's chunk 0.
    ///
    /// # Safety
    /// No other lane touches them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn clear_marks(self) {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        each(
            Self::MARKS,
            #[inline(always)]
            // SAFETY: the marks are this lane's.
            |vector| unsafe { *self.marks.add(lane * Self::MARKS + vector) = Quad([0; 4]) },
        );
    }

    /// The marks of this lane's chunk, a bit for each value.
    ///
    /// # Safety
    /// No other lane writes them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn marks(self) -> u32 {
        // Four bytes of 0 or 1, times this number, have their bits side by side at the top.
        const GATHER: u32 = 1 << 28 | 1 << 21 | 1 << 14 | 1 << 7;
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        let mut bits = 0;
        each(
            Self::MARKS,
            #[inline(always)]
            |vector| {
                // SAFETY: the marks are this lane's.
                let Quad([a, b, c, d]) = unsafe { *self.marks.add(lane * Self::MARKS + vector) };
                let of = |word: u32| word.wrapping_mul(GATHER) >> 28;
                bits |= (of(a) | of(b) << 4 | of(c) << 8 | of(d) << 12) << (16 * vector);
            },
        );
        bits
    }
}
