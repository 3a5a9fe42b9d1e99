//! # Operators and types 6 · Step 11 for every operator and type
//!
//! ## Before
//! The page before leaves a partial result per block, and the host, or a second launch, has to combine them.
//!
//! ## Idea
//! Step 11 of the ladder with its operator taken out: the last block to finish, which a ticket tells, combines the
//! partials. An atomic operation per block would end in one value as well, but in the order in which the blocks happen to
//! finish, and no atomic operation multiplies. Here each thread of the last block takes the partial at its index and
//! every B-th after it, and a tree follows. The grid alone fixes the order, so a sum of floats is the same to the last
//! bit in every run. It does depend on the number of blocks.
//!
//! ## Picture
//! ```text
//! block 2    partial   fence   ticket 0
//! block 0    partial   fence   ticket 1
//! block 3    partial   fence   ticket 2
//! block 1    partial   fence   ticket 3 = G − 1: the last   partials 0 1 2 3 → total; counter = 0
//! ```
//!
//! ## Cost
//! That of the page before. In addition, for each block one store, one atomic addition, two fences and a barrier; for the
//! last one G loads and a second tree.
//!
//! ## Observe
//! In the PTX: `ld.volatile.global` for the partials, and nowhere else; `membar.gl` before and after the ticket. A run
//! on the emulator:
//! ```console
//! $ warpfold run single_pass_sum_f32 -n 2^16 --device emulator
//! ...
//! sum                                  -42.060013
//! sum on the CPU                -42.0600026845932
//! rounding allowed                        0.06908
//! ...
//! ```
//! **Predict.** Another order of execution may have another last block. Does the sum of floats change in any of
//! 50 orders?
//! ```console
//! $ warpfold check single_pass_sum_f32 --block 64 --schedules 50
//! ...
//! memcheck, initcheck, racecheck, synccheck; 50 schedules, seeds 0 to 49
//! ...
//! blocks    13 of   64 threads: clean
//! ```
//! The sum is the same in each run, and in every order of execution.
//!
//! ## Break it
//! Let each block add its partial to `total` atomically instead. The sum of `f32` values then changes from run to run on a
//! GPU, in its last digits.
//!
//! ## Source
//! As for step 11: NVIDIA, *CUDA C++ Programming Guide*, memory fence functions, and the sample `threadFenceReduction`.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::thread::device_fence;

use pastey::paste;

use crate::lists::for_each_instance;
use crate::operators::o01_operators::*;
use crate::operators::o04_shuffle::{MOST_WARPS, reduce_block};
use crate::operators::o05_vectorized::{Vectorized, reduce_tiles};
use crate::prelude::*;

/// The body of every entry; A is the type that values are combined in.
///
/// # Safety
/// As for the entries.
#[inline(always)]
pub(crate) unsafe fn single_pass<O: Operator<A>, T: Vectorized, A: Value + From<T>>(
    input: *const T,
    partials: *mut A,
    n: usize,
    total: *mut A,
    counter: *mut u32,
) {
    let tid = thread_idx_x();
    let warp_results = shared_array!(warp_results: [A; MOST_WARPS]);
    let is_last = shared_array!(is_last: [u32; 1]);

    // SAFETY: the caller's promise; the shared arrays are the block's own, there is a barrier between the calls that use the
    // first and between the write and the reads of the second; whole blocks make the calls, because being the last holds
    // for all threads of a block; fences and tickets order the last block's reads of the partials after their writes.
    unsafe {
        let result = reduce_block::<O, A>(reduce_tiles::<O, T, A>(input, n), warp_results);
        if tid == 0 {
            *partials.add(block_idx_x() as usize) = result;
            device_fence();
            let ticket = AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
            device_fence();
            *is_last = u32::from(ticket == grid_dim_x() - 1);
        }
        sync_threads();

        if *is_last != 0 {
            let result = reduce_block::<O, A>(reduce_partials::<O, A>(partials), warp_results);
            if tid == 0 {
                *total = result;
                // Atomic as well: a plain store would have no place in the order of the tickets.
                AtomicU32::from_ptr(counter).swap(0, Ordering::Relaxed);
            }
        }
    }
}

/// The thread's share of the partials combined: the one at its index and every B-th after it; the identity if there are
/// none.
///
/// # Safety
/// `partials` points to one value per block, which nothing writes any more.
#[inline(always)]
unsafe fn reduce_partials<O: Operator<T>, T: Value>(partials: *const T) -> T {
    let mut result = O::IDENTITY;
    let mut index = thread_idx_x();
    while index < grid_dim_x() {
        // Volatile: read from the memory that all blocks share, not from a cache of this multiprocessor. SAFETY: the index
        // is below the number of blocks.
        let partial = unsafe { partials.add(index as usize).read_volatile() };
        result = O::combine(result, partial);
        index += block_dim_x();
    }
    result
}

macro_rules! entry {
    ($operator:ident $name:ident $value:ident) => {
        paste! {
            #[doc = concat!("Writes the [`", stringify!($operator), "`] of the input to `total`.")]
            ///
            /// # Safety
            /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes; `partials` to one per block, `total`
            ///   and `counter` to one, and nothing else touches those. The counter is 0, and is 0 again at the end.
            /// - The grid has one dimension and any number of blocks, and a block a power of two B of threads, 64 to 1024.
            #[kernel]
            pub unsafe fn [<single_pass_ $name _ $value>](
                input: *const $value,
                partials: *mut $value,
                n: usize,
                total: *mut $value,
                counter: *mut u32,
            ) {
                // SAFETY: the caller's promise.
                unsafe { single_pass::<$operator, $value, $value>(input, partials, n, total, counter) }
            }
        }
    };
}

for_each_instance!(entry);
