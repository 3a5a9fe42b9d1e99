//! The shared memory of a block that reduces segments: what is in it, and how much of each.

use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::vector::{Loaded, Quad};

/// The most threads of a block.
pub const THREADS: u32 = 128;
/// The most warps of a block.
#[doc(hidden)]
pub const WARPS: usize = (THREADS / WARP_SIZE) as usize;

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

/// Blocks that are to fit on a multiprocessor with 228 KiB of shared memory; where there is less, fewer run at once. Places take more
/// registers.
pub const fn resident<T: Loaded, O: Operator<T>>() -> u32 {
    if picks_values::<T, O>() { 5 } else { 6 }
}

/// Whether the state of a segment is kept in place of the segment's last value: in the tile, or as a byte that says where the best value is.
/// Otherwise it has a slot of its own.
pub(super) const fn is_in_place<T: Loaded, O: Operator<T>>() -> bool {
    picks_values::<T, O>() || T::LANES > 1 && size_of::<O::State>() == size_of::<T>()
}

/// The most segments that may end in one pass of a warp: those whose bounds, and states, it has room for.
pub(super) const fn window<T: Loaded, O: Operator<T>>() -> usize {
    // In place as many as a pass has values. Otherwise as many as five blocks have room for: a pass of 1024 values, in segments of four on
    // average, rarely has more than 288 ends.
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

// Lengths of the shared arrays of a block, for the macro below.
#[doc(hidden)]
pub const VECTORS: usize = VECTORS_OF_TILE * WARPS;
#[doc(hidden)]
pub const MARKS: usize = MARKS_OF_WARP * WARPS;
#[doc(hidden)]
pub const FIRST_SLOTS: usize = THREADS as usize;
#[doc(hidden)]
pub const fn bounds<T: Loaded, O: Operator<T>>() -> usize {
    bounds_of_warp::<T, O>() * WARPS
}
#[doc(hidden)]
pub const fn slots<T: Loaded, O: Operator<T>>() -> usize {
    slots_of_warp::<T, O>() * WARPS
}

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

/// The shared memory of a block, which is uninitialised; [`segment_memory!`](crate::segment_memory!) makes it.
#[derive(Clone, Copy, Debug)]
pub struct Memory<S> {
    /// A tile for each warp.
    pub tiles: *mut Quad,
    /// A byte for each value of the chunks of the threads: whether a segment ends after it.
    pub marks: *mut Quad,
    /// Of the first segment that ends in the chunk of a thread: its slot or, of picked values, where the best is.
    pub first_slots: *mut u32,
    /// The bounds of segments, for each warp.
    pub bounds: *mut u16,
    /// The states of segments, for each warp.
    pub slots: *mut S,
    /// Two states for each warp.
    pub states: *mut S,
    /// Two places for each warp.
    pub places: *mut usize,
    /// A word for each warp.
    pub words: *mut u32,
}

/// `segment_memory!(T, Operator)`: the [`Memory`](crate::segments::Memory) of a kernel over segments.
#[macro_export]
macro_rules! segment_memory {
    ($value:ty, $operator:ty) => {{
        type State = <$operator as $crate::operator::Operator<$value>>::State;
        $crate::segments::Memory {
            tiles: $crate::shared_array!(tiles: [$crate::vector::Quad; $crate::segments::VECTORS]),
            marks: $crate::shared_array!(marks: [$crate::vector::Quad; $crate::segments::MARKS]),
            first_slots: $crate::shared_array!(first_slots: [u32; $crate::segments::FIRST_SLOTS]),
            bounds: $crate::shared_array!(bounds: [u16; $crate::segments::bounds::<$value, $operator>()]),
            slots: $crate::shared_array!(slots: [State; $crate::segments::slots::<$value, $operator>()]),
            states: $crate::shared_array!(states: [State; 2 * $crate::segments::WARPS]),
            places: $crate::shared_array!(places: [usize; 2 * $crate::segments::WARPS]),
            words: $crate::shared_array!(words: [u32; $crate::segments::WARPS]),
        }
    }};
}
