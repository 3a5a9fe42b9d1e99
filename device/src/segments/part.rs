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

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// Reduces the warp's part, tile by tile, and writes the results of the segments that begin and end there. The state of the first that
    /// ends there goes to `first`, and the state of what comes after the last end to `rest`.
    ///
    /// # Safety
    /// As for [`segments`](super::segments()); all 32 lanes of the warp make the call.
    #[inline(always)]
    pub(super) unsafe fn reduce(self) {
        let operator = self.operator;
        let Part { start, end } = self.part;
        let identity = operator.identity();
        if start.segment == end.segment && start.value == end.value {
            return;
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
                is_first: true,
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
                    let are_numbers = self.are_numbers(is_inside, vectors);
                    self.fill(progress.base, is_inside, vectors);
                    is_inside = !is_last && self.is_inside(next);
                    if is_inside {
                        vectors = self.load_vectors(next);
                    }
                    if has_whole_tiles {
                        self.add_whole_tiles(of_whole_tiles);
                        (of_whole_tiles, has_whole_tiles) = (identity, false);
                    }
                    loop {
                        self.finish_pass(&mut progress, pass, are_numbers);
                        if progress.from == limit && !pass.is_cut {
                            break;
                        }
                        if pass.is_cut && Self::IS_IN_PLACE && !Self::PICKS_VALUES {
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
                self.add_whole_tiles(of_whole_tiles);
            }
        }
    }

    /// Combines the states of all lanes with the rest.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    #[inline(always)]
    unsafe fn add_whole_tiles(self, state: O::State) {
        // SAFETY: the caller's promise; the rest is the first lane's.
        unsafe {
            let all = Section::of(WARP_SIZE).reduce(self.operator, state);
            if thread_idx_x().is_multiple_of(WARP_SIZE) {
                self.rest.write(self.operator.combine(*self.rest, all));
            }
        }
    }

    /// Reduces the values of a pass, and writes the results of the segments that end there.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call, with a filled tile and marked ends. No value is a NaN if all `are_numbers`.
    #[inline(always)]
    unsafe fn finish_pass(self, progress: &mut Progress, pass: Pass, are_numbers: bool) {
        let lane = thread_idx_x() % WARP_SIZE;
        let Progress {
            base,
            from,
            segment,
            begin,
            is_first,
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
        let are_few = ended <= FEW_ENDS;
        // The state of the best value of a segment that begins there.
        let lifted = |place: u32, begin: usize| {
            // SAFETY: the fold has found the place.
            let (value, place) = unsafe {
                let place = start + self.found(start, are_few, place);
                (*self.place(place), place)
            };
            let index = place_of(place).wrapping_sub(begin);
            self.operator.lift(value, index as u64)
        };
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
                if Self::PICKS_VALUES {
                    let place = self.fold_places(start, are_few, are_numbers);
                    sync_warp();
                    if last < to {
                        let place = if pass.has_after {
                            self.place_of_best(last - start, to - start)
                        } else {
                            place
                        };
                        let begin = if ended > 0 { place_of(last) } else { begin };
                        after = lifted(place, begin);
                    }
                } else {
                    let tail = self.fold(base, start, index, from, are_few);
                    sync_warp();
                    if last < to {
                        after = if !pass.has_after {
                            tail
                        } else if Self::IS_IN_PLACE {
                            *self.place(to - 1)
                        } else {
                            *self.slots.add(pass.after as usize)
                        };
                    }
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
                    } else if Self::PICKS_VALUES {
                        lifted(
                            self.place_of_best(begin_here - start, end_here - start),
                            begin,
                        )
                    } else {
                        *kept
                    };
                    let length = place_of(end_here).wrapping_sub(begin) as u64;
                    if number == 0 {
                        state = self.operator.combine(*self.rest, state);
                    }
                    if number == 0 && is_first {
                        self.first.write(state);
                    } else {
                        *results.add(number as usize) = self.operator.finish(state, length);
                    }
                }
                row += WARP_SIZE;
            }
            if lane == 0 {
                self.rest.write(if pass.is_cut {
                    self.operator.identity()
                } else if ended == 0 {
                    self.operator.combine(*self.rest, after)
                } else {
                    after
                });
            }
            if ended > 0 {
                progress.begin = place_of(last);
                progress.is_first = false;
            }
            progress.segment = segment + ended as usize;
            progress.from = if pass.is_cut { last } else { to };
            sync_warp();
            if Self::PICKS_VALUES {
                self.clear_marks();
                sync_warp();
            }
        }
    }
}
