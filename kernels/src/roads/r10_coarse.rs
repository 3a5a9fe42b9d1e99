//! # Other roads 10 · Coarser threads
//!
//! ## Before
//! `segmented_shared` starts one block for every 2·B elements. Once more blocks wait than the GPU holds, starting another
//! brings no more parallelism: its tree, its barriers and its atomic are simply paid for once more.
//!
//! ## Idea
//! Give each thread K times as much to do before the tree. A block then takes K·2·B elements, and there are K times fewer
//! trees, barriers and atomics. This is the idea of the ladder's step 4 with the factor as a const generic: the compiler
//! writes the loads out, for each K that has an entry.
//!
//! ## Picture
//! K = 2, a block of 4 threads: equal letters add up in the thread's register, then come the strides of the tree.
//! ```text
//! element    0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15
//! loads      a   b   c   d   a   b   c   d   a   b   c   d   a   b   c   d
//! shared     a   b   c   d
//! ```
//!
//! ## Cost
//! For one block over a whole segment: 2KB global loads and one atomic; the rest does not depend on K: 2B − 1 shared loads
//! and as many shared stores; log₂ B + 1 barriers; 4B bytes of shared memory.
//!
//! ## Observe
//! In the PTX of `coarse_4`: eight `ld.global.b32` without a branch between, because the loop was written out.
//!
//! **Predict.** `coarse_1` takes 64 atomics. How many does `coarse_8` take, and do its requests to shared memory
//! shrink as much?
//! ```console
//! $ warpfold profile coarse -n 2^16 --metrics barriers,shared_requests,atomics
//! ...
//! metric            coarse_1   coarse_2   coarse_4   coarse_8
//! ...
//! shared_requests      4,928      2,464      1,232        616
//! atomics                 64         32         16          8
//! barriers            10,240      5,120      2,560      1,280
//! ...
//! ```
//! Barriers, shared accesses and atomics halve each time that K doubles.
//!
//! ## Break it
//! Treat a segment as whole as soon as it is half full: `count >= K * block`. The last block then reads past the end of the input:
//! ```console
//! $ warpfold try coarse --check -n 3000 --block 256
//! ...
//! memcheck: access out of bounds at global address 0x7f0000002ee0 (4 bytes) in kernel ...
//! ...
//! memcheck: access out of bounds at global address 0x7f0000002ee0 (4 bytes) in kernel ...
//! ...
//! ```
//! And set K to 64 and n to 2^20: 16 blocks of 512 threads are left for the whole GPU, most of which has nothing to do.
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, thread coarsening.

use core::sync::atomic::{AtomicI32, Ordering};

use cuda_std::shared::dynamic_shared_mem;

use crate::prelude::*;
use crate::roads::r06_shared_dynamic::shared_tree;
use crate::roads::r07_segmented_shared::segment_of_block;

/// The body of every entry; a thread adds up 2·K elements before the tree.
///
/// # Safety
/// As for the entries; `sums` points to one element of shared memory for each thread of the block.
#[inline(always)]
unsafe fn coarse<const K: u32>(input: *const i32, total: *mut i32, n: usize, sums: *mut i32) {
    // SAFETY: the caller's promise: every block has a segment, and every thread of it makes the calls.
    unsafe {
        let (start, count) = segment_of_block(n, 2 * K);
        let sum = shared_tree(sums, sum_of_many::<K>(input.add(start), count));
        if thread_idx_x() == 0 {
            AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
        }
    }
}

/// The sum of the thread's 2·K elements, which are B apart. In a segment that n cuts short there may be fewer.
///
/// # Safety
/// `segment` points to `count` elements, at most 2·K for each thread.
#[inline(always)]
unsafe fn sum_of_many<const K: u32>(segment: *const i32, count: u32) -> i32 {
    let block = block_dim_x();
    let mut index = thread_idx_x();
    let mut sum = 0_i32;
    if count == 2 * K * block {
        let mut left = 2 * K;
        // A constant number of times, so the compiler writes the loop out, and the loads don't wait for one another.
        while left > 0 {
            // SAFETY: a whole segment has all 2·K elements of the thread.
            sum = sum.wrapping_add(unsafe { *segment.add(index as usize) });
            index += block;
            left -= 1;
        }
    } else {
        while index < count {
            // SAFETY: the index is below `count`.
            sum = sum.wrapping_add(unsafe { *segment.add(index as usize) });
            index += block;
        }
    }
    sum
}

macro_rules! entries {
    ($($name:ident = $k:literal;)*) => {$(
        /// Adds the `n` elements of `input` to `total`, one atomic per segment.
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `total` to one value that others change by atomics at
        ///   most.
        #[doc = concat!("- The grid has ⌈n ∕ 2KB⌉ blocks in one dimension, K = ", $k, ", and a block a power of two B of")]
        ///   threads, 64 to 1024, with 4·B bytes of dynamic shared memory.
        #[kernel]
        pub unsafe fn $name(input: *const i32, total: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { coarse::<$k>(input, total, n, dynamic_shared_mem()) }
        }
    )*};
}

entries! {
    coarse_1 = 1;
    coarse_2 = 2;
    coarse_4 = 4;
    coarse_8 = 8;
}
