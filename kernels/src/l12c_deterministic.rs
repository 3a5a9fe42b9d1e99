//! # Step 12c · The same bits every time
//!
//! ## Before
//! A sum of floats rounds at every addition, so that its last bits tell in which order the elements were added. In the
//! flagship that order follows from how many blocks the GPU holds and from where 16 bytes begin: another GPU, or the same
//! numbers one element further on, and the last bits are others. Libraries that promise the same bits "from run to run"
//! mean the same GPU and the same address.
//!
//! ## Idea
//! The order must follow from n alone. So the sum is made as by a grid that is the same everywhere: 528 *virtual blocks* of
//! 256 threads, fewer only where n is too small for so many. Each leaves one partial sum, and the last block of the launch adds those
//! in their order. A GPU that runs fewer blocks at once takes several virtual ones, one behind the other; which
//! block takes which, and when, is all one.
//!
//! A fixed order must not care where 16 bytes begin either, so it does without wide loads: in a tile of 4096 elements, counted
//! from the first of all, thread `tid` takes `tid`, `tid + 256`, and so on. Sixteen such loads on their way at once keep the
//! memory as busy as four wide ones; a warp's 128 bytes that begin anywhere touch one sector more, and its neighbour finds that
//! one in the cache.
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
//! For one virtual block over t whole tiles: 4096·t loads of one element, 1 store, and one tree as in step 9, with 2 barriers. At the
//! end the ticket of step 11, and at most 528 partials to be read.
//!
//! ## Observe
//! In the PTX of `deterministic_f32`: sixteen `ld.global.b32` before the first `add.rn.f32` of a tile. In a run:
//! `warpfold::sum` gives the same bits on the emulator and on any GPU, from any address.
//!
//! ## Break it
//! Let each block take the tiles `block_idx_x()`, `block_idx_x() + grid_dim_x()`, …: `tests/sum.rs` finds other bits in a grid
//! of another size.
//!
//! ## Source
//! James Demmel and Hong Diep Nguyen, *Fast Reproducible Floating-Point Summation* (2013), who go further: any order at all.

use crate::l12_addend::{Addend, draws_last_ticket, sum_of_partials};
use crate::l12_flagship::{block_sum, tree};
use crate::prelude::*;

/// Threads of a block: a part of the order, and so the same everywhere.
pub const BLOCK: u32 = 256;

/// Loads that a thread has on their way at once.
const LOADS: usize = 16;

/// Elements of a tile.
pub const TILE_LENGTH: usize = LOADS * BLOCK as usize;

/// The most virtual blocks: four for each multiprocessor of an H200, which runs all of them at once.
pub const MOST_VIRTUAL_BLOCKS: usize = 528;

/// The body of every entry.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn deterministic<T: Addend>(
    input: *const T,
    partials: *mut T,
    n: usize,
    total: *mut T,
    ticket: *mut u64,
) {
    let warp_sums = shared_array!(warp_sums: [T; BLOCK / WARP_SIZE]);
    let is_last = shared_array!(is_last: [bool; 1]);
    let virtual_blocks = n.div_ceil(TILE_LENGTH).min(MOST_VIRTUAL_BLOCKS) as u32;
    let mut virtual_block = block_idx_x();
    // SAFETY: a barrier lies between any two uses of the shared arrays; whole blocks make the calls.
    unsafe {
        while virtual_block < virtual_blocks {
            let first = virtual_block as usize * TILE_LENGTH;
            let step = virtual_blocks as usize * TILE_LENGTH;
            let sum = block_sum(sum_of_tiles(input, n, first, step), warp_sums);
            if thread_idx_x() == 0 {
                *partials.add(virtual_block as usize) = sum;
            }
            sync_threads();
            virtual_block += grid_dim_x();
        }
        if draws_last_ticket(ticket, is_last) {
            let sum = block_sum(sum_of_partials(partials, virtual_blocks), warp_sums);
            if thread_idx_x() == 0 {
                *total = sum;
            }
        }
    }
}

/// The sum of the thread's elements in the tiles that begin at `first` and every `step` elements further on.
///
/// # Safety
/// `input` points to `n` values.
#[inline(always)]
unsafe fn sum_of_tiles<T: Addend>(input: *const T, n: usize, first: usize, step: usize) -> T {
    let mut start = first;
    let mut sum = T::ZERO;
    // SAFETY: a tile that begins below n is whole where that many are left, and otherwise has what is left.
    unsafe {
        while start + TILE_LENGTH <= n {
            sum = sum.plus(sum_of_tile(input.add(start), usize::MAX));
            start += step;
        }
        if start < n {
            sum = sum.plus(sum_of_tile(input.add(start), n - start));
        }
    }
    sum
}

/// The sum of the thread's elements in a tile, of those below `count`, in the same tree however many there are.
///
/// # Safety
/// `tile` points to a whole tile, or to `count` values of one, at least one.
#[inline(always)]
unsafe fn sum_of_tile<T: Addend>(tile: *const T, count: usize) -> T {
    let mut values = [T::ZERO; LOADS];
    let mut load = 0;
    while load < LOADS {
        let index = thread_idx_x() as usize + load * BLOCK as usize;
        // As in the flagship: a load of what is not there is made elsewhere, and dropped.
        // SAFETY: the smaller index is below `count`.
        let value = unsafe { *tile.add(index.min(count - 1)) };
        if index < count {
            values[load] = value;
        }
        load += 1;
    }
    tree(values)
}

macro_rules! entries {
    ($($name:ident: $value:ident;)*) => {$(
        #[doc = concat!("Leaves the sum of the `", stringify!($value), "` values of the input in `total`, the same bits for the same values.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at any address that is a multiple of their size; `partials` to one
        ///   per virtual block, `total` and `ticket` to one, and nothing else touches those. The ticket is 0, and is 0
        ///   again at the end.
        /// - The grid has one dimension and any number of blocks, and a block 256 threads.
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
