//! # Step 12b · Copies that nobody waits for
//!
//! ## Before
//! Every byte that is in flight from memory has a register waiting for it. With 2048 threads of eight 16-byte loads a
//! multiprocessor has no registers left for more. And between two rounds of loads, while the threads add, hardly anything
//! is in flight.
//!
//! ## Idea
//! From sm_90 on, one thread can start a copy of many kilobytes into shared memory, and go on: an *asynchronous bulk copy*.
//! A *memory barrier object* in shared memory, an mbarrier, counts the bytes that arrive. A thread that has waited for the
//! barrier's phase finds all of them there. Three tiles form a ring: while the threads add up one, two are in flight, and
//! once all threads have read the first, its place receives the next tile. So 192 KiB are in flight on each multiprocessor
//! at any moment, and the threads have their registers for other work.
//!
//! The head is peeled as in step 12. A bulk copy takes multiples of 16 bytes between addresses that are multiples of 16,
//! and is fast only if both addresses have the same offset within 128 bytes. The blocks end as in step 12.
//!
//! ## Picture
//! ```text
//! place 0   │ tile 0 │ add │ tile 3 ────── │ add │ tile 6 …
//! place 1   │ tile 1 ───── │ add │ tile 4 ────── │ add │
//! place 2   │ tile 2 ──────────── │ add │ tile 5 ────── │ add │
//! ```
//!
//! ## Cost
//! For one block over t tiles of 64·B bytes: t bulk copies, each with one arrival; B·t waits, which seldom look more than
//! once; 4B·t shared loads of 16 bytes; t barriers. Then what step 12 has at its end. 192·B bytes of shared memory.
//!
//! ## Observe
//! In the PTX for sm_90: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`, and no `ld.global` except for the
//! head and the tail.
//!
//! **Predict.** Step 10 sends 8,192 load requests to global memory for 2²⁰ elements. Does this kernel send about as
//! many, a few, or none?
//! ```console
//! $ warpfold profile flagship_bulk -n 2^20 --metrics global_load_requests,shared_load_wavefronts
//! ...
//! global_load_requests                  128
//! shared_load_wavefronts             34,832
//! ...
//! ```
//! A few, for the head and the tail. The threads read shared memory instead.
//!
//! On a GPU: slower than step 12 on small inputs, where the ring is hardly filled before it runs dry. From a gigabyte up it is about as
//! fast: `warpfold sweep flagship flagship_bulk --sizes 2^20..2^28 --cold --device gpu`.
//!
//! ## Break it
//! Leave out the `sync_threads()` after the addition. A warp that lags then finds another tile in the place of its own, or waits forever for a
//! phase that has passed:
//! ```console
//! $ warpfold try flagship_bulk --sm 90 --check -n 2^21 --block 64 --max-steps 1000000
//! ...
//! warpfold: stopped after 1000000 warp instructions, the limit of this launch, in kernel ...
//! ...
//! ```
//!
//! ## Source
//! NVIDIA, *CUDA C++ Programming Guide*, asynchronous data copies using the tensor memory accelerator; *PTX ISA*, `cp.async.bulk`
//! and `mbarrier`.

use cuda_std::shared::dynamic_shared_mem;

use crate::ladder::l12_flagship::{
    MOST_WARPS, VECTOR_BYTES, add_block_sum, head_element, head_length, rest_element,
};
use crate::ladder::l12a_accumulate::Accumulate;
use crate::mbarrier::{Mbarrier, copy_to_shared};
use crate::prelude::*;

/// Tiles that a block has room for.
pub const STAGES: u32 = 3;

/// Vectors of a tile for each thread.
const VECTORS: u32 = 4;

/// Dynamic shared memory that a launch needs for each thread of a block.
pub const SHARED_BYTES_PER_THREAD: u32 = STAGES * VECTORS * VECTOR_BYTES as u32;

/// What a block has to copy: some of the tiles of the body, the last of which may be cut.
struct Tiles<T: Accumulate> {
    body: *const T::Vector,
    /// Vectors of the body.
    vectors: usize,
    /// Vectors of a tile.
    length: usize,
}

impl<T: Accumulate> Tiles<T> {
    /// How many of the tiles are this block's: it takes every tile that is a whole number of grids after its first.
    #[inline(always)]
    fn of_block(&self) -> u32 {
        let tiles = self.vectors.div_ceil(self.length);
        let block = block_idx_x() as usize;
        (tiles.saturating_sub(block)).div_ceil(grid_dim_x() as usize) as u32
    }

    /// Where the block's tile of that index begins, and its vectors.
    #[inline(always)]
    fn of_index(&self, index: u32) -> (usize, u32) {
        let tile = block_idx_x() as usize + index as usize * grid_dim_x() as usize;
        let start = tile * self.length;
        (start, (self.vectors - start).min(self.length) as u32)
    }

    /// Starts the copy of the block's tile of that index into its place in the ring.
    ///
    /// # Safety
    /// One thread makes the call, and nobody reads the place until it has waited for the barrier.
    #[inline(always)]
    unsafe fn order(&self, index: u32, place: *mut T::Vector, barrier: Mbarrier) {
        let (start, vectors) = self.of_index(index);
        let bytes = vectors * VECTOR_BYTES as u32;
        // SAFETY: the caller's promise; the tile is inside the body, whose vectors are multiples of 16 bytes.
        unsafe {
            barrier.arrive_and_expect(bytes);
            copy_to_shared(place.cast(), self.body.add(start).cast(), bytes, barrier);
        }
    }
}

/// The body of the kernel, for any type.
///
/// # Safety
/// As for the kernel.
#[inline(always)]
unsafe fn bulk<T: Accumulate>(
    input: *const T,
    total: *mut T::Total,
    n: usize,
    next: *mut T::Total,
    ring: *mut T::Vector,
) {
    let warp_sums = shared_array!(warp_sums: [T; MOST_WARPS]);
    let barriers = shared_array!(barriers: [u64; STAGES]);
    let head = head_length(input, n);
    // SAFETY: the caller's promise; what follows the head begins at a multiple of 128 bytes.
    unsafe {
        let (body, n) = (input.add(head), n - head);
        let tiles = Tiles::<T> {
            body: body.cast(),
            vectors: n / T::LANES,
            length: (VECTORS * block_dim_x()) as usize,
        };
        let sum = sum_of_ring(&tiles, ring, Mbarrier::at(barriers));
        let sum = sum
            .plus(rest_element(body, n))
            .plus(head_element(input, head));
        add_block_sum(sum, warp_sums, total, next);
    }
}

/// The sum of the thread's vectors in all tiles of its block, which pass through the ring.
///
/// # Safety
/// Every thread of the block makes the call. `ring` has room for [`STAGES`] tiles, and there are as many barriers.
#[inline(always)]
unsafe fn sum_of_ring<T: Accumulate>(
    tiles: &Tiles<T>,
    ring: *mut T::Vector,
    barriers: Mbarrier,
) -> T {
    let count = tiles.of_block();
    let is_first = thread_idx_x() == 0;
    let mut sum = T::IDENTITY;
    // SAFETY: a place is read only after a wait for its mbarrier, and filled again only after a barrier of the block that
    // follows the reads; the phase of a place's mbarrier follows from how often the ring has gone round.
    unsafe {
        if is_first {
            let mut stage = 0;
            while stage < STAGES {
                barriers.nth(stage).initialise(1);
                stage += 1;
            }
            Mbarrier::publish();
            let mut index = 0;
            while index < STAGES && index < count {
                tiles.order(
                    index,
                    ring.add(index as usize * tiles.length),
                    barriers.nth(index),
                );
                index += 1;
            }
        }
        sync_threads();
        let (mut index, mut stage, mut phase) = (0, 0, 0);
        while index < count {
            let place = ring.add(stage as usize * tiles.length);
            barriers.nth(stage).wait(phase);
            sum = sum.plus(sum_of_place::<T>(place, tiles.of_index(index).1));
            sync_threads();
            if is_first && index + STAGES < count {
                tiles.order(index + STAGES, place, barriers.nth(stage));
            }
            stage += 1;
            if stage == STAGES {
                (stage, phase) = (0, phase ^ 1);
            }
            index += 1;
        }
    }
    sum
}

/// The sum of the thread's vectors in a tile in shared memory that has `vectors` of them.
///
/// # Safety
/// `place` points to `vectors` vectors.
#[inline(always)]
unsafe fn sum_of_place<T: Accumulate>(place: *const T::Vector, vectors: u32) -> T {
    // As in step 12, the vectors of a warp are adjacent.
    let tid = thread_idx_x();
    let mine = tid / WARP_SIZE * VECTORS * WARP_SIZE + tid % WARP_SIZE;
    let mut sum = T::IDENTITY;
    let mut load = 0;
    while load < VECTORS {
        let index = mine + load * WARP_SIZE;
        if index < vectors {
            // SAFETY: the index is below the number of vectors.
            sum = sum.plus(T::sum_of(unsafe { *place.add(index as usize) }));
        }
        load += 1;
    }
    sum
}

/// Adds the sum of the `i32` values of the input to `total`.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, at any address that is a multiple of their size; `total` and `next`
///   to one each, which nothing else touches. The total is 0 before; so is `next` afterwards.
/// - The grid has one dimension and any number of blocks, and a block a power of two B of threads, 64 to 1024, with 192·B bytes of
///   dynamic shared memory.
#[kernel]
pub unsafe fn flagship_bulk_i32(input: *const i32, total: *mut i32, n: usize, next: *mut i32) {
    let ring = dynamic_shared_mem::<<i32 as Accumulate>::Vector>();
    // SAFETY: the caller's promise.
    unsafe { bulk::<i32>(input, total, n, next, ring) }
}
