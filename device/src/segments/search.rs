//! Segments whose result is a place: that of the least or the greatest value.
//!
//! A state of a value and an index is twice as much work as a value, and does not fit into its place. So a pass is folded by values alone,
//! in the tile. In the place of each value then stands the best of its piece up to there, as far as it is in the same chunk: once the best of
//! all is reached, it stays. The scan over the lanes says in which chunk that is, and a binary search where.
//!
//! Where few segments end, vectors without an end stay as they are. A lane then remembers which vector has the best value, and few values are
//! left to look at one by one.

use super::fold::{put, scan_from_ends};
use super::memory::vectors_of_chunk;
use super::warp::Warp;
use crate::lanes::{WARP_SIZE, ballot};
use crate::operator::Operator;
use crate::shuffle::{shuffle_index, shuffle_up};
use crate::thread::thread_idx_x;
use crate::unroll::each;
use crate::vector::{Loaded, Quad};

/// The values of a piece among which its best one is, counted from the first lane's chunk on, and that value.
#[derive(Clone, Copy)]
pub(super) struct Candidates<T> {
    first: u32,
    last: u32,
    pub(super) best: T,
}

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// The vectors of a chunk, and one more for all of them: what the scan over the lanes counts in.
    const PARTS: u32 = vectors_of_chunk::<T>() as u32 + 1;

    /// Puts the best value of each marked piece in the place of the piece's last value. Returns the best of what comes after the last end, with
    /// the number of the part that it is in for an index. The first lane's chunk begins at `start`. With few marks, lanes take whole vectors
    /// where nothing ends, and leave them as they are.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call; values are searched.
    #[inline(always)]
    pub(super) unsafe fn fold_values(self, start: u32, are_few: bool) -> O::State {
        let operator = self.operator;
        let lane = thread_idx_x() % WARP_SIZE;
        let lanes = T::LANES as u32;
        // SAFETY: the caller's promise; the chunk is this lane's.
        unsafe {
            let ends = self.take_marks();
            let ended = ballot(u32::MAX, ends != 0);
            let heads = ends << 1 | 1;
            // No gap is in the vectors of a chunk.
            let vectors = vectors_of_chunk::<T>() as u32;
            let in_tile = self.tile.vector(start / lanes + lane * vectors);
            let mut best = T::value(*in_tile.cast::<T::Vector>(), 0);
            // Which vector it is in.
            let mut best_in = vectors;
            let mut number = 0;
            while number < vectors {
                let vector = *in_tile.add(number as usize).cast::<T::Vector>();
                let places = number * lanes;
                let (ends, heads) = (ends >> places, heads >> places);
                if are_few && ends & ((1_u32 << (lanes - 1)) * 2).wrapping_sub(1) == 0 {
                    let mut of_vector = T::value(vector, 0);
                    each(
                        T::LANES - 1,
                        #[inline(always)]
                        |value| of_vector = operator.better(of_vector, T::value(vector, value + 1)),
                    );
                    if heads & 1 != 0 || operator.takes_over(of_vector, best) {
                        (best, best_in) = (of_vector, number);
                    }
                } else {
                    let mut words = [0; 4];
                    each(
                        T::LANES,
                        #[inline(always)]
                        |value| {
                            let here = T::value(vector, value);
                            best = if heads >> value & 1 != 0 {
                                here
                            } else {
                                operator.better(best, here)
                            };
                            put(&mut words, value, best);
                        },
                    );
                    *in_tile.add(number as usize) = Quad(words);
                    best_in = if are_few { number } else { vectors };
                }
                number += 1;
            }
            let first_part = lane * Self::PARTS;
            let mut state = operator.lift(best, (first_part + best_in).into());
            if ends & (1 << (Self::CHUNK - 1)) != 0 {
                state = operator.identity();
            }
            let state = scan_from_ends(operator, ended, state);
            let carry = shuffle_up(state, 1);
            if ends != 0 {
                let place = self.place(start + lane * Self::CHUNK + u32::trailing_zeros(ends));
                let mut all = operator.lift(*place, (first_part + vectors).into());
                if lane > 0 {
                    all = operator.combine(carry, all);
                }
                if let Some((best, part)) = operator.found(all) {
                    *place = best;
                    *self.first_slots.add(lane as usize) = part as u32;
                }
            }
            shuffle_index(state, WARP_SIZE - 1)
        }
    }

    /// Where the best value of the piece can be that ends before `end`, counted as `begin` from the first lane's chunk on.
    ///
    /// # Safety
    /// The pass is folded by [`Self::fold_values`], and the piece has a value and a mark.
    #[inline(always)]
    pub(super) unsafe fn candidates(self, start: u32, begin: u32, end: u32) -> Candidates<T> {
        let last = end - 1;
        let chunk = last / Self::CHUNK;
        // SAFETY: the caller's promise. A piece that begins before the chunk is the first to end in it.
        unsafe {
            let part = if begin >= chunk * Self::CHUNK {
                (chunk + 1) * Self::PARTS - 1
            } else {
                *self.first_slots.add(chunk as usize)
            };
            self.candidates_of(part, begin, last, *self.place(start + last))
        }
    }

    /// As [`Self::candidates`], of a piece that goes up to the value `last`, whose best value is in this part.
    #[inline(always)]
    pub(super) fn candidates_of(self, part: u32, begin: u32, last: u32, best: T) -> Candidates<T> {
        let first_of_chunk = part / Self::PARTS * Self::CHUNK;
        let vector = part % Self::PARTS;
        let (first_of_part, count) = if vector == Self::PARTS - 1 {
            (first_of_chunk, Self::CHUNK)
        } else {
            (first_of_chunk + vector * T::LANES as u32, T::LANES as u32)
        };
        let last_of_part = first_of_part + count - 1;
        Candidates {
            first: if begin > first_of_part {
                begin
            } else {
                first_of_part
            },
            last: if last < last_of_part {
                last
            } else {
                last_of_part
            },
            best,
        }
    }

    /// Whether the value at a place is as good as the best one, or, of the first of equals, one before it in its chunk.
    ///
    /// # Safety
    /// As for [`Self::candidates`]; the place is that of a value.
    #[inline(always)]
    unsafe fn is_best_at(self, base: usize, start: u32, place: u32, best: T) -> bool {
        // SAFETY: the caller's promise.
        let value = unsafe {
            if self.operator.is_last_of_equals() {
                *self.input.add(base.wrapping_add((start + place) as usize))
            } else {
                *self.place(start + place)
            }
        };
        self.operator.is_best(value, best)
    }

    /// The place of the best value. With `are_few` as in the fold.
    ///
    /// # Safety
    /// As for [`Self::candidates`].
    #[inline(always)]
    pub(super) unsafe fn search(
        self,
        base: usize,
        start: u32,
        are_few: bool,
        among: Candidates<T>,
    ) -> u32 {
        let Candidates {
            mut first,
            mut last,
            best,
        } = among;
        // SAFETY: the caller's promise; the places are those of candidates.
        unsafe {
            if self.operator.is_last_of_equals() {
                while first < last && !self.is_best_at(base, start, last, best) {
                    last -= 1;
                }
                return last;
            }
            while first < last {
                let middle = if are_few { first } else { (first + last) / 2 };
                if self.is_best_at(base, start, middle, best) {
                    last = middle;
                } else {
                    first = middle + 1;
                }
            }
        }
        first
    }
}
