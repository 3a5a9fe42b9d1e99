//! Shuffles: each lane reads a value from a register of another lane.
//!
//! The functions are for whole warps: all 32 lanes make the call. The methods of [`Lanes`] are for parts of one.

use cuda_std::gpu_only;
#[cfg(target_arch = "nvptx64")]
use cuda_std::warp::lane_id;

use crate::lanes::WARP_SIZE;
use crate::thread::{block_dim_x, thread_idx_x};
use crate::words::Words;

/// The `value` of the lane `delta` above this one, or this lane's own if there is no such lane.
///
/// Here and not from `cuda_std::warp`, because rust-cuda's returns a pair through a helper function and checks its
/// arguments on the device; this is the instruction `shfl.sync.down` alone, once for each word of the value.
///
/// # Safety
/// All 32 lanes of the warp call it with the same `delta`, and none has exited.
#[inline(always)]
pub unsafe fn shuffle_down<T: Words>(value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { Lanes::WARP.shuffle_down(value, delta) }
}

/// The `value` of the lane `delta` below this one, or this lane's own if there is no such lane.
///
/// Here for the same reason as [`shuffle_down`]; this is the instruction `shfl.sync.up` alone.
///
/// # Safety
/// As for [`shuffle_down`].
#[inline(always)]
pub unsafe fn shuffle_up<T: Words>(value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { Lanes::WARP.shuffle_up(value, delta) }
}

/// The `value` of the lane whose number differs from this lane's in the bits of `mask`: with 1, lanes 0 and 1, 2 and 3 … exchange their values;
/// with 2, lanes 0 and 2, 1 and 3, 4 and 6 …; with 16, lanes 0 and 16, 1 and 17 … 15 and 31.
///
/// Here for the same reason as [`shuffle_down`]; this is the instruction `shfl.sync.bfly` alone.
///
/// # Safety
/// All 32 lanes of the warp call it with the same `mask`, below 32, and none has exited.
#[inline(always)]
pub unsafe fn shuffle_xor<T: Words>(value: T, mask: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { Lanes::WARP.shuffle_xor(value, mask) }
}

/// The `value` of the lane with this number, which may be another one in each lane.
///
/// Here for the same reason as [`shuffle_down`]; this is the instruction `shfl.sync.idx` alone.
///
/// # Safety
/// All 32 lanes of the warp call it with a number below 32, and none has exited.
#[inline(always)]
pub unsafe fn shuffle_index<T: Words>(value: T, lane: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { Lanes::WARP.shuffle_index(value, lane) }
}

/// The lanes of a warp that work together: sections of `WIDTH` neighbouring lanes, `WIDTH` a power of two up to 32. Where
/// not all lanes of the warp take part, those that do are its first ones, so that the last section may be cut short.
///
/// A value of this type says so of the lane that made it; another lane makes its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes<const WIDTH: u32 = WARP_SIZE> {
    /// All lanes that take part, in whichever section, one bit each.
    mask: u32,
    /// The rank of the last lane of this lane's section.
    last: u32,
}

impl Lanes {
    /// The whole warp as one section.
    pub const WARP: Self = Self::ALL;
}

impl<const WIDTH: u32> Lanes<WIDTH> {
    /// All lanes of the warp.
    pub const ALL: Self = {
        assert!(
            u32::is_power_of_two(WIDTH) && WIDTH <= WARP_SIZE,
            "a section has a power of two of lanes, up to 32"
        );
        Self {
            mask: u32::MAX,
            last: WIDTH - 1,
        }
    };

    /// The operand of a shuffle that keeps it to the section; the lower bits are for the last lane.
    const SECTIONS: u32 = (WARP_SIZE - WIDTH) << 8;

    /// The lanes that the block has in this warp: all of them but in the last warp of a block whose size is no multiple of
    /// 32. The block has one dimension.
    #[inline(always)]
    pub fn of_block() -> Self {
        let first = thread_idx_x() / WARP_SIZE * WARP_SIZE;
        Self::first(block_dim_x() - first)
    }

    /// The first `count` lanes of the warp, of which the calling lane is one; all lanes if there are no more.
    #[inline(always)]
    pub fn first(count: u32) -> Self {
        if count >= WARP_SIZE {
            return Self::ALL;
        }
        let section = lane() / WIDTH * WIDTH;
        let last = (count - 1).wrapping_sub(section);
        Self {
            mask: (1 << count) - 1,
            last: if last < WIDTH { last } else { WIDTH - 1 },
        }
    }

    /// These lanes of the warp, of which the calling one is one, whichever they are: for [`shuffle_index`](Self::shuffle_index) alone.
    #[inline(always)]
    pub(crate) fn among(mask: u32) -> Self {
        Self {
            mask,
            last: WIDTH - 1,
        }
    }

    /// Whether all lanes of the warp take part.
    #[inline(always)]
    pub fn is_whole_warp(self) -> bool {
        self.mask == u32::MAX
    }

    /// All lanes that take part, one bit each.
    #[inline(always)]
    pub fn mask(self) -> u32 {
        self.mask
    }

    /// The place of the calling lane in its section: 0 to `WIDTH` − 1.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        lane() % WIDTH
    }

    /// The rank of the last lane of the section.
    #[inline(always)]
    pub fn last(self) -> u32 {
        self.last
    }

    /// The `value` of the lane `delta` ranks above this one, or this lane's own if the section has no such lane.
    ///
    /// # Safety
    /// All these lanes, and no others, make the call with the same `delta`; none has exited.
    #[inline(always)]
    pub unsafe fn shuffle_down<T: Words>(self, value: T, delta: u32) -> T {
        let clamp = Self::SECTIONS | self.last;
        // SAFETY: the caller's promise.
        value.map_words(|word| unsafe { down(self.mask, word, delta, clamp) })
    }

    /// The `value` of the lane `delta` ranks below this one, or this lane's own if the section has no such lane.
    ///
    /// # Safety
    /// As for [`shuffle_down`](Self::shuffle_down).
    #[inline(always)]
    pub unsafe fn shuffle_up<T: Words>(self, value: T, delta: u32) -> T {
        // SAFETY: the caller's promise. For this shuffle alone the bits below the sections are the first lane.
        value.map_words(|word| unsafe { up(self.mask, word, delta, Self::SECTIONS) })
    }

    /// The `value` of the lane whose rank is this lane's rank exclusive-or `mask`, or this lane's own if there is no such
    /// lane.
    ///
    /// # Safety
    /// As for [`shuffle_down`](Self::shuffle_down), with a `mask` below `WIDTH`.
    #[inline(always)]
    pub unsafe fn shuffle_xor<T: Words>(self, value: T, mask: u32) -> T {
        let clamp = Self::SECTIONS | self.last;
        // SAFETY: the caller's promise.
        value.map_words(|word| unsafe { butterfly(self.mask, word, mask, clamp) })
    }

    /// The `value` of the lane of this rank in the section, which may be another one in each lane; this lane's own if there
    /// is no such lane.
    ///
    /// # Safety
    /// All these lanes, and no others, make the call; none has exited.
    #[inline(always)]
    pub unsafe fn shuffle_index<T: Words>(self, value: T, rank: u32) -> T {
        let clamp = Self::SECTIONS | self.last;
        // SAFETY: the caller's promise.
        value.map_words(|word| unsafe { index(self.mask, word, rank, clamp) })
    }
}

/// The number of the calling lane in its warp.
#[gpu_only]
#[inline(always)]
fn lane() -> u32 {
    lane_id()
}

/// The shuffle instructions, each with the same arguments: the lanes that take part, the word, the distance or the place, and
/// the bounds within which the source has to be.
macro_rules! shuffles {
    ($(#[$intrinsic:meta] $name:ident;)*) => {$(
        #[gpu_only]
        #[inline(always)]
        unsafe fn $name(mask: u32, word: u32, place: u32, bounds: u32) -> u32 {
            unsafe extern "C" {
                #[$intrinsic]
                fn shuffle(mask: u32, word: u32, place: u32, bounds: u32) -> u32;
            }
            // SAFETY: the caller's promise is the instruction's.
            unsafe { shuffle(mask, word, place, bounds) }
        }
    )*};
}

shuffles! {
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"] down;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"] up;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"] butterfly;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"] index;
}
