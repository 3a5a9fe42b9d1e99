//! # Memory access 6 · Room for blocks
//!
//! ## Before
//! A load from global memory takes hundreds of cycles. A multiprocessor does other work meanwhile, if it has other warps: the
//! more of them are *resident* on it, the more loads are under way at once.
//!
//! ## Idea
//! A multiprocessor takes a block when it has room for all of it, and keeps it until all its threads have ended. It has room
//! for a number of warps (64 on an H200, that is 2048 threads), for a number of blocks (32), for 65,536 registers, and for an
//! amount of shared memory (228 KiB). Whatever runs out first is the limit. The *occupancy* is the share of the 64 warps that
//! then fit.
//!
//! - **Shared memory**: `shared_held` reverses blocks as page 3 does, through an array that is as large as its parameter says.
//!   It needs no more than the first 4 KiB. The rest is only held, and keeps other blocks away.
//! - **Registers**: a thread of `in_flight` loads 64 elements before it adds any, and so needs a register for each. Registers
//!   are given to whole warps in pieces of 256, by each of the multiprocessor's four parts.
//! - **Launch bounds**: how many registers a thread gets is decided when a GPU's assembler compiles the PTX, before anybody
//!   knows the launch. A kernel can announce it. `.maxntid B` says that a block has at most B threads, so that one block fits in
//!   any case. `.minnctapersm M` says that M blocks are to fit: `in_flight_bounded` asks for 1024 threads on each multiprocessor,
//!   in blocks of any size, which leaves 64 registers for each. The assembler then loads less ahead, or puts values aside into
//!   local memory (it *spills*). What it does without bounds differs from one assembler to the next: ptxas 12.9 keeps all loads of
//!   `in_flight` ahead, in 72 registers; that of driver 580 loads less ahead, in 30 registers, and is as fast with twice the warps.
//!
//! More is not always better. Many threads with one load each, or few with many each, have as many loads in flight:
//! `in_flight` has fewer warps, with more loads each. Past the point where memory is busy all the time, occupancy gives nothing.
//!
//! ## Picture
//! ```text
//! blocks of 256 threads, 8 warps each, on a multiprocessor with 64 warps, 64 Ki registers, 228 KiB
//!
//! 32 registers, 1 KiB     ████████ ████████ ████████ ████████ ████████ ████████ ████████ ████████   8 blocks, 100 %
//! 64 registers            ████████ ████████ ████████ ████████ ········ ········ ········ ········   4 blocks,  50 %
//! 72 registers            ████████ ████████ ████████ ········ ········ ········ ········ ········   3 blocks,  37.5 %
//! 48 KiB                  ████████ ████████ ████████ ████████ ········ ········ ········ ········   4 blocks,  50 %
//! ```
//!
//! ## Cost
//! For one block of `in_flight`: 16B loads of 16 bytes, B/32 shared stores and as many loads, one barrier. `in_flight_bounded` does the same. For one
//! block of `shared_held`: what page 3 says, whatever it holds.
//!
//! ## Observe
//! In the PTX: `.maxntid 256` in the header of `in_flight_256`, and `.maxntid 256 .minnctapersm 4` in that of
//! `in_flight_bounded_256`; `.b8 tile[49152]` in `shared_held_48`. `warpfold profile in_flight in_flight_bounded shared_held
//! --block 256` ends with the occupancy of each and what limits it, and `--sm 80,86,90` gives it for other GPUs. `warpfold
//! host-lesson residency --svg residency.svg` shows and draws all block sizes; on a GPU it also asks the driver and takes the
//! times.
//!
//! **Predict.** A thread of `in_flight` has 72 registers, one of `in_flight_bounded` 62, and a block has 8 warps. How
//! many blocks of each fit on a multiprocessor?
//! ```console
//! $ warpfold profile in_flight in_flight_bounded --block 256 -n 2^16
//! ...
//! in_flight_256            256  sm_90         72    32 B       3  24 of 64  37.50 %  registers
//! in_flight_bounded_256    256  sm_90         62    32 B       4  32 of 64  50.00 %  registers
//! ...
//! ```
//!
//! ## Break it
//! Remove the launch bounds of `in_flight_1024`: the assembler gives each thread as many registers as it likes, and where that
//! is more than 64 a launch with 1024 threads is refused, since 65,536 registers are all there are.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on launch bounds and on the multiprocessor level; Vasily Volkov, *Better Performance at Lower
//! Occupancy* (GTC 2010).

use crate::ladder::l09_shuffle::block_sum;
use crate::ladder::l10_vectorized::Vector;
use crate::prelude::*;

use super::m03_reverse::reverse;

/// How many elements a thread loads before it adds any.
pub const IN_FLIGHT: u32 = 64;

/// The same in vectors of 16 bytes.
const VECTORS: usize = IN_FLIGHT as usize / 4;

/// Threads that are to be resident on a multiprocessor: as many as the smallest has room for.
const RESIDENT_THREADS: u32 = 1024;

/// The body of every entry of `in_flight` and `in_flight_bounded`.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn in_flight<const B: u32>(input: *const i32, partials: *mut i32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);
    let tid = thread_idx_x();
    let start = block_idx_x() as usize * (IN_FLIGHT * B) as usize;

    let mut sum = 0_i32;
    // SAFETY: a vector is read where the whole tile is below n, and an element where its index is; the shared array has one
    // element per warp.
    unsafe {
        if start + (IN_FLIGHT * B) as usize <= n {
            let mine = input.add(start).cast::<Vector>().add(tid as usize);
            let loaded: [Vector; VECTORS] = core::array::from_fn(|k| *mine.add(k * B as usize));
            for vector in &loaded {
                sum = sum.wrapping_add(vector.sum());
            }
        } else {
            let mut index = start + tid as usize;
            while index < n {
                sum = sum.wrapping_add(*input.add(index));
                index += B as usize;
            }
        }
        if let Some(sum) = block_sum::<B>(sum, warp_sums) {
            *partials.add(block_idx_x() as usize) = sum;
        }
    }
}

macro_rules! entries {
    ($($name:ident $bounded:ident = $block:literal;)*) => {$(
        #[doc = concat!("Writes the sum of each block's 64·", $block, " elements to `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes, and `partials` to one per block that nothing
        ///   else touches.
        #[doc = concat!("- The grid has ⌈n ∕ 64B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(input: *const i32, partials: *mut i32, n: usize) {
            launch_bounds!($block);
            // SAFETY: the caller's promise.
            unsafe { in_flight::<$block>(input, partials, n) }
        }

        #[doc = concat!("The same as [`", stringify!($name), "`], with 1024 threads on each multiprocessor.")]
        ///
        /// # Safety
        /// The same.
        #[kernel]
        pub unsafe fn $bounded(input: *const i32, partials: *mut i32, n: usize) {
            launch_bounds!($block, RESIDENT_THREADS / $block);
            // SAFETY: the caller's promise.
            unsafe { in_flight::<$block>(input, partials, n) }
        }
    )*};
}

entries! {
    in_flight_64 in_flight_bounded_64 = 64;
    in_flight_128 in_flight_bounded_128 = 128;
    in_flight_256 in_flight_bounded_256 = 256;
    in_flight_512 in_flight_bounded_512 = 512;
    in_flight_1024 in_flight_bounded_1024 = 1024;
}

macro_rules! holding {
    ($($name:ident = $kibibytes:literal;)*) => {$(
        #[doc = concat!("Reverses each block's tile of B elements in place, and holds ", $kibibytes, " KiB of shared memory.")]
        ///
        /// # Safety
        /// - `values` points to `n` values that nothing else touches.
        /// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
        #[kernel]
        pub unsafe fn $name(values: *mut i32, n: usize) {
            let tile = shared_array!(tile: [i32; 256 * $kibibytes]);
            // SAFETY: the caller's promise; a block has at most 1024 threads, and the array as many elements or more.
            unsafe { reverse(values, n, tile, block_dim_x()) }
        }
    )*};
}

holding! {
    shared_held_4 = 4;
    shared_held_8 = 8;
    shared_held_16 = 16;
    shared_held_32 = 32;
    shared_held_48 = 48;
}
