//! # Step 11 · The whole sum in one launch
//!
//! ## Before
//! Step 10 leaves one partial sum per block, and somebody has to fetch them and add them up: the host, or a second launch.
//! For a few hundred numbers that costs more than the kernel spends on millions.
//!
//! ## Idea
//! The last block to finish adds up all partials. No block can wait for the others, since those may not have started yet.
//! But each block can take a *ticket* once it has written its partial: it adds 1 to a counter, atomically. The block that
//! draws the highest number knows that all others have written theirs.
//!
//! The order of the tickets alone says nothing about the order of the partials. A *fence* connects the two: whoever sees
//! what a thread wrote after its fence also sees what it wrote before. So each block has a fence between its partial and
//! its ticket, and the last block has another between its ticket and its reads of the partials.
//!
//! The last block adds the partials in the order of their places, not in the order in which they came. Whichever block it
//! is, it makes the same additions in the same order. For integers this makes no difference; a sum of floats is the same to
//! the last bit in every run. Finally the last block sets the counter back to 0 for the next launch.
//!
//! ## Picture
//! ```text
//! block 0    tiles … ─ partial 0 ─ fence ─ ticket 1
//! block 1    tiles … ─ partial 1 ─ fence ─ ticket 0
//! block 2    tiles … ─ partial 2 ─ fence ─ ticket 2, the last of 3 ─ fence ─ partial 0 + partial 1 + partial 2 ─ total
//! ```
//!
//! ## Cost
//! For one block, besides that of step 10: 2 fences, 1 atomic addition, 1 more barrier, and 1 shared word, which each
//! thread reads to learn whether its block is the last. In the last block of G, in addition: G loads; the shuffles, the
//! shared words and the barrier of step 9 once more; 1 store, and 1 atomic exchange.
//!
//! ## Observe
//! In the PTX: `membar.gl` before and after `atom.global.add.u32`; `ld.volatile.global.b32` for the partials, and
//! nowhere else.
//!
//! **Predict.** The launch has 32 blocks here. How many atomics does `single_pass` execute?
//! ```console
//! $ warpfold profile vectorized single_pass -n 2^20 --metrics warp_instructions,atomics
//! ...
//! metric             vectorized_512  single_pass_512
//! ...
//! warp_instructions          79,008           84,701
//! atomics                         0               33
//! ...
//! ```
//! Each block takes a ticket, and the last one clears the counter.
//!
//! On a GPU: a little longer than step 10, and by the same amount for every n, because a partial, a ticket and the last block's work
//! come one after another. But nothing is left to do afterwards.
//!
//! ## Break it
//! Remove the first `device_fence()`. Nothing then orders the store of a partial sum and the load of it in another block:
//! ```console
//! $ warpfold try single_pass --check -n 2^16 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000040100 (4 bytes) in kernel ...
//! ...
//! ```
//! A GPU gives the right sum nearly every time.
//!
//! ## Source
//! NVIDIA, *CUDA C++ Programming Guide*, memory fence functions, and the sample `threadFenceReduction`.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::thread::device_fence;

use crate::ladder::l09_shuffle::block_sum;
use crate::ladder::l10_vectorized::sum_of_tiles;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn single_pass<const B: u32>(
    input: *const i32,
    partials: *mut i32,
    n: usize,
    total: *mut i32,
    counter: *mut u32,
) {
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);
    let is_last = shared_array!(is_last: [u32; 1]);

    // SAFETY: the caller's promise; the shared arrays are the block's own, there is a barrier between the calls that use the
    // first and between the write and the reads of the second; whole blocks make the calls, because being the last holds
    // for all threads of a block; fences and tickets order the last block's reads of the partials after their writes.
    unsafe {
        if let Some(sum) = block_sum::<B>(sum_of_tiles(input, n, B), warp_sums) {
            *partials.add(block_idx_x() as usize) = sum;
            device_fence();
            let ticket = AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
            device_fence();
            *is_last = u32::from(ticket == grid_dim_x() - 1);
        }
        sync_threads();

        if *is_last != 0
            && let Some(sum) = block_sum::<B>(sum_of_partials(partials, B), warp_sums)
        {
            *total = sum;
            // Atomic as well: a plain store would have no place in the order of the tickets.
            AtomicU32::from_ptr(counter).swap(0, Ordering::Relaxed);
        }
    }
}

/// The sum of the thread's share of the partials: the one at its index and every `block`-th after it.
///
/// # Safety
/// `partials` points to one value per block, all of them written before; a block has `block` threads.
#[inline(always)]
pub unsafe fn sum_of_partials(partials: *const i32, block: u32) -> i32 {
    let mut sum = 0_i32;
    let mut index = thread_idx_x();
    while index < grid_dim_x() {
        // Volatile: read from the memory that all blocks share, not from a cache of this multiprocessor. SAFETY: the index
        // is below the number of blocks.
        sum = sum.wrapping_add(unsafe { partials.add(index as usize).read_volatile() });
        index += block;
    }
    sum
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        /// Writes the sum of the input to `total`.
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes; `partials` to one per block, `total`
        ///   and `counter` to one, and nothing else touches those. The counter is 0, and is 0 again at the end.
        #[doc = concat!("- The grid has one dimension and any number of blocks, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(
            input: *const i32,
            partials: *mut i32,
            n: usize,
            total: *mut i32,
            counter: *mut u32,
        ) {
            // SAFETY: the caller's promise.
            unsafe { single_pass::<$block>(input, partials, n, total, counter) }
        }
    )*};
}

entries! {
    single_pass_64 = 64;
    single_pass_128 = 128;
    single_pass_256 = 256;
    single_pass_512 = 512;
    single_pass_1024 = 1024;
}
