//! The shared memory of a block that reduces segments: what is in it, and how much of each.

use super::path::{Part, Path};
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
/// registers. With a block more no kernel's registers suffice, and what is kept elsewhere takes longer than the block saves.
pub const fn resident<T: Loaded, O: Operator<T>>() -> u32 {
    if picks_values::<T, O>() { 4 } else { 5 }
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
const MARKS_OF_WARP: usize = CHUNK * WARP_SIZE as usize / size_of::<Quad>();

const fn bounds_of_warp<T: Loaded, O: Operator<T>>() -> usize {
    window::<T, O>() + 1
}

/// One slot for each end, one for what comes before the first value, and one for what comes after the last end. States in place need none,
/// but a shared array has at least one element.
const fn slots_of_warp<T: Loaded, O: Operator<T>>() -> usize {
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

/// What a warp keeps while it reduces a part: there are not enough registers.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub(super) path: Path,
    /// Where the first segment begins, and where the last one ends.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The number of the part, and where it begins and ends.
    pub(super) number: usize,
    pub(super) part: Part,
}

/// The shared memory of a warp: one place after the other, so that a warp needs one register for all of them.
#[derive(Clone, Copy)]
pub(super) struct OfWarp<S> {
    pub(super) tile: *mut Quad,
    /// A byte for each value of the chunks of the lanes: whether a segment ends after it.
    pub(super) marks: *mut Quad,
    /// The states of segments.
    pub(super) slots: *mut S,
    /// The state of the first segment that ends in the part, which may have begun before, and that of what comes after the last end so far.
    pub(super) states: *mut S,
    pub(super) kept: *mut Kept,
    /// Of the first segment that ends in the chunk of a lane: its slot or, of picked values, where the best is.
    pub(super) first_slots: *mut u32,
    /// The bounds of segments.
    pub(super) bounds: *mut u16,
}

/// The bytes of one place after another, each a multiple of 16.
const fn room<V>(count: usize) -> usize {
    (size_of::<V>() * count).next_multiple_of(size_of::<Quad>())
}

/// Vectors of the shared memory of a warp.
const fn vectors_of_warp<T: Loaded, O: Operator<T>>() -> usize {
    let bytes = room::<Quad>(VECTORS_OF_TILE + MARKS_OF_WARP)
        + room::<O::State>(slots_of_warp::<T, O>())
        + room::<O::State>(2)
        + room::<Kept>(1)
        + room::<u32>(WARP_SIZE as usize)
        + room::<u16>(bounds_of_warp::<T, O>());
    bytes / size_of::<Quad>()
}

/// Vectors of the shared memory of a block.
#[doc(hidden)]
pub const fn vectors<T: Loaded, O: Operator<T>>() -> usize {
    vectors_of_warp::<T, O>() * WARPS
}

/// The shared memory of a block, which is uninitialised; [`segment_memory!`](crate::segment_memory!) makes it.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    #[doc(hidden)]
    pub vectors: *mut Quad,
}

impl Memory {
    /// That of a warp.
    ///
    /// # Safety
    /// The block has such a warp, and the memory is of this operator over this type.
    #[inline(always)]
    pub(super) unsafe fn of_warp<T: Loaded, O: Operator<T>>(self, warp: usize) -> OfWarp<O::State> {
        const { assert!(align_of::<O::State>() <= align_of::<Quad>()) };
        // SAFETY: the caller's promise; each place begins where the one before ends.
        unsafe {
            let tile = self.vectors.add(warp * vectors_of_warp::<T, O>());
            let marks = tile.add(VECTORS_OF_TILE);
            let slots = marks.add(MARKS_OF_WARP).cast::<u8>();
            let states = slots.add(room::<O::State>(slots_of_warp::<T, O>()));
            let kept = states.add(room::<O::State>(2));
            let first_slots = kept.add(room::<Kept>(1));
            let bounds = first_slots.add(room::<u32>(WARP_SIZE as usize));
            OfWarp {
                tile,
                marks,
                slots: slots.cast(),
                states: states.cast(),
                kept: kept.cast(),
                first_slots: first_slots.cast(),
                bounds: bounds.cast(),
            }
        }
    }
}

/// `segment_memory!(T, Operator)`: the [`Memory`](crate::segments::Memory) of a kernel over segments.
#[macro_export]
macro_rules! segment_memory {
    ($value:ty, $operator:ty) => {
        $crate::segments::Memory {
            vectors: $crate::shared_array!(vectors: [
                $crate::vector::Quad;
                $crate::segments::vectors::<$value, $operator>()
            ]),
        }
    };
}
