//! # Other roads 13 · A barrier for the whole grid
//!
//! ## Before
//! Blocks cannot wait for one another: a block that waits may occupy the very place that another needs to start. So in step
//! 11 the last block finishes the sum, whichever that is, and all others leave.
//!
//! ## Idea
//! A *cooperative* launch promises that all blocks are on the GPU at the same time; a grid too large for that is refused.
//! Then blocks can wait, and a barrier across the grid is ordinary code: each block adds to a word that all share, and
//! watches it until all have added. The reduction falls into two halves with a barrier between, as if the grid were one
//! block.
//!
//! The word has to tell one barrier from the next. Block 0 adds 2³¹ − (G − 1) to it, and each of the G − 1 others adds 1.
//! When all have added, the sum has grown by 2³¹, and the highest bit has changed: that is what blocks wait for. At the
//! second barrier the bit changes back, and the word is 0 again. In this kernel all blocks arrive at the second barrier and
//! none waits there; it only resets the word.
//!
//! ## Picture
//! ```text
//! block 0    tiles … ─ partial 0 ─ arrive ─ wait ─ all partials ─ total ─ arrive
//! block 1    tiles … ─ partial 1 ─ arrive ─ wait ─ arrive
//! block 2    tiles … ─ partial 2 ─ arrive ─ wait ─ arrive
//! word                             2³¹ when all have                      0 when all have
//! ```
//!
//! ## Cost
//! For one block, besides that of step 10: 2 atomic additions, 3 fences, 1 warp barrier in each warp, 1 barrier, and as
//! many loads of the word as it has to wait. In block 0 alone, for G blocks: G loads; the shuffles, the shared words and
//! the barrier of step 9 once more; 1 store.
//!
//! ## Observe
//! In the PTX: the loop around `ld.relaxed.gpu.b32` is the wait.
//!
//! **Predict.** All blocks of `grid_sync` must be on the GPU at the same time. Does it launch as many warps as
//! `single_pass` for 2²⁰ elements, or fewer?
//! ```console
//! $ warpfold profile single_pass grid_sync -n 2^20 --metrics warps_launched
//! ...
//! metric          single_pass_512  grid_sync_512
//! ...
//! warps_launched              512            256
//! ...
//! ```
//! Half as many blocks as in step 11, so that all of them fit whatever else a kernel needs. On a GPU the time is
//! about the same.
//!
//! ## Break it
//! Run it in more blocks than the emulator holds at a time. It refuses, and says how many would fit. Without `--cooperative`, the
//! blocks that run wait forever for those that have not begun.
//! ```console
//! $ warpfold emulate kernels/ptx/kernels.sm_80.ptx --kernel grid_sync_64 --grid 3000 --block 64 --cooperative \
//!       --arg buf:i32:iota:1024 --arg buf:i32:zeros:3000 --arg u64:1024 --arg buf:i32:zeros:1 --arg buf:u64:zeros:1
//! warpfold: kernel `grid_sync_64`: a cooperative launch of 3000 blocks of 64 threads, where the emulated device holds 256 such blocks at a time (32 on each of 8 multiprocessors): launch fewer, and let each do more
//! ```
//!
//! ## Source
//! NVIDIA, *CUDA C++ Programming Guide*, grid synchronization; the arithmetic of the word is that of `grid.sync()` in the
//! toolkit's header `cooperative_groups`.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::thread::device_fence;

use crate::ladder::l09_shuffle::block_sum;
use crate::ladder::l10_vectorized::sum_of_tiles;
use crate::ladder::l11_single_pass::sum_of_partials;
use crate::prelude::*;

/// The bit of the word that changes when the last block arrives.
const TURN: u32 = 1 << 31;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn grid_sync<const B: u32>(
    input: *const i32,
    partials: *mut i32,
    n: usize,
    total: *mut i32,
    word: *mut u32,
) {
    let tid = thread_idx_x();
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);
    // SAFETY: the caller's promise; the shared array is the block's own, and there is a barrier between the two calls that use
    // it; the partials are written before the barrier of the grid and read after it.
    unsafe {
        if let Some(sum) = block_sum::<B>(sum_of_tiles(input, n, B), warp_sums) {
            *partials.add(block_idx_x() as usize) = sum;
            let before = arrive(word);
            wait(word, before);
        }
        // A warp has to reach the block's barrier as a whole, and one of its lanes has been waiting elsewhere.
        sync_warp();
        sync_threads();

        if block_idx_x() == 0
            && let Some(sum) = block_sum::<B>(sum_of_partials(partials, B), warp_sums)
        {
            *total = sum;
        }
        if tid == 0 {
            arrive(word);
        }
    }
}

/// Announces that the block has arrived, and publishes what the calling thread wrote before. Returns the word's value from
/// before.
///
/// # Safety
/// `word` points to the word of the grid, and one thread of each block makes the call, before any block makes it again.
#[inline(always)]
unsafe fn arrive(word: *mut u32) -> u32 {
    let others = grid_dim_x() - 1;
    let share = if block_idx_x() == 0 { TURN - others } else { 1 };
    device_fence();
    // SAFETY: the word is valid, and everyone changes it atomically.
    unsafe { AtomicU32::from_ptr(word).fetch_add(share, Ordering::Relaxed) }
}

/// Waits until every block has arrived. Afterwards this thread sees what theirs wrote before they arrived.
///
/// # Safety
/// `word` points to the word of the grid, which was `before` when this thread arrived, and all blocks are running.
#[inline(always)]
unsafe fn wait(word: *const u32, before: u32) {
    // SAFETY: the word is valid, and everyone changes it atomically.
    while (unsafe { load_relaxed(word) } ^ before) & TURN == 0 {}
    device_fence();
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        /// Writes the sum of the input to `total`.
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes; `partials` to one per block, `total`
        ///   and `word` to one, and nothing else touches those. The word is 0, and is 0 again at the end.
        #[doc = concat!("- The launch is cooperative; the grid has one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(
            input: *const i32,
            partials: *mut i32,
            n: usize,
            total: *mut i32,
            word: *mut u32,
        ) {
            // SAFETY: the caller's promise.
            unsafe { grid_sync::<$block>(input, partials, n, total, word) }
        }
    )*};
}

entries! {
    grid_sync_64 = 64;
    grid_sync_128 = 128;
    grid_sync_256 = 256;
    grid_sync_512 = 512;
    grid_sync_1024 = 1024;
}
