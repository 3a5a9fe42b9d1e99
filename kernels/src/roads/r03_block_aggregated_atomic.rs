//! # Other roads 3 · One atomic for a block
//!
//! ## Before
//! Even one atomic per warp is a queue of n/32.
//!
//! ## Idea
//! Go on to where step 9 ends, the sum of a block, and add that. Of all roads this is the shortest way to finish: one line
//! after any kernel that makes partials, and neither the host nor a second launch has anything left to do.
//!
//! The price is the order: the block that comes first adds first. Integers don't mind. A sum of floats would differ from
//! run to run, which is why step 11 takes its tickets.
//!
//! ## Picture
//! ```text
//! block 0   B values ── step 9 ── thread 0 ──┐
//! block 1   B values ── step 9 ── thread 0 ──┼──▶ total
//! block 2   B values ── step 9 ── thread 0 ──┘
//! ```
//!
//! ## Cost
//! n/B atomic additions in all; for one block, B loads, 1 atomic; B/32 shared stores and as many shared loads; 5 shuffles in
//! each warp and 5 more in the first; 1 barrier.
//!
//! ## Observe
//! In the PTX: step 9, with `atom.global.add.u32` for its last store.
//!
//! **Predict.** With an atomic for each warp there are 2,048. How many are left, in blocks of 256 threads?
//! ```console
//! $ warpfold profile warp_aggregated_atomic block_aggregated_atomic -n 2^16 --block 256 --metrics atomics
//! ...
//! metric   warp_aggregated_atomic  block_aggregated_atomic_256
//! ...
//! atomics                   2,048                          256
//! ...
//! ```
//! On a GPU the time falls again, and the atomics no longer matter.
//!
//! ## Break it
//! Let thread 0 add its own `value` and not the block's `sum`. Only the comparison with the CPU notices, since there is no race in it:
//! ```console
//! $ warpfold try block_aggregated_atomic -n 1000 --block 64
//! ...
//! sum                           -1344361118
//! sum on the CPU                -1804912496
//! ...
//! ```
//!
//! ## Source
//! Justin Luitjens, *Faster Parallel Reductions on Kepler* (NVIDIA, 2014), whose last variant this is.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::ladder::l09_shuffle::block_sum;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn block_aggregated_atomic<const B: u32>(input: *const i32, total: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);
    let index = block_idx_x() as usize * B as usize + tid as usize;
    // SAFETY: the index is below n where the element is read; the shared array has one element per warp, and every thread
    // of the block makes the call; the total is valid.
    unsafe {
        let value = if index < n { *input.add(index) } else { 0 };
        if let Some(sum) = block_sum::<B>(value, warp_sums) {
            AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
        }
    }
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        /// Adds the `n` elements of `input` to `total`, one atomic per block.
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `total` to one value that others change by atomics at
        ///   most.
        #[doc = concat!("- The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(input: *const i32, total: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { block_aggregated_atomic::<$block>(input, total, n) }
        }
    )*};
}

entries! {
    block_aggregated_atomic_64 = 64;
    block_aggregated_atomic_128 = 128;
    block_aggregated_atomic_256 = 256;
    block_aggregated_atomic_512 = 512;
    block_aggregated_atomic_1024 = 1024;
}
