//! What a warp has of an array in segments, and how it loads values and ends.

use core::mem::transmute_copy;

use super::memory::{
    LOADS, VECTORS_OF_TILE, is_in_place, picks_values, tile, vectors_of_chunk, window,
};
use super::path::{List, Part, PlaceWords};
use crate::lanes::{WARP_SIZE, ballot};
use crate::memory::prefetch;
use crate::operator::Operator;
use crate::thread::thread_idx_x;
use crate::tile::{Bytes, Tile};
use crate::unroll::{array, each};
use crate::vector::{Loaded, Quad};

/// A warp, with its part of the path and its share of the block's memory.
#[derive(Clone, Copy)]
pub(super) struct Warp<T: Loaded, O: Operator<T>> {
    pub(super) operator: O,
    pub(super) input: *const T,
    pub(super) list: List,
    pub(super) part: Part,
    pub(super) results: *mut O::Output,
    /// The tile in shared memory.
    pub(super) tile: Tile<true>,
    /// This warp's own part of each array of [`Memory`](super::Memory).
    pub(super) marks: *mut Quad,
    pub(super) first_slots: *mut u32,
    pub(super) bounds: *mut u16,
    pub(super) slots: *mut O::State,
    /// The state of the first segment that ends in the part, which may have begun before. The first lane's, as the next one is.
    pub(super) first: *mut O::State,
    /// The state of what comes after the last end so far.
    pub(super) rest: *mut O::State,
    /// Whether vectors can be loaded.
    pub(super) is_aligned: bool,
}

/// Vectors that a lane has under way, word by word, since what is copied as a whole would lie in memory on its way.
pub(super) type Vectors = [(u32, u32, u32, u32); LOADS];

/// How far a warp has come: the next value is `from` in the tile that begins at `base`.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    /// Where the tile begins among the input's values, which may be before the first of them.
    pub(super) base: usize,
    pub(super) from: u32,
    /// The first segment that has not ended, and where it begins.
    pub(super) segment: usize,
    pub(super) begin: usize,
    /// Whether none has ended in the warp's part.
    pub(super) is_first: bool,
}

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    /// Values of a tile.
    pub(super) const TILE: u32 = tile::<T>() as u32;
    /// Values of a lane in one pass: neighbours.
    pub(super) const CHUNK: u32 = (vectors_of_chunk::<T>() * T::LANES) as u32;
    /// Vectors of the marks of a chunk.
    pub(super) const MARKS: usize = (Self::CHUNK as usize).div_ceil(size_of::<Quad>());
    /// Values of a warp in one pass.
    pub(super) const VALUES_OF_PASS: u32 = Self::CHUNK * WARP_SIZE;
    /// The most segments that end in one pass.
    pub(super) const WINDOW: u32 = window::<T, O>() as u32;
    /// Whether states are in place: see [`is_in_place`].
    pub(super) const IS_IN_PLACE: bool = is_in_place::<T, O>();
    /// Whether values are picked: see [`picks_values`].
    pub(super) const PICKS_VALUES: bool = picks_values::<T, O>();

    /// Whether all vectors of a tile can be loaded that does not begin before the values.
    ///
    /// # Safety
    /// As for [`segments`](super::segments()).
    #[inline(always)]
    pub(super) unsafe fn is_inside(self, base: usize) -> bool {
        let to = base + tile::<T>();
        // Where the values end is loaded again, since that is needed for a warp's last tile only, and registers are few.
        // SAFETY: it is a place of the list.
        self.is_aligned
            && (to <= self.part.end.value || to <= unsafe { self.list.start_of(self.list.count) })
    }

    /// The vectors of this lane, each beside those of the neighbouring lanes. Where a vector is one value nothing is loaded ahead.
    ///
    /// # Safety
    /// The tile is inside.
    #[inline(always)]
    pub(super) unsafe fn load_vectors(self, base: usize) -> Vectors {
        if T::LANES == 1 {
            return [(0, 0, 0, 0); LOADS];
        }
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        // SAFETY: the caller's promise.
        let mine = unsafe { self.input.add(base + lane * T::LANES).cast::<Quad>() };
        array(
            #[inline(always)]
            |load| {
                // SAFETY: it is in the tile, and at a multiple of 16.
                let [a, b, c, d] = unsafe { (*mine.add(load * WARP_SIZE as usize)).0 };
                (a, b, c, d)
            },
        )
    }

    /// A state, and with it the vectors of this lane, the first of which has this index.
    ///
    /// # Safety
    /// They are loaded, and the tile is inside.
    #[inline(always)]
    pub(super) unsafe fn accumulate(
        self,
        state: O::State,
        base: usize,
        vectors: Vectors,
        index: u64,
    ) -> O::State {
        let lane = thread_idx_x() % WARP_SIZE;
        let vectors: [T::Vector; LOADS] = array(
            #[inline(always)]
            // SAFETY: the caller's promise; 16 bytes are a vector if it has several values.
            |load| unsafe {
                if T::LANES == 1 {
                    return self.value(base, load as u32 * WARP_SIZE + lane);
                }
                let (a, b, c, d) = vectors[load];
                transmute_copy::<Quad, T::Vector>(&Quad([a, b, c, d]))
            },
        );
        let step = WARP_SIZE as u64 * T::LANES as u64;
        if T::LANES <= 4 {
            return T::accumulate(self.operator, state, vectors, index, step);
        }
        // All values of such vectors at once would take more registers than there are.
        let mut state = state;
        each(
            LOADS,
            #[inline(always)]
            |load| {
                let index = index + load as u64 * step;
                state = T::accumulate(self.operator, state, [vectors[load]], index, step);
            },
        );
        state
    }

    /// Whether it is known that none of a tile's values is a NaN; where that would be of no use, it is not.
    ///
    /// # Safety
    /// If the tile is inside, its vectors are loaded. All lanes of the warp make the call.
    #[inline(always)]
    pub(super) unsafe fn are_numbers(self, is_inside: bool, vectors: Vectors) -> bool {
        if !O::NUMBERS_ARE_QUICKER || !Self::PICKS_VALUES || !is_inside {
            return false;
        }
        let mut is_any_nan = false;
        each(
            LOADS,
            #[inline(always)]
            |load| {
                let (a, b, c, d) = vectors[load];
                // SAFETY: 16 bytes are a vector, since values are picked.
                let vector = unsafe { transmute_copy::<Quad, T::Vector>(&Quad([a, b, c, d])) };
                each(
                    T::LANES / 2,
                    #[inline(always)]
                    |pair| {
                        let pair = [T::value(vector, 2 * pair), T::value(vector, 2 * pair + 1)];
                        is_any_nan |= self.operator.is_any_nan(pair);
                    },
                );
            },
        );
        // SAFETY: the caller's promise.
        unsafe { ballot(u32::MAX, is_any_nan) == 0 }
    }

    /// Copies a tile to shared memory.
    ///
    /// # Safety
    /// If it is inside, its vectors are loaded. All lanes of the warp make the call, and wait for one another before they read it.
    #[inline(always)]
    pub(super) unsafe fn fill(self, base: usize, is_inside: bool, vectors: Vectors) {
        let lane = thread_idx_x() % WARP_SIZE;
        if T::LANES == 1 {
            return;
        }
        // SAFETY: the caller's promise; the tile has the room.
        unsafe {
            if is_inside {
                let mine = self.tile.vector(lane);
                each(
                    LOADS,
                    #[inline(always)]
                    |load| {
                        let (a, b, c, d) = vectors[load];
                        *mine.add(load * VECTORS_OF_TILE / LOADS) = Quad([a, b, c, d]);
                    },
                );
            } else {
                self.fill_carefully(base);
            }
        }
    }

    /// Copies a tile that goes beyond the values to shared memory: those of its values that there are.
    ///
    /// # Safety
    /// As for [`Self::fill`].
    #[inline(always)]
    pub(super) unsafe fn fill_carefully(self, base: usize) {
        if T::LANES == 1 {
            return;
        }
        // Loaded again, since this is rare and registers are few.
        // SAFETY: these are places of the list.
        let (from, to) = unsafe {
            let list = self.list;
            (list.start_of(0), list.start_of(list.count))
        };
        let whole = Bytes {
            start: self.input.wrapping_add(from) as usize,
            end: self.input.wrapping_add(to) as usize,
        };
        let start = self.input.wrapping_add(base) as usize;
        let count = LOADS as u32 * WARP_SIZE;
        let lane = thread_idx_x() % WARP_SIZE;
        // SAFETY: the caller's promise; the tile has the room.
        unsafe { self.tile.fill_carefully::<T>(start, count, whole, lane) };
    }

    /// Where a vector is one value: the value of this number in the tile, or past the last value that one.
    ///
    /// # Safety
    /// There is a value; a vector is one.
    #[inline(always)]
    pub(super) unsafe fn value(self, base: usize, number: u32) -> T::Vector {
        let place = base + number as usize;
        let last = self.list.to - 1;
        // SAFETY: the caller's promise.
        unsafe {
            *self
                .input
                .add(if place < last { place } else { last })
                .cast::<T::Vector>()
        }
    }

    /// Where a value of the tile is, or what is kept in its place.
    #[inline(always)]
    pub(super) fn place<V>(self, value: u32) -> *mut V {
        let lanes = T::LANES as u32;
        let vector = self.tile.vector(value / lanes).cast::<V>();
        // SAFETY: a vector has as many places as values.
        unsafe { vector.add((value % lanes) as usize) }
    }

    /// Where the next `N` · 32 segments end, from this one on: of each row of 32 the end that is this lane's. After the list's last segment its end
    /// is repeated.
    ///
    /// # Safety
    /// It is at most the number of segments.
    #[inline(always)]
    pub(super) unsafe fn ends<const N: usize>(self, segment: usize) -> [PlaceWords; N] {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        // SAFETY: these are places of the list.
        unsafe {
            let (first, last) = (segment + 1 + lane, self.list.count);
            if segment + N * (WARP_SIZE as usize) > last {
                return array(
                    #[inline(always)]
                    |row| {
                        let place = first + row * WARP_SIZE as usize;
                        self.list
                            .offsets
                            .words(if place < last { place } else { last })
                    },
                );
            }
            let offsets = self.list.offsets;
            let mine = offsets.at(first);
            array(
                #[inline(always)]
                |row| offsets.words_at(mine.add(offsets.word(row * WARP_SIZE as usize))),
            )
        }
    }

    /// Asks for the end of a segment, or of the list's last, to be brought into the L2 cache.
    ///
    /// # Safety
    /// As for [`Self::ends`].
    #[inline(always)]
    pub(super) unsafe fn prefetch_end(self, segment: usize) {
        let (place, last) = (segment + 1, self.list.count);
        // SAFETY: it is a place of the list.
        unsafe {
            prefetch(
                self.list
                    .offsets
                    .at(if place < last { place } else { last }),
            );
        }
    }

    /// Where the segment ends that comes `number` after this one, or the list's last if there is none.
    ///
    /// # Safety
    /// As for [`Self::ends`].
    #[inline(always)]
    pub(super) unsafe fn end(self, segment: usize, number: u32) -> usize {
        let place = segment + 1 + number as usize;
        let last = self.list.count;
        // SAFETY: it is a place of the list.
        unsafe { self.list.start_of(if place < last { place } else { last }) }
    }
}
