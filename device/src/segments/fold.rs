//! The fold of a pass: the state of each marked piece.
//!
//! Each lane folds its chunk value by value, and begins anew after each mark. Where few segments end, it takes vectors without a mark as a
//! whole. One scan over the lanes, which begins anew at each lane with a mark, then brings the state of what came before to the first end of
//! a chunk.

use core::mem::transmute_copy;

use super::marks::lanes_below;
use super::memory::vectors_of_chunk;
use super::warp::Warp;
use crate::lanes::{WARP_SIZE, ballot};
use crate::operator::Operator;
use crate::shuffle::{shuffle_index, shuffle_up};
use crate::thread::thread_idx_x;
use crate::unroll::each;
use crate::vector::{Loaded, Quad};
use crate::words::Words;

/// Puts a value into the words of a vector, in the place of that number. Of less than a word, it was 0 before.
#[inline(always)]
pub(super) fn put<V: Copy>(words: &mut [u32; 4], place: usize, value: V) {
    let byte = size_of::<V>() * place % size_of::<Quad>();
    let (word, shift) = (byte / 4, 8 * (byte % 4));
    // SAFETY: the value has as many bits.
    unsafe {
        match size_of::<V>() {
            1 => words[word] |= u32::from(transmute_copy::<V, u8>(&value)) << shift,
            2 => words[word] |= u32::from(transmute_copy::<V, u16>(&value)) << shift,
            4 => words[word] = transmute_copy(&value),
            _ => [words[word], words[(word + 1) % 4]] = transmute_copy(&value),
        }
    }
}

/// A scan over what each lane leaves after its last end. It begins anew at each lane with an end; `ended` has a bit for each of those. What is
/// combined with another comes after it, and is of a lane without an end.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
pub(super) unsafe fn scan_from_ends<S: Words>(
    ended: u32,
    state: S,
    combine: impl Fn(S, S) -> S,
) -> S {
    let lane = thread_idx_x() % WARP_SIZE;
    let first_lane = 31 - u32::leading_zeros(ended & (u32::MAX >> (31 - lane)) | 1);
    let mut scanned = state;
    // Those that have all of theirs.
    let (mut delta, mut reached) = (1, ended | 1);
    while reached != u32::MAX {
        // SAFETY: the caller's promise; the loop is the same in all lanes.
        let before = unsafe { shuffle_up(scanned, delta) };
        if lane >= first_lane + delta {
            scanned = combine(before, scanned);
        }
        reached |= reached << delta;
        delta *= 2;
    }
    scanned
}

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// Puts the states of marked pieces into their slots or in place, and returns the state of what comes after the last. The first lane's
    /// chunk begins at `start`, and the first value is `from`. The segment that has not ended before has this index at `start`. With few marks, lanes
    /// take whole vectors where nothing ends.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    #[inline(always)]
    pub(super) unsafe fn fold(
        self,
        base: usize,
        start: u32,
        index: u64,
        from: u32,
        are_few: bool,
    ) -> O::State {
        let operator = self.operator;
        let lane = thread_idx_x() % WARP_SIZE;
        let lanes = T::LANES as u32;
        // The marks of a lane, without that of what comes before the first value: no segment ends there.
        let without_before = |of_lane: u32, ends: u32| {
            if from > start && (from - 1 - start) / Self::CHUNK == of_lane {
                ends & ends.wrapping_sub(1)
            } else {
                ends
            }
        };
        // SAFETY: the caller's promise; the marks say which slots are this lane's.
        unsafe {
            let ends = self.marks();
            self.clear_marks();
            let ended = ballot(u32::MAX, ends != 0);
            let below = ended & lanes_below();
            let nearest = 31 - u32::leading_zeros(below | 1);
            let restarts_below = without_before(nearest, shuffle_index(ends, nearest));
            let first = lane * Self::CHUNK;
            let mut index = if below != 0 && restarts_below != 0 {
                let end = nearest * Self::CHUNK + WARP_SIZE - u32::leading_zeros(restarts_below);
                u64::from(first - end)
            } else {
                index.wrapping_add(u64::from(first))
            };

            let first_slot = if !Self::IS_IN_PLACE && ends != 0 {
                *self.first_slots.add(lane as usize)
            } else {
                0
            };
            let slots = self.slots.add(first_slot as usize);
            let mut slot = slots;
            let mut state = operator.identity();
            // Where a piece begins, and where a segment does.
            let (heads, starts) = (ends << 1 | 1, without_before(lane, ends) << 1);
            // No gap is in the vectors of a chunk.
            // The loop is not written out, for which there are not enough registers.
            let vectors = vectors_of_chunk::<T>() as u32;
            let first_vector = start / lanes + lane * vectors;
            let in_tile = self.tile.vector(first_vector);
            let mut number = 0;
            while number < vectors {
                let vector = if T::LANES > 1 {
                    *in_tile.add(number as usize).cast::<T::Vector>()
                } else {
                    self.value(base, first_vector + number)
                };
                let places = number * lanes;
                let (ends, heads, starts) = (ends >> places, heads >> places, starts >> places);
                if starts & 1 != 0 {
                    index = u64::from(places).wrapping_neg();
                }
                if are_few && ends & ((1_u32 << (lanes - 1)) * 2).wrapping_sub(1) == 0 {
                    let index = index.wrapping_add(places.into());
                    state = if heads & 1 != 0 {
                        T::lift(operator, vector, index)
                    } else {
                        T::accumulate(operator, state, [vector], index, 0)
                    };
                } else {
                    let mut words = [0; 4];
                    each(
                        T::LANES,
                        #[inline(always)]
                        |value| {
                            let place = u64::from(places) + value as u64;
                            if value > 0 && starts >> value & 1 != 0 {
                                index = place.wrapping_neg();
                            }
                            let (value_here, index) =
                                (T::value(vector, value), index.wrapping_add(place));
                            state = if heads >> value & 1 != 0 {
                                operator.lift(value_here, index)
                            } else if Self::IS_IN_PLACE {
                                operator.combine(state, operator.lift(value_here, index))
                            } else {
                                operator.accumulate(state, [[value_here]], index, 1)
                            };
                            if Self::IS_IN_PLACE {
                                put(&mut words, value, state);
                            } else if ends >> value & 1 != 0 {
                                *slot = state;
                                slot = slot.add(1);
                            }
                        },
                    );
                    if Self::IS_IN_PLACE {
                        *in_tile.add(number as usize) = Quad(words);
                    }
                }
                number += 1;
            }
            if ends & (1 << (Self::CHUNK - 1)) != 0 {
                state = operator.identity();
            }

            let state = scan_from_ends(
                ended,
                state,
                #[inline(always)]
                |left, right| operator.combine(left, right),
            );
            let carry = shuffle_up(state, 1);
            if ends != 0 && lane > 0 {
                let place = if Self::IS_IN_PLACE {
                    self.place(start + first + u32::trailing_zeros(ends))
                } else {
                    slots
                };
                *place = operator.combine(carry, *place);
            }
            shuffle_index(state, WARP_SIZE - 1)
        }
    }
}
