//! # Other roads 15 · Groups within groups
//!
//! ## Before
//! Road 11 made a tile of a warp into a value. Its `reduce_sum` takes tiles, and nothing else: for a block, or for other parts of a
//! warp, it would have to be written again.
//!
//! ## Idea
//! Ask for less. A reduction needs the rank of a thread, the size of the group and a barrier for it. Whatever has these is a
//! [`Group`], and one generic [`reduce_sum`] serves all: the block, a tile of 32 threads, or the tiles of four that this one is split into.
//! For each the compiler emits the code that you would have written by hand: for the block `bar.sync`, for a tile `bar.warp.sync` with its
//! lanes as the mask.
//!
//! Two kernels show what the choice of the group costs. `block_group` takes the whole block as one group. `nested_tiles` takes tiles of
//! four first. Each tile of 32 then has eight sums, and its first eight threads, a tile as well, reduce them. No barrier there reaches
//! beyond a warp.
//!
//! ## Picture
//! A block of 16 threads; in `nested_tiles`, tiles of two within tiles of eight:
//! ```text
//! block_group     a b c d e f g h i j k l m n o p      4 steps, in each of which the block waits twice
//!
//! nested_tiles    ab│cd│ef│gh ║ ij│kl│mn│op            tiles of two: 1 step
//!                 a  c  e  g  ║ i  k  m  o             tiles of eight: each sum to a place of its own
//!                 a──c──e──g  ║ i──k──m──o             their first four threads: 2 steps
//! ```
//!
//! ## Cost
//! For one block: the loads of step 10; in `block_group` 2·log₂ B barriers of the block and one atomic; in `nested_tiles` 12 barriers
//! in each warp, of which none is the block's, and B ∕ 32 atomics. A group of T threads stores T words in each of its log₂ T steps and loads
//! T − 1 in all.
//!
//! ## Observe
//! In the PTX: the same tree with `bar.sync` in `block_group` and with `bar.warp.sync` in `nested_tiles`: four times with a register for the
//! tile of four, twice with −1 for that of 32, six times with another register for that of eight.
//!
//! **Predict.** `block_group` has 8 atomics, one for each block of 16 warps. How many has `nested_tiles`, and how
//! many barriers of a block?
//! ```console
//! $ warpfold profile block_group nested_tiles -n 2^16 --metrics atomics,barriers
//! ...
//! atomics             8           128
//! barriers        2,304             0
//! ...
//! ```
//!
//! ## Break it
//! Give the tiles of four the same four words of `scratch` instead of their own: `let of_part = of_tile;`. They write over one another's values,
//! because the barrier of one says nothing about another:
//! ```console
//! $ warpfold try nested_tiles --check -n 2^12 --block 64
//! ...
//! blocks     4 of   64 threads: 5 findings
//! ...
//! racecheck: write after write at shared address 0x0 (4 bytes) in kernel ...
//! ...
//! racecheck: read after write at shared address 0x8 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, Kyrylo Perelygin, *Cooperative Groups: Flexible CUDA Thread Programming* (NVIDIA, 2017), whose `reduce_sum` takes any
//! group and reads its size at run time.

use core::sync::atomic::{AtomicI32, Ordering};

use cuda_std::shared::dynamic_shared_mem;
use warpfold_device::group::{Block, Group, reduce_sum};

use crate::ladder::l10_vectorized::sum_of_tiles;
use crate::prelude::*;

/// Adds the `n` elements of `input` to `total`, by one group: the block.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes, and `total` to one value that others change by atomics
///   at most.
/// - The grid has one dimension and any number of blocks, and a block a power of two B of threads, 64 to 1024, with 4·B bytes of dynamic
///   shared memory.
#[kernel]
pub unsafe fn block_group(input: *const i32, total: *mut i32, n: usize) {
    let scratch: *mut i32 = dynamic_shared_mem();
    // SAFETY: the caller's promise; the scratch memory has one value for each thread.
    unsafe {
        let mine = sum_of_tiles(input, n, block_dim_x());
        add_sum(Block, scratch, mine, total);
    }
}

/// Adds the `n` elements of `input` to `total`, by tiles of four threads within tiles of 32.
///
/// # Safety
/// As for [`block_group`].
#[kernel]
pub unsafe fn nested_tiles(input: *const i32, total: *mut i32, n: usize) {
    let scratch: *mut i32 = dynamic_shared_mem();
    let tile = Block.tile::<32>();
    let (part, sums) = (tile.tile::<4>(), tile.tile::<8>());
    // SAFETY: the caller's promise; each tile has as many values of the scratch memory as threads. Between the barriers of the tile of 32 the
    // sums of its parts are written, each to a place of its own.
    unsafe {
        let of_tile = scratch.add((32 * tile.index()) as usize);
        let of_part = of_tile.add((tile.rank() - part.rank()) as usize);
        let sum = reduce_sum(part, of_part, sum_of_tiles(input, n, block_dim_x()));
        tile.sync();
        if part.rank() == 0 {
            *of_tile.add((tile.rank() / 4) as usize) = sum;
        }
        tile.sync();
        if tile.rank() < 8 {
            let sum_of_part = *of_tile.add(tile.rank() as usize);
            add_sum(sums, of_tile, sum_of_part, total);
        }
    }
}

/// Adds the sum of a group's values to the total, by one atomic.
///
/// # Safety
/// `scratch` points to one value for each thread of the group, which only this group touches; all its threads make the call. `total`
/// points to a value that others change by atomics at most.
#[inline(always)]
unsafe fn add_sum(group: impl Group, scratch: *mut i32, value: i32, total: *mut i32) {
    // SAFETY: the caller's promise.
    unsafe {
        let sum = reduce_sum(group, scratch, value);
        if group.rank() == 0 {
            AtomicI32::from_ptr(total).fetch_add(sum, Ordering::Relaxed);
        }
    }
}
