//! # Other roads 11 · A block in tiles
//!
//! ## Before
//! So far threads work together as a block or as a warp, and each kernel spells out anew which of them wait for one
//! another. A function that reduces has to know whether 512 threads call it or 32.
//!
//! ## Idea
//! Make the group of threads a value. A `Tile` of T threads knows the number of a thread in it and has a barrier of its
//! own, and `reduce_sum(tile, scratch, value)` needs no more than that, whatever T is. Here T is at most 32: a tile is part
//! of a warp, and its barrier is a `bar.warp.sync` with the lanes of the tile as its mask.
//!
//! Each tile reduces by itself. The first tile then takes the sums of all tiles, and reduces once more. Small tiles leave
//! it much to do: T = 1 is a block without a tree.
//!
//! ## Picture
//! A block of 16 threads in tiles of T = 4:
//! ```text
//! thread      0  1  2  3 │ 4  5  6  7 │ 8  9 10 11 │12 13 14 15     each with a sum by 16-byte loads
//! reduce_sum  a          │ b          │ c          │ d
//! tile 0      a  b  c  d     reduce_sum again: thread 0 has the sum of the block
//! ```
//!
//! ## Cost
//! For one block: the loads of step 10; 2·log₂ T warp barriers in each warp, and as many more in the first; 2
//! barriers; B/T shared words that the first tile reads in B/T² rounds; one atomic; 4B bytes of shared memory.
//!
//! ## Observe
//! In the PTX: `bar.warp.sync` with a register, where step 5b has −1.
//!
//! **Predict.** Larger tiles have more steps and more barriers, smaller ones leave more sums to the first tile. Which
//! of the six tiles takes the fewest instructions?
//! ```console
//! $ warpfold profile tile_partition -n 2^18 --metrics warp_instructions,active_lanes
//! ...
//!                              tile 1            tile 2            tile 4            tile 8            tile 16            tile 32
//! ...
//! warp_instructions           151,104            70,368            55,808            55,072             57,792             60,576
//! active_lanes                   8.46             20.62             27.00             28.67              28.79              28.70
//! ...
//! ```
//! T = 8 takes the fewest. With T = 1, which needs no warp barrier, one thread adds up B words while all others have
//! finished.
//!
//! ## Break it
//! Take the second `tile.sync()` out of `reduce_sum`. A thread then overwrites what its neighbour has not read yet:
//! ```console
//! $ warpfold try tile_partition --check -n 1000 --block 64
//! ...
//! racecheck: write after read at shared address 0x8 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, Kyrylo Perelygin, *Cooperative Groups: Flexible CUDA Thread Programming* (NVIDIA, 2017).

use core::sync::atomic::{AtomicI32, Ordering};

use cuda_std::shared::dynamic_shared_mem;

use crate::ladder::l10_vectorized::sum_of_tiles;
use crate::prelude::*;

/// T neighbouring threads of a warp, T a power of two up to 32: the tile of the thread that asks.
#[derive(Clone, Copy)]
pub struct Tile<const T: u32>;

impl<const T: u32> Tile<T> {
    /// The number of this thread in its tile: 0 to T − 1.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        thread_idx_x() % T
    }

    /// The number of the tile in its block.
    #[inline(always)]
    pub fn index(self) -> u32 {
        thread_idx_x() / T
    }

    /// Waits until every thread of the tile has come here. Afterwards all of them see what each wrote before.
    ///
    /// # Safety
    /// All T threads of the tile call it, and none has exited.
    #[inline(always)]
    pub unsafe fn sync(self) {
        let first_lane = thread_idx_x() % WARP_SIZE - self.rank();
        let mask = u32::MAX >> (WARP_SIZE - T) << first_lane;
        // SAFETY: the mask names the lanes of the tile, and the caller promises that all of them come here.
        unsafe { sync_lanes(mask) }
    }
}

/// The sum of the tile's T values, in its thread 0. What the other threads get is meaningless.
///
/// # Safety
/// `scratch` points to T values that only this tile touches, and all its threads make the call.
#[inline(always)]
pub unsafe fn reduce_sum<const T: u32>(tile: Tile<T>, scratch: *mut i32, value: i32) -> i32 {
    let rank = tile.rank();
    let mut sum = value;
    let mut stride = T / 2;
    while stride > 0 {
        // SAFETY: both elements are among the T; there is a barrier between one thread's write of an element and another's read
        // of it, both ways.
        unsafe {
            *scratch.add(rank as usize) = sum;
            tile.sync();
            if rank < stride {
                sum = sum.wrapping_add(*scratch.add((rank + stride) as usize));
            }
            tile.sync();
        }
        stride /= 2;
    }
    sum
}

/// The body of every entry; `T` is the number of threads in a tile.
///
/// # Safety
/// As for the entries; `scratch` points to one element of shared memory for each thread of the block.
#[inline(always)]
unsafe fn tile_partition<const T: u32>(
    input: *const i32,
    total: *mut i32,
    n: usize,
    scratch: *mut i32,
) {
    let block = block_dim_x();
    let tile = Tile::<T>;
    // SAFETY: whole tiles make the calls, because T divides the block. Each tile has T elements of the scratch memory.
    // After a barrier each tile's sum has one element, and each thread of the first tile reads the one at its rank and
    // every T-th after it, which no other thread writes.
    unsafe {
        let mine = scratch.add((tile.index() * T) as usize);
        let sum = reduce_sum(tile, mine, sum_of_tiles(input, n, block));
        sync_threads();
        if tile.rank() == 0 {
            *scratch.add(tile.index() as usize) = sum;
        }
        sync_threads();

        if tile.index() == 0 {
            let mut sum = 0_i32;
            let mut index = tile.rank();
            while index < block / T {
                sum = sum.wrapping_add(*scratch.add(index as usize));
                index += T;
            }
            let sum = reduce_sum(tile, scratch, sum);
            if tile.rank() == 0 {
                AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
            }
        }
    }
}

macro_rules! entries {
    ($($name:ident = $t:literal;)*) => {$(
        /// Adds the `n` elements of `input` to `total`, one atomic per block.
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes, and `total` to one value that others
        ///   change by atomics at most.
        /// - The grid has one dimension and any number of blocks, and a block a power of two B of threads, 64 to 1024, with
        ///   4·B bytes of dynamic shared memory.
        #[kernel]
        pub unsafe fn $name(input: *const i32, total: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { tile_partition::<$t>(input, total, n, dynamic_shared_mem()) }
        }
    )*};
}

entries! {
    tile_partition_1 = 1;
    tile_partition_2 = 2;
    tile_partition_4 = 4;
    tile_partition_8 = 8;
    tile_partition_16 = 16;
    tile_partition_32 = 32;
}
