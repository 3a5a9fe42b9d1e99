//! What a warp keeps of an array in shared memory, in vectors, and what some of its lanes reduce of that.

use crate::lanes::WARP_SIZE;
use crate::operator::{Combine, Operator};
use crate::shuffle::Lanes;
use crate::thread::thread_idx_x;
use crate::unroll::each;
use crate::vector::{Loaded, Quad};
use crate::words::Words;

/// Vectors that a lane loads before it stores the first.
const LOADS: usize = 4;

/// Vectors of a tile, without gaps.
pub(crate) const VECTORS: usize = LOADS * WARP_SIZE as usize;

/// Neighbouring lanes of a warp, a power of two of them that is known when the kernel runs.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    pub(crate) lanes: u32,
    /// The number of the section in its warp.
    pub(crate) index: u32,
    /// The place of this lane in it.
    pub(crate) rank: u32,
}

impl Section {
    #[inline(always)]
    pub(crate) fn of(lanes: u32) -> Self {
        let lane = thread_idx_x() % WARP_SIZE;
        Self {
            lanes,
            index: lane / lanes,
            rank: lane % lanes,
        }
    }

    /// The states of its lanes combined in their order, in the first of them.
    ///
    /// # Safety
    /// The whole warp makes the call.
    #[inline(always)]
    pub(crate) unsafe fn reduce<S: Words>(self, operator: impl Combine<S>, state: S) -> S {
        // SAFETY: the caller's promise.
        unsafe { self.reduce_each(operator, [state])[0] }
    }

    /// As [`Self::reduce`], of up to 16 states of each lane.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(crate) unsafe fn reduce_each<S: Words, const N: usize>(
        self,
        operator: impl Combine<S>,
        states: [S; N],
    ) -> [S; N] {
        let mut reduced = states;
        let mut delta = 1;
        while delta < self.lanes {
            each(
                N,
                #[inline(always)]
                |number| {
                    // What the first lane gets comes from its own section.
                    // SAFETY: the caller's promise.
                    let other = unsafe { Lanes::WARP.shuffle_down(reduced[number], delta) };
                    reduced[number] = operator.combine(reduced[number], other);
                },
            );
            delta *= 2;
        }
        reduced
    }
}

/// Addresses from `start` to before `end`.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The tile of a warp in shared memory: vectors, with a gap of one after every eighth or without gaps.
#[derive(Clone, Copy)]
pub(crate) struct Tile<const GAPS: bool> {
    pub(crate) vectors: *mut Quad,
}

impl<const GAPS: bool> Tile<GAPS> {
    /// Where the vector of this number is.
    #[inline(always)]
    pub(crate) fn vector(self, number: u32) -> *mut Quad {
        let gaps = if GAPS { number / 8 } else { 0 };
        // SAFETY: callers ask for those that the tile has.
        unsafe { self.vectors.add((number + gaps) as usize) }
    }

    /// Where this byte is.
    #[inline(always)]
    fn byte(self, number: u32) -> *mut u8 {
        const BYTES: u32 = size_of::<Quad>() as u32;
        let gaps = if GAPS { number / (8 * BYTES) } else { 0 };
        // SAFETY: callers ask for those that the tile has.
        unsafe {
            self.vectors
                .cast::<u8>()
                .add((number + gaps * BYTES) as usize)
        }
    }

    /// The word of this number.
    ///
    /// # Safety
    /// It has been written.
    #[inline(always)]
    unsafe fn word(self, number: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { *self.byte(4 * number).cast::<u32>() }
    }

    /// Copies as many bytes from `start` on, and the rest of their vectors; returns at which byte of the tile they begin. Outside of
    /// `whole` nothing is read.
    ///
    /// # Safety
    /// The tile has the room; in `whole` there are values, and the bytes are some of those.
    #[inline(always)]
    pub(crate) unsafe fn fill<T: Copy>(
        self,
        start: usize,
        bytes: u32,
        whole: Bytes,
        lane: u32,
    ) -> u32 {
        const BYTES: usize = size_of::<Quad>();
        let shift = (start % BYTES) as u32;
        let base = start - shift as usize;
        let count = (shift + bytes).div_ceil(BYTES as u32);
        let address = |number: u32| base + number as usize * BYTES;
        if base >= whole.start && address(count) <= whole.end {
            let number = |load: usize| lane + load as u32 * WARP_SIZE;
            // For what is beyond the last vector, that one once more: all loads are under way together. Word by word,
            // since what is copied as a whole would lie in memory on its way.
            const { assert!(LOADS == 4) };
            let load = |place: usize| {
                let last = count - 1;
                let number = if number(place) < last {
                    number(place)
                } else {
                    last
                };
                // SAFETY: it is inside the values, and at a multiple of 16.
                let [a, b, c, d] = unsafe { (*(address(number) as *const Quad)).0 };
                (a, b, c, d)
            };
            let store = |place: usize, (a, b, c, d): (u32, u32, u32, u32)| {
                if number(place) < count {
                    // SAFETY: the tile has the room.
                    unsafe { *self.vector(number(place)) = Quad([a, b, c, d]) };
                }
            };
            let (first, second, third, fourth) = (load(0), load(1), load(2), load(3));
            store(0, first);
            store(1, second);
            store(2, third);
            store(3, fourth);
            return shift;
        }
        // The first tile or the last: their outer vectors are not all values.
        // SAFETY: the caller's promise.
        unsafe { self.fill_carefully::<T>(base, count, whole, lane) };
        shift
    }

    /// Copies `count` vectors from `base` on, which need not begin at one; what is outside of `whole` is not read, and 0 here.
    ///
    /// # Safety
    /// The tile has the room; in `whole` there are values, and some of those begin at multiples of their size from `base` on.
    #[inline(always)]
    pub(crate) unsafe fn fill_carefully<T: Copy>(
        self,
        base: usize,
        count: u32,
        whole: Bytes,
        lane: u32,
    ) {
        const BYTES: usize = size_of::<Quad>();
        let is_aligned = base.is_multiple_of(BYTES);
        let mut number = lane;
        while number < count {
            let start = base.wrapping_add(number as usize * BYTES);
            // SAFETY: a vector inside the values, or those values that there are; and their place in the tile.
            unsafe {
                let target = self.vector(number);
                if is_aligned && start >= whole.start && start.wrapping_add(BYTES) <= whole.end {
                    *target = *(start as *const Quad);
                } else {
                    *target = Quad([0; 4]);
                    let mut byte = 0;
                    while byte < BYTES {
                        let value = start.wrapping_add(byte);
                        if value >= whole.start && value < whole.end {
                            *target.cast::<u8>().add(byte).cast::<T>() = *(value as *const T);
                        }
                        byte += size_of::<T>();
                    }
                }
            }
            number += WARP_SIZE;
        }
    }

    /// The state of this lane's share of a row of `columns` values, which begins at this byte of the tile.
    ///
    /// # Safety
    /// The row has been written. If `is_aligned`, the offset is a multiple of 16.
    #[inline(always)]
    pub(crate) unsafe fn fold_row<T: Loaded, O: Operator<T>>(
        self,
        operator: O,
        offset: u32,
        columns: u32,
        is_aligned: bool,
        group: Section,
    ) -> O::State {
        let lanes = T::LANES as u32;
        let vectors = columns / lanes;
        // SAFETY: the vectors and values are those of the row.
        unsafe {
            let load = |vector: u32| {
                let vector_offset = offset + vector * size_of::<Quad>() as u32;
                let quad = if is_aligned {
                    *self.vector(vector_offset / size_of::<Quad>() as u32)
                } else {
                    self.unaligned::<T>(vector_offset)
                };
                core::mem::transmute_copy::<Quad, T::Vector>(&quad)
            };
            let index_of = |vector: u32| u64::from(vector * lanes);
            let mut vector = group.rank;
            let mut state = if vector < vectors {
                T::lift(operator, load(vector), index_of(vector))
            } else {
                operator.identity()
            };
            vector += group.lanes;
            while vector < vectors {
                state = T::accumulate(operator, state, [load(vector)], index_of(vector), 0);
                vector += group.lanes;
            }
            let mut place = vectors * lanes + group.rank;
            while place < columns {
                let value = *self
                    .byte(offset + place * size_of::<T>() as u32)
                    .cast::<T>();
                state = operator.combine(state, operator.lift(value, u64::from(place)));
                place += group.lanes;
            }
            state
        }
    }

    /// The 16 bytes from this one on, of values of this type.
    ///
    /// # Safety
    /// They have been written.
    #[inline(always)]
    unsafe fn unaligned<T>(self, offset: u32) -> Quad {
        let first = offset / 4;
        // SAFETY: the words have some of the bytes.
        unsafe {
            let words: [u32; 4] = core::array::from_fn(|word| self.word(first + word as u32));
            if size_of::<T>() >= 4 {
                return Quad(words);
            }
            let last = self.word((offset + 15) / 4);
            let shift = offset % 4 * 8;
            Quad(core::array::from_fn(|word| {
                let next = if word < 3 { words[word + 1] } else { last };
                ((u64::from(next) << 32 | u64::from(words[word])) >> shift) as u32
            }))
        }
    }
}
