//! Segments whose result is a place: that of the least or the greatest value.
//!
//! A state of a value and an index is twice as much work as a value, and does not fit into its place. So a lane keeps the best value of a piece
//! and where in its chunk that is, and writes a byte for each value: where the best of the piece is up to there. The bytes take the room of the
//! marks, vector by vector, so that lanes write side by side. The scan over the lanes combines what crosses chunks. The values stay in the
//! tile, and the byte of a piece's last value says which one is the best.
//!
//! Where few segments end, lanes take whole vectors in which nothing ends. The byte then says which vector has the best value, and few values
//! are left to look at.

use core::mem::transmute_copy;

use super::fold::scan_from_ends;
use super::memory::vectors_of_chunk;
use super::warp::Warp;
use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::operator::Operator;
use crate::shuffle::{shuffle_index, shuffle_up};
use crate::thread::thread_idx_x;
use crate::unroll::each;
use crate::vector::{Loaded, Quad};
use crate::words::Words;

/// A value, and where it is: its chunk times [`CHUNKS`], and where in the chunk.
type Best<T> = (Bits<T>, u32);

/// A value of 1, 2, 4 or 8 bytes, which lanes hand to one another as it is.
#[derive(Clone, Copy)]
struct Bits<T>(T);

impl<T: Copy> Words for Bits<T> {
    #[inline(always)]
    fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self {
        // SAFETY: the value has as many bits.
        Self(unsafe {
            match size_of::<T>() {
                1 => transmute_copy(&(map(transmute_copy::<T, u8>(&self.0).into()) as u8)),
                2 => transmute_copy(&(map(transmute_copy::<T, u16>(&self.0).into()) as u16)),
                4 => transmute_copy(&map(transmute_copy(&self.0))),
                _ => transmute_copy(&transmute_copy::<T, u64>(&self.0).map_words(map)),
            }
        })
    }
}

/// What the number of a chunk is multiplied by.
const CHUNKS: u32 = 1 << 8;
/// Added to the place of a vector's first value: the best is one of the vector's.
const IN_VECTOR: u32 = 1 << 7;
/// The place of no value.
const NOWHERE: u32 = u32::MAX;

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// Whether a value takes the place of the best one before it. Neither is a NaN if they `ARE_NUMBERS`.
    #[inline(always)]
    fn takes_over<const ARE_NUMBERS: bool>(self, value: T, best: T) -> bool {
        if ARE_NUMBERS {
            self.operator.takes_over_number(value, best)
        } else {
            self.operator.takes_over(value, best)
        }
    }

    /// The better of two, of which `left` comes first and may be nowhere.
    #[inline(always)]
    fn best_of<const ARE_NUMBERS: bool>(self, left: Best<T>, right: Best<T>) -> Best<T> {
        if (left.1 == NOWHERE) | self.takes_over::<ARE_NUMBERS>(right.0.0, left.0.0) {
            right
        } else {
            left
        }
    }

    /// Finds the best value of each marked piece, and says where the best of what comes after the last end is. The first lane's chunk begins
    /// at `start`. With few marks, lanes take whole vectors where nothing ends. No value is a NaN if all `are_numbers`.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call; the operator picks values. The marks are to be cleared afterwards.
    #[inline(always)]
    pub(super) unsafe fn fold_places(self, start: u32, are_few: bool, are_numbers: bool) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            if O::NUMBERS_ARE_QUICKER && are_numbers {
                self.fold_places_of::<true>(start, are_few)
            } else {
                self.fold_places_of::<false>(start, are_few)
            }
        }
    }

    /// See [`Self::fold_places`].
    ///
    /// # Safety
    /// The same.
    #[inline(always)]
    unsafe fn fold_places_of<const ARE_NUMBERS: bool>(self, start: u32, are_few: bool) -> u32 {
        let lane = thread_idx_x() % WARP_SIZE;
        let lanes = T::LANES as u32;
        // SAFETY: the caller's promise; the chunk is this lane's.
        unsafe {
            let ends = self.marks();
            let ended = ballot(u32::MAX, ends != 0);
            // The bytes of this lane go where the marks of others were.
            sync_warp();
            let heads = ends << 1 | 1;
            // No gap is in the vectors of a chunk.
            let vectors = vectors_of_chunk::<T>() as u32;
            let in_tile = self.tile.vector(start / lanes + lane * vectors);
            let vector = |number: u32| *in_tile.add(number as usize).cast::<T::Vector>();
            // What a piece begins with takes its place.
            let mut best = (Bits(T::value(vector(0), 0)), 0);
            let by_value = |number: u32, best: &mut Best<T>| {
                let (vector, places) = (vector(number), number * lanes);
                let mut bytes = [0_u32; 4];
                each(
                    T::LANES,
                    #[inline(always)]
                    |value| {
                        let here = T::value(vector, value);
                        let is_head = heads >> places & 1 << value != 0;
                        // Without a branch.
                        if is_head | self.takes_over::<ARE_NUMBERS>(here, best.0.0) {
                            *best = (Bits(here), places + value as u32);
                        }
                        bytes[value / 4] += best.1 << (8 * (value % 4));
                    },
                );
                self.keep_bytes(lane, number, bytes);
            };
            let ends_of_vector = ((1_u32 << (lanes - 1)) * 2).wrapping_sub(1);
            let whole_vectors = |number: u32, best: &mut Best<T>| {
                let places = number * lanes;
                if ends >> places & ends_of_vector == 0 {
                    let (of_vector, _) = self.best_in::<ARE_NUMBERS>(vector(number), places);
                    let is_head = heads >> places & 1 != 0;
                    if is_head | self.takes_over::<ARE_NUMBERS>(of_vector.0, best.0.0) {
                        *best = (of_vector, places | IN_VECTOR);
                    }
                } else {
                    by_value(number, best);
                }
            };
            let mut number = 0;
            if are_few {
                while number < vectors {
                    whole_vectors(number, &mut best);
                    number += 1;
                }
            } else {
                while number < vectors {
                    by_value(number, &mut best);
                    number += 1;
                }
            }
            let mut rest = (best.0, lane * CHUNKS + best.1);
            if ends & (1 << (Self::CHUNK - 1)) != 0 {
                rest.1 = NOWHERE;
            }
            let rest = scan_from_ends(
                ended,
                rest,
                #[inline(always)]
                |left, right| self.best_of::<ARE_NUMBERS>(left, right),
            );
            let carry = shuffle_up(rest, 1);
            if ends != 0 && lane > 0 {
                let place = self.place_in_chunk(lane, u32::trailing_zeros(ends));
                let value = *self.place(start + self.found(start, are_few, place));
                *self.first_slots.add(lane as usize) =
                    self.best_of::<ARE_NUMBERS>(carry, (Bits(value), place)).1;
            }
            shuffle_index(rest.1, WARP_SIZE - 1)
        }
    }

    /// The best value of a vector, whose first one has this place.
    #[inline(always)]
    fn best_in<const ARE_NUMBERS: bool>(self, vector: T::Vector, first: u32) -> Best<T> {
        let mut best = (Bits(T::value(vector, 0)), first);
        each(
            T::LANES - 1,
            #[inline(always)]
            |value| {
                let place = first + value as u32 + 1;
                let next = (Bits(T::value(vector, value + 1)), place);
                best = self.best_of::<ARE_NUMBERS>(best, next);
            },
        );
        best
    }

    /// Where the bytes of a vector of a chunk are, as many as it has values. Those of one vector of all chunks lie side by side, and those of
    /// all vectors of four neighbouring chunks in different banks.
    #[inline(always)]
    fn bytes_of(self, chunk: u32, vector: u32) -> *mut u8 {
        let turn = WARP_SIZE / vectors_of_chunk::<T>() as u32;
        let bytes = (vector * WARP_SIZE + (chunk ^ (vector * turn))) * T::LANES as u32;
        self.marks.cast::<u8>().wrapping_add(bytes as usize)
    }

    /// Keeps a byte for each value of a vector.
    ///
    /// # Safety
    /// There is such a vector, and no other lane keeps its bytes.
    #[inline(always)]
    unsafe fn keep_bytes(self, chunk: u32, vector: u32, [low, high, more, most]: [u32; 4]) {
        let place = self.bytes_of(chunk, vector);
        // SAFETY: the caller's promise; there is a byte for each value of the chunks, and as many as a vector's are aligned.
        unsafe {
            match T::LANES {
                2 => *place.cast::<u16>() = low as u16,
                4 => *place.cast::<u32>() = low,
                8 => *place.cast::<[u32; 2]>() = [low, high],
                _ => *place.cast::<Quad>() = Quad([low, high, more, most]),
            }
        }
    }

    /// Where the best value is of a piece in this chunk, up to this value of it.
    ///
    /// # Safety
    /// The byte of the value is kept.
    #[inline(always)]
    unsafe fn place_in_chunk(self, chunk: u32, value: u32) -> u32 {
        let lanes = T::LANES as u32;
        let bytes = self.bytes_of(chunk, value / lanes);
        // SAFETY: the caller's promise.
        chunk * CHUNKS + u32::from(unsafe { *bytes.add((value % lanes) as usize) })
    }

    /// Where the best value is of the piece that ends before `end`, counted as `begin` from the first lane's chunk on.
    ///
    /// # Safety
    /// The pass is folded by [`Self::fold_places`], and the piece has a value and a mark.
    #[inline(always)]
    pub(super) unsafe fn place_of_best(self, begin: u32, end: u32) -> u32 {
        let last = end - 1;
        let chunk = last / Self::CHUNK;
        // SAFETY: the caller's promise. A piece that begins before the chunk is the first to end in it.
        unsafe {
            if begin >= chunk * Self::CHUNK {
                self.place_in_chunk(chunk, last % Self::CHUNK)
            } else {
                *self.first_slots.add(chunk as usize)
            }
        }
    }

    /// The number of the value that is meant, counted from the first lane's chunk on. With `are_few` as in the fold.
    ///
    /// # Safety
    /// It is a place that the fold has found.
    #[inline(always)]
    pub(super) unsafe fn found(self, start: u32, are_few: bool, place: u32) -> u32 {
        let first = place / CHUNKS * Self::CHUNK + place % IN_VECTOR;
        if !are_few || place & IN_VECTOR == 0 {
            return first;
        }
        // SAFETY: the caller's promise.
        let vector: T::Vector = unsafe { transmute_copy(&*self.place::<Quad>(start + first)) };
        self.best_in::<false>(vector, first).1
    }
}
