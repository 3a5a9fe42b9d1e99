//! # Memory access 3 · A block reversed
//!
//! ## Before
//! Threads that exchange elements in global memory either read or write in the wrong order. In place, they also overwrite
//! what others have not read yet.
//!
//! ## Idea
//! Go through shared memory: every thread puts its element into an array of the block, all wait, and every thread takes the
//! mirrored one. Global memory is read and written in order; only shared memory is read backwards, which costs nothing
//! there. And because every thread has read before any writes, the block can be reversed in place.
//!
//! A shared array is either static or dynamic. *Static*: its length is in the kernel, so there is one kernel per block
//! size. *Dynamic*: the launch says how many bytes each block gets, and one kernel serves every block size.
//!
//! ## Picture
//! ```text
//! global   a b c d e f        thread i reads element i …
//! shared   a b c d e f        … and stores it at i; a barrier
//! global   f e d c b a        thread i takes element 5 − i from there
//! ```
//!
//! ## Cost
//! For one whole block: B loads and B stores in global memory, as many in shared memory, one barrier, 4B bytes of shared
//! memory. There is no bank conflict: a mirrored warp still takes 32 words from 32 banks.
//!
//! ## Observe
//! In the PTX: `.shared .align 16 .b8 tile[2048]` in `reverse_static_512`, and `.extern .shared` in
//! `reverse_dynamic`; otherwise they are the same.
//!
//! **Predict.** Half of the 4,096 shared accesses of warps go backwards. How many wavefronts do all of them take?
//! ```console
//! $ warpfold profile reverse_static reverse_dynamic -n 2^16 --metrics shared_requests,shared_wavefronts
//! ...
//! metric             reverse_static_512  reverse_dynamic
//! ...
//! shared_requests                 4,096            4,096
//! shared_wavefronts               4,096            4,096
//! ...
//! ```
//! One wavefront per shared access.
//!
//! ## Break it
//! Remove the barrier. A thread then reads an element that another has not written yet:
//! ```console
//! $ warpfold try reverse_dynamic --check -n 128 --block 64
//! ...
//! racecheck: write after read at shared address 0x80 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, *Using Shared Memory in CUDA C/C++* (NVIDIA, 2013), `staticReverse` and `dynamicReverse`.

use cuda_std::shared::dynamic_shared_mem;

use crate::prelude::*;

/// Reverses each block's tile of B elements in place; the last tile may have fewer.
///
/// # Safety
/// - `values` points to `n` values that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, each with 4B bytes of dynamic shared memory.
#[kernel]
pub unsafe fn reverse_dynamic(values: *mut i32, n: usize) {
    let tile = dynamic_shared_mem::<i32>();
    // SAFETY: the caller's promise; the launch gives the array one element per thread.
    unsafe { reverse(values, n, tile, block_dim_x()) }
}

/// The body of every entry.
///
/// # Safety
/// As for the entries; `tile` points to `block` elements in shared memory, and `block` is the number of threads.
#[inline(always)]
pub unsafe fn reverse(values: *mut i32, n: usize, tile: *mut i32, block: u32) {
    let tid = thread_idx_x();
    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; an element of the shared array
    // is read only after the barrier.
    unsafe {
        let mine = values.add(start + tid as usize);
        if tid < count {
            *tile.add(tid as usize) = *mine;
        }
        sync_threads();
        if tid < count {
            *mine = *tile.add((count - 1 - tid) as usize);
        }
    }
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        #[doc = concat!("Reverses each block's tile of ", $block, " elements, the last one's as many as it has, in place.")]
        ///
        /// # Safety
        /// - `values` points to `n` values that nothing else touches.
        #[doc = concat!("- The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(values: *mut i32, n: usize) {
            let tile = shared_array!(tile: [i32; $block]);
            // SAFETY: the caller's promise; the array has one element per thread.
            unsafe { reverse(values, n, tile, $block) }
        }
    )*};
}

entries! {
    reverse_static_64 = 64;
    reverse_static_128 = 128;
    reverse_static_256 = 256;
    reverse_static_512 = 512;
    reverse_static_1024 = 1024;
}
