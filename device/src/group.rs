//! Threads that work together as a value: a block, a tile of a warp, or the lanes that happen to be at the same place. A function that
//! takes any [`Group`] need not know which.

use cuda_std::gpu_only;

use crate::lanes::{WARP_SIZE, sync_lanes};
use crate::number::Number;
use crate::operator::Combine;
use crate::shuffle::Lanes;
use crate::thread::{block_dim_x, sync_threads, thread_idx_x};
use crate::words::Words;

/// Threads that work together, as the thread that asks sees them.
pub trait Group: Copy {
    /// The place of this thread in the group: 0 to [`size`](Self::size) − 1.
    fn rank(self) -> u32;

    /// How many threads the group has.
    fn size(self) -> u32;

    /// Waits until every thread of the group has come here. Afterwards all of them see what each wrote before.
    ///
    /// # Safety
    /// All threads of the group make the call, and none has exited.
    unsafe fn sync(self);
}

/// All threads of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block;

impl Group for Block {
    #[inline(always)]
    fn rank(self) -> u32 {
        thread_idx_x()
    }
    #[inline(always)]
    fn size(self) -> u32 {
        block_dim_x()
    }
    #[inline(always)]
    unsafe fn sync(self) {
        sync_threads();
    }
}

impl Block {
    /// The tile of this thread, where the block is split into tiles of `WIDTH` neighbouring threads: a power of two up to 32, which the
    /// size of the block is a multiple of.
    #[inline(always)]
    pub fn tile<const WIDTH: u32>(self) -> Tile<WIDTH> {
        Tile { _made: () }
    }
}

/// `WIDTH` neighbouring threads of a warp, all of which exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile<const WIDTH: u32> {
    _made: (),
}

impl<const WIDTH: u32> Tile<WIDTH> {
    /// The number of the tile in its block.
    #[inline(always)]
    pub fn index(self) -> u32 {
        thread_idx_x() / WIDTH
    }

    /// The tile of this thread, where this tile is split into tiles of `PART` threads.
    #[inline(always)]
    pub fn tile<const PART: u32>(self) -> Tile<PART> {
        const { assert!(PART <= WIDTH, "a part is no larger than the whole") };
        Tile { _made: () }
    }
}

impl<const WIDTH: u32> Group for Tile<WIDTH> {
    #[inline(always)]
    fn rank(self) -> u32 {
        thread_idx_x() % WIDTH
    }
    #[inline(always)]
    fn size(self) -> u32 {
        WIDTH
    }
    #[inline(always)]
    unsafe fn sync(self) {
        let first_lane = thread_idx_x() % WARP_SIZE - self.rank();
        let mask = u32::MAX >> (WARP_SIZE - WIDTH) << first_lane;
        // SAFETY: the mask names the lanes of the tile, and the caller promises that all of them come here.
        unsafe { sync_lanes(mask) }
    }
}

/// Some lanes of a warp, which need not be neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesced {
    mask: u32,
}

impl Coalesced {
    /// The lanes that execute this call together. The hardware decides which those are: at least the calling one, and none that did
    /// not come here. It exists from sm_80 on.
    #[cfg(any(
        not(target_arch = "nvptx64"),
        target_feature = "sm_80",
        target_feature = "compute_80"
    ))]
    #[inline(always)]
    pub fn here() -> Self {
        Self {
            mask: cuda_std::warp::activemask(),
        }
    }

    /// The lanes of a mask, of which the calling lane is one.
    #[inline(always)]
    pub fn of(mask: u32) -> Self {
        Self { mask }
    }

    /// Its lanes, one bit each.
    #[inline(always)]
    pub fn mask(self) -> u32 {
        self.mask
    }

    /// The first of its lanes.
    #[inline(always)]
    pub fn leader(self) -> u32 {
        u32::trailing_zeros(self.mask)
    }

    /// The `value` of this lane of the warp.
    ///
    /// # Safety
    /// All lanes of the group make the call, with the number of one of them; none has exited.
    #[inline(always)]
    pub unsafe fn shuffle<T: Words>(self, value: T, lane: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe { <Lanes>::among(self.mask).shuffle_index(value, lane) }
    }

    /// The states of the lanes combined in their order, in the first of them. What the others get is meaningless.
    ///
    /// Each lane knows the next one that it has not yet combined with, and asks that one in turn for its next: in 5 steps of two shuffles
    /// all 32 lanes are reached, whichever take part.
    ///
    /// # Safety
    /// All lanes of the group make the call, with the same operator; none has exited.
    #[inline(always)]
    pub unsafe fn reduce<S: Words>(self, operator: impl Combine<S>, state: S) -> S {
        let mut reduced = state;
        // The lanes of the group above this one, then the first of them; 32 for none.
        let above = self.mask & (u32::MAX - 1) << lane();
        let mut next = u32::trailing_zeros(above);
        let mut step = 1;
        while step < WARP_SIZE {
            let source = if next < WARP_SIZE { next } else { lane() };
            // SAFETY: the caller's promise; the source is a lane of the group.
            let (other, after) =
                unsafe { (self.shuffle(reduced, source), self.shuffle(next, source)) };
            if next < WARP_SIZE {
                reduced = operator.combine(reduced, other);
                next = after;
            }
            step *= 2;
        }
        reduced
    }
}

impl Group for Coalesced {
    #[inline(always)]
    fn rank(self) -> u32 {
        u32::count_ones(self.mask & ((1 << lane()) - 1))
    }
    #[inline(always)]
    fn size(self) -> u32 {
        u32::count_ones(self.mask)
    }
    #[inline(always)]
    unsafe fn sync(self) {
        // SAFETY: the mask names the lanes of the group, and the caller promises that all of them come here.
        unsafe { sync_lanes(self.mask) }
    }
}

/// The number of the calling lane in its warp.
#[gpu_only]
#[inline(always)]
fn lane() -> u32 {
    cuda_std::warp::lane_id()
}

/// The sum of the group's values, in its first thread. What the others get is meaningless.
///
/// # Safety
/// `scratch` points to one value for each thread of the group, which only this group touches; all its threads make the call.
#[inline(always)]
pub unsafe fn reduce_sum<T: Number>(group: impl Group, scratch: *mut T, value: T) -> T {
    let rank = group.rank();
    let mut sum = value;
    let mut count = group.size();
    while count > 1 {
        let half = count.div_ceil(2);
        // SAFETY: both places are below the size; there is a barrier between one thread's write of a place and another's read of
        // it, both ways.
        unsafe {
            *scratch.add(rank as usize) = sum;
            group.sync();
            if rank + half < count {
                sum = sum.plus(*scratch.add((rank + half) as usize));
            }
            group.sync();
        }
        count = half;
    }
    sum
}
