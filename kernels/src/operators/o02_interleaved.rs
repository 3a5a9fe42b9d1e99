//! # Operators and types 2 · Step 3 for every operator and type
//!
//! ## Before
//! [Step 3](crate::ladder::l03_interleaved) adds up `i32` values in place. Only one line of its tree depends on that.
//!
//! ## Idea
//! That line becomes [`Operator::combine`]. Not even the identity is needed: a missing element is left out of the tree, so
//! every value in the tree comes from the input.
//!
//! ## Picture
//! A tile of 8 elements; in each step equal letters are combined, into the left one.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! stride 4   a   b   c   d   a   b   c   d     threads 0 1 2 3
//! stride 2   a   b   a   b                     threads 0 1
//! stride 1   a   a                             thread  0
//! ```
//!
//! ## Cost
//! That of step 3, to the instruction, for the sum of `i32`: log₂ B barriers, 2B − 1 loads and B stores for one block over
//! a whole tile. Values of 8 bytes take twice the sectors.
//!
//! ## Observe
//! **Predict.** Step 3 executes 235,648 instructions here. How many more does the generic kernel need for the sum of
//! `i32`?
//! ```console
//! $ warpfold profile interleaved interleaved_sum_i32 -n 2^16 --metrics warp_instructions,global_sectors,barriers
//! ...
//! metric             interleaved  interleaved_sum_i32
//! ...
//! warp_instructions      235,648              235,648
//! global_sectors          25,600               25,600
//! barriers                18,432               18,432
//! ...
//! ```
//! None: in the PTX `interleaved_sum_i32` is the same as `interleaved` except for its name, and so are the counters.
//!
//! ## Break it
//! Combine the partner twice: `O::combine(*partner, O::combine(*partner, *mine))`. A maximum does not mind, since the maximum of a value and itself
//! is that value; a sum does:
//! ```console
//! $ warpfold try interleaved_sum_i32 -n 2^10 --block 256
//! ...
//! sum                            383368644
//! sum on the CPU                1334618837
//! ...
//! ```
//! And make the operator a difference: even with one block of 64 threads the result then depends on the order of the tree, and the tests of the
//! laws fail.
//!
//! ## Source
//! As for step 3: Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), kernel 3.

use pastey::paste;

use crate::lists::for_each_instance;
use crate::operators::o01_operators::*;
use crate::prelude::*;

/// The body of every entry.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn interleaved<O: Operator<T>, T: Value>(input: *mut T, partials: *mut T, n: usize) {
    let tid = thread_idx_x();
    let block = block_dim_x();

    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let tile = unsafe { input.add(start) };

    let mut stride = block / 2;
    while stride > 0 {
        // SAFETY: the tile has `count` elements, and the stride is the same in every thread.
        unsafe { tree_step::<O, T>(tile, count, stride) };
        stride /= 2;
    }

    if tid == 0 {
        // SAFETY: there is one partial per block, and the tile has a first element.
        unsafe { *partials.add(block_idx_x() as usize) = *tile };
    }
}

/// One step of the tree over the first `count` elements of a tile: thread `tid` below `stride` combines element `tid` with
/// element `tid + stride`, if there is one; then a barrier.
///
/// # Safety
/// `tile` points to `count` elements that only this block touches, and every thread of the block makes the call with the
/// same values.
#[inline(always)]
pub unsafe fn tree_step<O: Operator<T>, T: Value>(tile: *mut T, count: u32, stride: u32) {
    let tid = thread_idx_x();
    if (tid < stride) & (tid + stride < count) {
        // SAFETY: both elements are among the `count`, and in this step no other thread touches them.
        unsafe {
            let mine = tile.add(tid as usize);
            let partner = tile.add((tid + stride) as usize);
            *mine = O::combine(*mine, *partner);
        }
    }
    sync_threads();
}

macro_rules! entry {
    ($operator:ident $name:ident $value:ident) => { paste! {
        #[doc = concat!("Writes the [`", stringify!($operator), "`] of each block's B elements to `partials`; overwrites `input`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
        /// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and a block a power of two B of threads, 64 to 1024.
        #[kernel]
        pub unsafe fn [<interleaved_ $name _ $value>](input: *mut $value, partials: *mut $value, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { interleaved::<$operator, $value>(input, partials, n) }
        }
    }};
}

for_each_instance!(entry);
