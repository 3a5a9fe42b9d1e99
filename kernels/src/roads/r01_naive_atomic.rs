//! # Other roads 1 · Everybody adds to one word
//!
//! ## Before
//! The ladder leaves partial sums, and something else has to add them up. It would be much simpler if every thread just
//! added its element to the total.
//!
//! ## Idea
//! A load, an addition and a store would not do: two threads that load the same total both store it with only their own
//! element added. An *atomic* addition is all three in one, and the hardware lets no other in between. Each thread does
//! one.
//!
//! The price is that they queue up. Atomics to different words proceed side by side, but these all go to one word.
//!
//! ## Picture
//! ```text
//! thread    0   1   2   3   4   5   …   n − 1
//!           └───┴───┴───┴───┴───┴───────┴──▶ total, one at a time
//! ```
//!
//! ## Cost
//! n atomic additions in all; for one block, B loads and B atomics, no barrier and no shared memory.
//!
//! ## Observe
//! In the PTX: a load and `atom.global.add.u32`, and hardly anything else: by far the shortest kernel of the course.
//!
//! **Predict.** How many atomics do 2¹⁶ elements take, in blocks of 256, and how many of these queue at the same
//! word?
//! ```console
//! $ warpfold profile naive_atomic -n 2^16 --block 256 --metrics inst_per_warp,atomics,atomics_on_one_address
//! ...
//! inst_per_warp                  18.00
//! atomics                       65,536
//! atomics_on_one_address        65,536
//! ...
//! ```
//! B atomics per block; those of a warp on one word come one after the other.
//!
//! On a GPU it is many times slower than step 11. It would be slower still without the driver's assembler: from sm_80 on it first adds
//! up what a warp adds to one word (`REDUX.SUM`), and lets one lane do the atomic.
//!
//! ## Break it
//! Write `*total = (*total).wrapping_add(value)` for the atomic. Threads then overwrite what others have added:
//! ```console
//! $ warpfold try naive_atomic --check -n 1000 --block 64
//! ...
//! racecheck: write after read at global address 0x7f0000001100 (4 bytes) in kernel ...
//! ...
//! ```
//! The exhibit `lost_update` is this mistake on its own.
//!
//! ## Source
//! David Kirk, Izzat El Hajj, Wen-mei Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 9.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::prelude::*;

/// Adds the `n` elements of `input` to `total`, each by an atomic of its own.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `total` to one value that others change by atomics at most.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn naive_atomic(input: *const i32, total: *mut i32, n: usize) {
    let index = block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize;
    if index < n {
        // SAFETY: the index is below n, and the total is there.
        unsafe {
            let value = *input.add(index);
            AtomicI32::from_ptr(total).fetch_add(value, Ordering::Relaxed);
        }
    }
}
