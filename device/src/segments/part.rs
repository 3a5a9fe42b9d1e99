//! A warp's part of the path, tile by tile.
//!
//! A tile in which nothing ends is combined straight from registers. Any other is copied to shared memory and folded in passes. The next
//! tile is loaded before this one is reduced.

use super::marks::{Pass, lanes_below, relative};
use super::memory::{LOADS, tile};
use super::path::Part;
use super::warp::{Progress, Warp};
use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::operator::Operator;
use crate::thread::thread_idx_x;
use crate::tile::Section;
use crate::vector::{Loaded, Quad};

/// Up to this many ends in a pass, a lane takes vectors in which nothing ends as a whole. With more, some lane has an end in nearly every vector.
const FEW_ENDS: u32 = 12;

/// The states of segments that may go beyond a warp's part. The first lane has them.
#[derive(Clone, Copy)]
pub(super) struct Crossing<S> {
    /// The state of the first segment that ends in the part.
    pub(super) first: S,
    /// The state of what comes after the last end.
    pub(super) rest: S,
}

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// Reduces the warp's part, tile by tile, and writes the results of the segments that begin and end there.
    ///
    /// # Safety
    /// As for [`segments`](super::segments()); all 32 lanes of the warp make the call.
    #[inline(always)]
    pub(super) unsafe fn reduce(self) -> Crossing<O::State> {
        let operator = self.operator;
        let Part { start, end } = self.part;
        let identity = operator.identity();
        let mut crossing = Crossing {
            first: identity,
            rest: identity,
        };
        if start.segment == end.segment && start.value == end.value {
            return crossing;
        }
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        // Tiles begin at vectors.
        let skipped = if T::LANES > 1 && self.is_aligned {
            self.input.wrapping_add(start.value) as usize % size_of::<Quad>() / size_of::<T>()
        } else {
            0
        };
        // SAFETY: the caller's promise; what is loaded is inside.
        unsafe {
            let mut progress = Progress {
                base: start.value.wrapping_sub(skipped),
                from: skipped as u32,
                segment: start.segment,
                begin: self.list.start_of(start.segment),
            };
            // Where the list begins within the first vector, `base` is before it, and may have wrapped around.
            let is_before = start.value - self.list.from < skipped;
            let mut is_inside = !is_before && self.is_inside(progress.base);
            let mut vectors = [(0, 0, 0, 0); LOADS];
            if is_inside {
                vectors = self.load_vectors(progress.base);
            }
            let mut ends = self.ends(progress.segment);
            self.clear_marks();
            sync_warp();
            // The state of this lane's values of the segment that has not ended, in tiles in which nothing ended.
            let (mut of_whole_tiles, mut has_whole_tiles) = (identity, false);
            loop {
                let room = end.value.wrapping_sub(progress.base);
                let is_last = room <= tile::<T>();
                let next = progress.base.wrapping_add(tile::<T>());
                let limit = if is_last { room as u32 } else { Self::TILE };
                let ends_here =
                    ballot(u32::MAX, relative(ends[0].place(), progress.base) <= limit) != 0;
                if is_inside && progress.from == 0 && limit == Self::TILE && !ends_here {
                    let index = (progress.base - progress.begin + lane * T::LANES) as u64;
                    of_whole_tiles = self.accumulate(of_whole_tiles, progress.base, vectors, index);
                    has_whole_tiles = true;
                    is_inside = !is_last && self.is_inside(next);
                    if is_inside {
                        vectors = self.load_vectors(next);
                    }
                } else {
                    let mut pass = self.mark_ends(&progress, limit, &mut ends);
                    self.fill(progress.base, is_inside, vectors);
                    is_inside = !is_last && self.is_inside(next);
                    if is_inside {
                        vectors = self.load_vectors(next);
                    }
                    if has_whole_tiles {
                        let all = Section::of(WARP_SIZE).reduce(operator, of_whole_tiles);
                        crossing.rest = operator.combine(crossing.rest, all);
                        (of_whole_tiles, has_whole_tiles) = (identity, false);
                    }
                    loop {
                        self.finish_pass(&mut progress, pass, &mut crossing);
                        if progress.from == limit && !pass.is_cut {
                            break;
                        }
                        if pass.is_cut && Self::IS_IN_PLACE {
                            self.fill_carefully(progress.base);
                        }
                        pass = self.mark_ends(&progress, limit, &mut ends);
                    }
                }
                if is_last {
                    break;
                }
                progress.base = next;
                progress.from = 0;
            }
            if has_whole_tiles {
                let all = Section::of(WARP_SIZE).reduce(operator, of_whole_tiles);
                crossing.rest = operator.combine(crossing.rest, all);
            }
        }
        crossing
    }

    /// Reduces the values of a pass, and writes the results of the segments that end there.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call, with a filled tile and marked ends.
    #[inline(always)]
    unsafe fn finish_pass(
        self,
        progress: &mut Progress,
        pass: Pass,
        crossing: &mut Crossing<O::State>,
    ) {
        let lane = thread_idx_x() % WARP_SIZE;
        let Progress {
            base,
            from,
            segment,
            begin,
        } = *progress;
        let Pass {
            start,
            to,
            ended,
            last,
            ..
        } = pass;
        let has_before = from > start;
        let place_of = |value: u32| base.wrapping_add(value as usize);
        // The state of a value of a segment that begins there.
        let lifted = |place: u32, value: T, begin: usize| {
            let index = place_of(start + place).wrapping_sub(begin);
            self.operator.lift(value, index as u64)
        };
        let are_few = ended <= FEW_ENDS;
        // SAFETY: the caller's promise: the lanes wait for one another between writes and reads.
        unsafe {
            sync_warp();
            let mut after = self.operator.identity();
            if from < to {
                // Segments without values may end before the first value.
                let has_ended = ended > 0 && u32::from(*self.bounds.add(1)) == from;
                let index = if has_ended {
                    u64::from(start).wrapping_sub(from.into())
                } else {
                    base.wrapping_add(start as usize).wrapping_sub(begin) as u64
                };
                let tail = if Self::IS_SEARCHED {
                    self.fold_values(start, are_few)
                } else {
                    self.fold(base, start, index, from, are_few)
                };
                sync_warp();
                if last < to {
                    after = if Self::IS_SEARCHED {
                        let (first, end) = (last - start, to - start);
                        let among = match self.operator.found(tail) {
                            Some((best, part)) if !pass.has_after => {
                                self.candidates_of(part as u32, first, end - 1, best)
                            }
                            _ => self.candidates(start, first, end),
                        };
                        let begin = if ended > 0 { place_of(last) } else { begin };
                        let place = self.search(base, start, are_few, among);
                        lifted(place, among.best, begin)
                    } else if !pass.has_after {
                        tail
                    } else if Self::IS_IN_PLACE {
                        *self.place(to - 1)
                    } else {
                        *self.slots.add(pass.after as usize)
                    };
                }
            } else {
                self.clear_marks();
            }

            let results = self.results.wrapping_add(segment);
            let mut slot = u32::from(has_before);
            let mut row = 0;
            while row < ended {
                let number = row + lane;
                let begin_here = u32::from(*self.bounds.add(number as usize));
                let end_here = u32::from(*self.bounds.add(number as usize + 1));
                let is_filled = number < ended && begin_here < end_here;
                let kept = if Self::IS_IN_PLACE {
                    self.place(end_here.wrapping_sub(1) % Self::TILE)
                } else {
                    let filled = ballot(u32::MAX, is_filled);
                    let before = u32::count_ones(filled & lanes_below());
                    let kept = self.slots.add((slot + before) as usize);
                    slot += u32::count_ones(filled);
                    kept
                };
                if number < ended {
                    let begin = if number == 0 {
                        begin
                    } else {
                        place_of(begin_here)
                    };
                    let mut state = if !is_filled {
                        self.operator.identity()
                    } else if Self::IS_SEARCHED {
                        let among = self.candidates(start, begin_here - start, end_here - start);
                        let place = self.search(base, start, are_few, among);
                        lifted(place, among.best, begin)
                    } else {
                        *kept
                    };
                    let length = place_of(end_here).wrapping_sub(begin) as u64;
                    if number == 0 {
                        state = self.operator.combine(crossing.rest, state);
                    }
                    if number == 0 && segment == self.part.start.segment {
                        crossing.first = state;
                    } else {
                        *results.add(number as usize) = self.operator.finish(state, length);
                    }
                }
                row += WARP_SIZE;
            }
            crossing.rest = if pass.is_cut {
                self.operator.identity()
            } else if ended == 0 {
                self.operator.combine(crossing.rest, after)
            } else {
                after
            };
            if ended > 0 {
                progress.begin = place_of(last);
            }
            progress.segment = segment + ended as usize;
            progress.from = if pass.is_cut { last } else { to };
            sync_warp();
        }
    }
}
