//! # Step 10 · Sixteen bytes a load
//!
//! ## Before
//! Step 9 asks for 4 bytes at a time. Every block adds eight elements per thread, goes through a tree and a barrier, and
//! ends, and the next block begins anew. There are thousands of blocks, each too short to keep the memory busy from its
//! beginning to its end.
//!
//! ## Idea
//! Two changes. A load takes 16 bytes, four neighbouring elements: a quarter of the instructions for the same bytes, and
//! with four such loads in flight a thread waits for 64 bytes at once. And the launch has only as many blocks as the GPU
//! holds at a time. Each block takes one tile, then the tile that is one grid of blocks further on, and so on (a
//! *grid-stride loop*). The tree comes once, at the very end.
//!
//! Such a load needs an address that is a multiple of 16. The input begins at such an address, and the length of a tile is
//! a multiple of four elements. At most the last three elements of the input don't fill a load; they are read one by one.
//!
//! ## Picture
//! Two blocks over six tiles and a piece:
//! ```text
//! input     │ tile 0 │ tile 1 │ tile 2 │ tile 3 │ tile 4 │ tile 5 │ ti
//! block 0   │ first  │        │ second │        │ third  │        │ fourth, cut short
//! block 1   │        │ first  │        │ second │        │ third  │
//! ```
//! A tile of 16·B elements: thread `tid` loads the four elements of vectors `tid`, `tid + B`, `tid + 2B` and `tid + 3B`.
//!
//! ## Cost
//! For one block over t whole tiles: 4B·t loads of 16 bytes and one global store. Then, once per block, what step 9 spends
//! once for every 8·B elements: B/32 shared stores and loads, 5 shuffles in each warp and 5 more in the first, 1 barrier.
//!
//! ## Observe
//! In the PTX: four `ld.global.v4.b32` before the first `add.s32` of the loop.
//!
//! **Predict.** Step 9 sends 32,768 requests for 131,072 sectors. How many requests does this step send for the same
//! elements, and for how many sectors?
//! ```console
//! $ warpfold profile shuffle vectorized -n 2^20 --metrics warp_instructions,global_load_requests,global_load_sectors
//! ...
//! metric                shuffle_512  vectorized_512
//! ...
//! warp_instructions         234,752          79,008
//! global_load_requests       32,768           8,192
//! global_load_sectors       131,072         131,072
//! ...
//! ```
//! A fraction of the instructions for the same sectors, and a grid that stops growing with n. The time is that of the
//! memory.
//!
//! ## Break it
//! Let every tile begin one element later: add 1 to the first `start` in `sum_of_tiles`. A vector can only be loaded from a multiple of 16:
//! ```console
//! $ warpfold try vectorized --check -n 2^16
//! ...
//! memcheck: misaligned access at global address 0x7f0000000004 (16 bytes) in kernel ...
//! ...
//! ```
//! And give every block one tile (a grid of ⌈n ∕ 16B⌉ blocks): the sum stays right, since the loop then runs once. Which is faster, and from
//! which n on?
//!
//! ## Source
//! Justin Luitjens, *CUDA Pro Tip: Increase Performance with Vectorized Memory Access* (NVIDIA, 2013); Mark Harris, *CUDA
//! Pro Tip: Write Flexible Kernels with Grid-Stride Loops* (NVIDIA, 2013).

use crate::ladder::l09_shuffle::block_sum;
use crate::prelude::*;

/// Four elements that one load brings.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Vector(pub [i32; 4]);

impl Vector {
    /// The sum of the four.
    #[inline(always)]
    pub fn sum(self) -> i32 {
        let Self([a, b, c, d]) = self;
        a.wrapping_add(b).wrapping_add(c.wrapping_add(d))
    }
}

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn vectorized<const B: u32>(input: *const i32, partials: *mut i32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);
    // SAFETY: the caller's promise; the shared array has one element per warp, and every thread makes both calls.
    unsafe {
        if let Some(sum) = block_sum::<B>(sum_of_tiles(input, n, B), warp_sums) {
            *partials.add(block_idx_x() as usize) = sum;
        }
    }
}

/// The sum of the thread's elements in all tiles of its block.
///
/// # Safety
/// `input` points to `n` values at a multiple of 16 bytes; `block` is the number of threads in a block.
#[inline(always)]
pub unsafe fn sum_of_tiles(input: *const i32, n: usize, block: u32) -> i32 {
    let tile_length = 16 * block as usize;
    let step = grid_dim_x() as usize * tile_length;
    let mut start = block_idx_x() as usize * tile_length;
    let mut sum = 0_i32;
    // SAFETY: a tile that begins below n has an element; it is whole if enough elements are left, and otherwise has those
    // that are left.
    unsafe {
        while start + tile_length <= n {
            sum = sum.wrapping_add(sum_of_whole_tile(input.add(start), block));
            start += step;
        }
        if start < n {
            sum = sum.wrapping_add(sum_of_cut_tile(input.add(start), (n - start) as u32, block));
        }
    }
    sum
}

/// The sum of the thread's sixteen elements: four loads that don't depend on one another.
///
/// # Safety
/// `tile` points to `16 * block` values at a multiple of 16 bytes.
#[inline(always)]
unsafe fn sum_of_whole_tile(tile: *const i32, block: u32) -> i32 {
    // SAFETY: the tile has `4 * block` vectors.
    unsafe {
        let mine = tile.cast::<Vector>().add(thread_idx_x() as usize);
        let v0 = *mine;
        let v1 = *mine.add(block as usize);
        let v2 = *mine.add(2 * block as usize);
        let v3 = *mine.add(3 * block as usize);
        let first = v0.sum().wrapping_add(v1.sum());
        let second = v2.sum().wrapping_add(v3.sum());
        first.wrapping_add(second)
    }
}

/// The sum of the thread's elements in a tile that n cuts short.
///
/// # Safety
/// `tile` points to `count` values at a multiple of 16 bytes.
#[inline(always)]
unsafe fn sum_of_cut_tile(tile: *const i32, count: u32, block: u32) -> i32 {
    let tid = thread_idx_x();
    let vectors = count / 4;
    let mut sum = 0_i32;
    let mut index = tid;
    while index < vectors {
        // SAFETY: the index is below the number of whole vectors.
        sum = sum.wrapping_add(unsafe { *tile.cast::<Vector>().add(index as usize) }.sum());
        index += block;
    }
    let index = 4 * vectors + tid;
    if index < count {
        // SAFETY: the index is below `count`.
        sum = sum.wrapping_add(unsafe { *tile.add(index as usize) });
    }
    sum
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        /// Writes one partial sum of the input per block to `partials`.
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes, and `partials` to one per block
        ///   that nothing else touches.
        #[doc = concat!("- The grid has one dimension and any number of blocks, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(input: *const i32, partials: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { vectorized::<$block>(input, partials, n) }
        }
    )*};
}

entries! {
    vectorized_64 = 64;
    vectorized_128 = 128;
    vectorized_256 = 256;
    vectorized_512 = 512;
    vectorized_1024 = 1024;
}
