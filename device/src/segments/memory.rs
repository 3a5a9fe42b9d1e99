//! The shared memory of a block that reduces segments: what is in it, and how much of each.

use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::vector::{Loaded, Quad};

/// The most warps of a block.
const WARPS: usize = 24;

/// The most threads of a block: as many as run at once on a multiprocessor with 228 KiB of shared memory. Places take more registers.
pub const fn threads<T: Loaded, O: Operator<T>>() -> u32 {
    let warps = if picks_values::<T, O>() {
        20
    } else if is_in_place::<T, O>() {
        24
    } else {
        18
    };
    warps * WARP_SIZE
}

/// Bytes of shared memory that a block takes: for all its warps together, and for each of them.
pub const fn bytes<T: Loaded, O: Operator<T>>() -> (u32, u32) {
    let vectors = (vectors_of_block::<O::State>(), vectors_of_warp::<T, O>());
    let bytes = size_of::<Quad>();
    ((vectors.0 * bytes) as u32, (vectors.1 * bytes) as u32)
}

/// Vectors of a tile for each lane.
pub(super) const LOADS: usize = 8;
/// The most values of a lane in one pass.
pub(super) const CHUNK: usize = 32;

/// Vectors of a tile in shared memory, with a gap after every eighth.
pub(super) const VECTORS_OF_TILE: usize = LOADS * WARP_SIZE as usize * 9 / 8;

/// Whether the values of a segment are compared alone, and it is remembered which was the best.
pub(super) const fn picks_values<T: Loaded, O: Operator<T>>() -> bool {
    O::PICKS_VALUES && T::LANES > 1 && size_of::<T>() * T::LANES == size_of::<Quad>()
}

/// Whether the state of a segment is kept in place of the segment's last value: in the tile, or as a byte that says where the best value is.
/// Otherwise it has a slot of its own.
pub(super) const fn is_in_place<T: Loaded, O: Operator<T>>() -> bool {
    picks_values::<T, O>() || T::LANES > 1 && size_of::<O::State>() == size_of::<T>()
}

/// The most segments that may end in one pass of a warp: those whose bounds, and states, it has room for.
pub(super) const fn window<T: Loaded, O: Operator<T>>() -> usize {
    // In place as many as a pass has values. Otherwise as many as the warps of a block have room for: a pass of 1024 values, in segments of
    // four on average, rarely has more than 288 ends.
    if is_in_place::<T, O>() {
        1024
    } else if size_of::<O::State>() <= 16 {
        288
    } else {
        128
    }
}

/// Vectors of the chunk that a lane folds in one pass.
pub(super) const fn vectors_of_chunk<T: Loaded>() -> usize {
    let most = CHUNK / T::LANES;
    if most < LOADS { most } else { LOADS }
}

/// Vectors that hold the marks of a warp: a byte for each value of the longest chunks.
pub(super) const MARKS_OF_WARP: usize = CHUNK * WARP_SIZE as usize / size_of::<Quad>();

pub(super) const fn bounds_of_warp<T: Loaded, O: Operator<T>>() -> usize {
    window::<T, O>() + 1
}

/// One slot for each end, one for what comes before the first value, and one for what comes after the last end. States in place need none,
/// but a shared array has at least one element.
pub(super) const fn slots_of_warp<T: Loaded, O: Operator<T>>() -> usize {
    if is_in_place::<T, O>() {
        1
    } else {
        window::<T, O>() + 2
    }
}

/// Values of a tile, of one warp.
pub const fn tile<T: Loaded>() -> usize {
    LOADS * WARP_SIZE as usize * T::LANES
}

/// Vectors of an array of so many values.
const fn vectors<V>(values: usize) -> usize {
    (values * size_of::<V>()).div_ceil(size_of::<Quad>())
}

const PLACES: usize = vectors::<[u64; 2]>(WARPS);
const WORDS: usize = vectors::<u32>(WARPS);

/// Vectors of what all warps of a block use.
const fn vectors_of_block<S>() -> usize {
    PLACES + WORDS + vectors::<S>(2 * WARPS)
}

const fn vectors_of_warp<T: Loaded, O: Operator<T>>() -> usize {
    VECTORS_OF_TILE
        + MARKS_OF_WARP
        + vectors::<u32>(WARP_SIZE as usize)
        + vectors::<u16>(bounds_of_warp::<T, O>())
        + vectors::<O::State>(slots_of_warp::<T, O>())
}

/// The shared memory of a block, which is uninitialised: [`bytes`] for its warps.
#[derive(Clone, Copy, Debug)]
pub struct Memory(pub *mut Quad);

/// What all warps of a block use.
#[derive(Clone, Copy)]
pub(super) struct OfBlock<S> {
    /// In which segments the part of each warp begins and ends.
    pub(super) places: *mut [u64; 2],
    /// Two states for each warp.
    pub(super) states: *mut S,
    /// A word for each warp.
    pub(super) words: *mut u32,
}

/// What one warp uses.
#[derive(Clone, Copy)]
pub(super) struct OfWarp<S> {
    pub(super) tile: *mut Quad,
    pub(super) marks: *mut Quad,
    pub(super) first_slots: *mut u32,
    pub(super) bounds: *mut u16,
    pub(super) slots: *mut S,
}

impl Memory {
    #[inline(always)]
    pub(super) fn of_block<S>(self) -> OfBlock<S> {
        let start = self.0;
        OfBlock {
            places: start.cast(),
            words: start.wrapping_add(PLACES).cast(),
            states: start.wrapping_add(PLACES + WORDS).cast(),
        }
    }

    #[inline(always)]
    pub(super) fn of_warp<T: Loaded, O: Operator<T>>(self, warp: usize) -> OfWarp<O::State> {
        let start = self
            .0
            .wrapping_add(vectors_of_block::<O::State>() + warp * vectors_of_warp::<T, O>());
        let marks = start.wrapping_add(VECTORS_OF_TILE);
        let first_slots = marks.wrapping_add(MARKS_OF_WARP);
        let bounds = first_slots.wrapping_add(vectors::<u32>(WARP_SIZE as usize));
        let slots = bounds.wrapping_add(vectors::<u16>(bounds_of_warp::<T, O>()));
        OfWarp {
            tile: start,
            marks,
            first_slots: first_slots.cast(),
            bounds: bounds.cast(),
            slots: slots.cast(),
        }
    }
}
