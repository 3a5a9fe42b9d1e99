//! # Step 12c · The same bits every time
//!
//! ## Before
//! A sum of floats rounds at every addition, so its last bits depend on the order in which the elements were added. In the
//! flagship the blocks come in any order, and which elements a block takes depends on the alignment of the input. In
//! another run, or for the same numbers one element further on, the last bits may differ. Libraries that promise the same
//! bits "from run to run" mean on the same GPU and from the same address.
//!
//! ## Idea
//! The order must follow from n alone. So the sum is computed as if by a grid that is the same everywhere: 528 *virtual
//! blocks* of 512 threads, or fewer if n is too small for that many. Each virtual block leaves one partial sum, and the
//! last block of the launch adds those in their order. A GPU that runs fewer blocks at once has each of them take several
//! virtual ones, one after another. Which block takes which, and when, makes no difference.
//!
//! Nor does the order depend on the alignment of the input. Vectors are counted from the first element. Only if the input
//! begins at a multiple of 16 bytes are they loaded as vectors; otherwise they are loaded value by value, in four loads
//! that share their cache lines. Either way the same values are added in the same order.
//!
//! ## Picture
//! Seven tiles and three virtual blocks, in a launch of two blocks:
//! ```text
//! elements      │ tile 0 │ tile 1 │ tile 2 │ tile 3 │ tile 4 │ tile 5 │ ti│
//! virtual block │   0    │   1    │   2    │   0    │   1    │   2    │ 0 │
//! block 0 makes the partials 0 and 2, block 1 the partial 1; the last of them adds 0, 1 and 2
//! ```
//!
//! ## Cost
//! For one virtual block over t whole tiles: 1024·t loads of 16 bytes, or four times as many of 4 bytes; 1 store, and one
//! tree as in step 9, with 2 barriers. At the end comes the ticket of step 11, and at most 528 partials are read.
//!
//! ## Observe
//! In the PTX of `deterministic_f32`: the loop twice, once with `ld.global.v4.b32` and once with `ld.global.b32`.
//! This is a run of the PTX for sm_70:
//! ```console
//! $ warpfold emulate kernels/ptx/kernels.sm_70.ptx --kernel deterministic_f32 --grid 3 --block 512 \
//!       --arg buf:f32:random:10000:7:-1:1 --arg buf:f32:zeros:3 --arg u64:10000 --arg buf:f32:zeros:1 \
//!       --arg buf:u64:zeros:1 --sum 3
//! ...
//! sum[3] = 11.254157066345215
//! ```
//! **Predict.** Now the PTX for sm_80, over the same elements. How many of the digits change?
//! ```console
//! $ warpfold emulate kernels/ptx/kernels.sm_80.ptx --kernel deterministic_f32 --grid 3 --block 512 \
//!       --arg buf:f32:random:10000:7:-1:1 --arg buf:f32:zeros:3 --arg u64:10000 --arg buf:f32:zeros:1 \
//!       --arg buf:u64:zeros:1 --sum 3
//! ...
//! sum[3] = 11.254157066345215
//! ```
//! `warpfold::sum` gives the same bits on the emulator and on any GPU, from any address.
//!
//! ## Break it
//! Let each block take the tiles `block_idx_x()`, `block_idx_x() + grid_dim_x()`, …: `cargo test -p warpfold sum` finds
//! different bits in a grid of another size.
//!
//! ## Source
//! James Demmel and Hong Diep Nguyen, *Fast Reproducible Floating-Point Summation* (2013). Their sums do not depend on the
//! order at all.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::ladder::l12_flagship::{VECTOR_BYTES, block_sum, sum_of_tiles};
use crate::ladder::l12a_accumulate::Accumulate;
use crate::prelude::*;

/// Threads of a block: part of the order, and so the same everywhere.
pub const BLOCK: u32 = 512;

/// Loads that a thread has in flight at once: part of the order, too.
pub const LOADS: usize = 2;

/// The most virtual blocks: four for each multiprocessor of an H200, which runs all of them at once.
pub const MOST_VIRTUAL_BLOCKS: usize = 528;

/// The body of every entry.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn deterministic<T: Accumulate>(
    input: *const T,
    partials: *mut T,
    n: usize,
    total: *mut T,
    ticket: *mut u64,
) {
    let warp_sums = shared_array!(warp_sums: [T; BLOCK / WARP_SIZE]);
    let is_last = shared_array!(is_last: [bool; 1]);
    let tiles = n.div_ceil(LOADS * T::LANES * BLOCK as usize);
    let virtual_blocks = tiles.min(MOST_VIRTUAL_BLOCKS) as u32;
    let is_aligned = (input as usize).is_multiple_of(VECTOR_BYTES);
    let mut virtual_block = block_idx_x();
    // SAFETY: there is a barrier between any two uses of the shared arrays; whole blocks make the calls. Vectors are loaded as
    // such only if the input begins at a multiple of their size.
    unsafe {
        while virtual_block < virtual_blocks {
            let grid = (virtual_block, virtual_blocks);
            let mine = if is_aligned {
                sum_of_tiles::<T, LOADS>(input, n, grid, |vector| *vector)
            } else {
                sum_of_tiles::<T, LOADS>(input, n, grid, |vector| T::vector_at(vector.cast()))
            };
            let sum = block_sum(mine, warp_sums);
            if thread_idx_x() == 0 {
                *partials.add(virtual_block as usize) = sum;
            }
            sync_threads();
            virtual_block += grid_dim_x();
        }
        if draws_last_ticket(ticket, is_last) {
            let rest = rest_of_all(input, n);
            let mine = sum_of_partials(partials, virtual_blocks).plus(rest);
            let sum = block_sum(mine, warp_sums);
            if thread_idx_x() == 0 {
                *total = sum;
            }
        }
    }
}

/// Whether this block is the last of the grid to come here. If so, it sees what the first threads of all other blocks wrote
/// before they came. The ticket is 0 again afterwards.
///
/// # Safety
/// Every thread of the grid makes the call, once. `is_last` points to shared memory of the block.
#[inline(always)]
unsafe fn draws_last_ticket(ticket: *mut u64, is_last: *mut bool) -> bool {
    // SAFETY: the caller's promise; there is a barrier between the write of the shared word and its reads.
    unsafe {
        if thread_idx_x() == 0 {
            // The lower half of the word is enough.
            let ticket = ticket.cast::<u32>();
            let last = draw_ticket(ticket) == grid_dim_x() - 1;
            if last {
                AtomicU32::from_ptr(ticket).swap(0, Ordering::Relaxed);
            }
            *is_last = last;
        }
        sync_threads();
        *is_last
    }
}

/// The sum of the thread's share of `count` partials: the one at its index and every B-th after it.
///
/// # Safety
/// `partials` points to `count` values, whose writes are ordered before this call.
#[inline(always)]
unsafe fn sum_of_partials<T: Accumulate>(partials: *const T, count: u32) -> T {
    let mut sum = T::IDENTITY;
    let mut index = thread_idx_x();
    while index < count {
        // Volatile: read from the memory that all blocks share, not from a cache of this multiprocessor. SAFETY: the index
        // is below `count`.
        sum = sum.plus(unsafe { partials.add(index as usize).read_volatile() });
        index += block_dim_x();
    }
    sum
}

/// The element after the last whole vector that this thread of the last block takes; the identity for most threads.
///
/// # Safety
/// `input` points to `n` values.
#[inline(always)]
unsafe fn rest_of_all<T: Accumulate>(input: *const T, n: usize) -> T {
    let index = n / T::LANES * T::LANES + thread_idx_x() as usize;
    if index < n {
        // SAFETY: the index is below n.
        unsafe { *input.add(index) }
    } else {
        T::IDENTITY
    }
}

macro_rules! entries {
    ($($name:ident: $value:ident;)*) => {$(
        #[doc = concat!("Writes the sum of the `", stringify!($value), "` values of the input to `total`, the same bits for the same values.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at any address that is a multiple of their size; `partials` to one
        ///   per virtual block, `total` and `ticket` to one, and nothing else touches those. The ticket is 0, and is 0
        ///   again at the end.
        /// - The grid has one dimension and any number of blocks, and a block 512 threads.
        #[kernel]
        pub unsafe fn $name(
            input: *const $value,
            partials: *mut $value,
            n: usize,
            total: *mut $value,
            ticket: *mut u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe { deterministic::<$value>(input, partials, n, total, ticket) }
        }
    )*};
}

entries! {
    deterministic_f32: f32;
    deterministic_f64: f64;
}
