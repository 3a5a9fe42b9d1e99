//! # Step 12 · The flagship
//!
//! ## Before
//! Step 11 has everything in one launch, and pays for it at the end: each block writes its partial sum, waits at a fence
//! until it stands, fetches a ticket, and the last one reads what all have written. Below a few million elements these
//! round trips to memory, one behind the other, are most of the time. And the input has to begin at a multiple of 16
//! bytes, which a part of somebody's array seldom does.
//!
//! ## Idea
//! *The ticket carries the sum.* A word of 64 bits has room for both: the sum of 32 bits in its upper half, the number of
//! blocks that are done in its lower one. One atomic addition hands in a partial sum and draws the ticket; who draws the
//! last one knows the sum of all others from the same answer. There is no partial to be read, so nothing has to be ordered, and
//! no fence. For sums of integers only: blocks come in any order. For floats and for 64 bits step 11 remains, in which
//! the last block adds the partials in their own order.
//!
//! *The head is peeled.* Up to three elements lie in front of the first multiple of 16; the first threads of block 0 take
//! one each, and everything else begins behind them. *A cut tile is loaded like a whole one*, by four loads that don't
//! wait for one another, each of them skipped where there is nothing left.
//!
//! And how many blocks of how many threads are best, for which n on which GPU, is a table that was measured:
//! `catalogue::flagship`.
//!
//! ## Picture
//! ```text
//! input   │h h│ v v v v │ v v v v │ …                 h: head, v: vectors of 16 bytes
//!         ^ any element ^ a multiple of 16 bytes
//!
//! ticket     sum of those before │ blocks before
//! block 2             0          │      0            adds (  7, 1)
//! block 0             7          │      1            adds ( 30, 1)
//! block 1            37          │      2, the last  total = 37 + its own; the ticket becomes 0
//! ```
//!
//! ## Cost
//! For one block over t whole tiles: 4B·t loads of 16 bytes; a shared word per warp, stored and loaded; 1 barrier; 1
//! atomic addition, and that is all. In the last block 2 stores more.
//!
//! ## Observe
//! In the PTX of `flagship_i32`: `atom.global.add.u64`, no `membar`, and for sm_80 and later `redux.sync.add.s32` instead
//! of shuffles. In a run: for 2^16 elements the time of a launch that does nothing, and little more.
//!
//! ## Break it
//! Put the sum into the lower half and the blocks into the upper one. The sum of positive numbers then overflows into the
//! count: some block believes that it is the last too early, or none does.
//!
//! ## Source
//! Step 11's; the packed word is the way in which Duane Merrill and Michael Garland's *Single-pass Parallel Prefix Scan
//! with Decoupled Look-back* (NVIDIA, 2016) hands a value and its status over in one access.

use crate::l12_addend::Addend;
use crate::prelude::*;

/// Bytes that one load brings.
pub const VECTOR_BYTES: usize = 16;

/// Loads that a thread has on their way at once.
pub const VECTORS: usize = 8;

/// The most warps of a block.
pub const MOST_WARPS: u32 = 32;

/// The body of every entry.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn flagship<T: Addend>(
    input: *const T,
    partials: *mut T,
    n: usize,
    total: *mut T,
    ticket: *mut u64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let head = head_length(input, n);
        let mine = sum_of_tiles(input.add(head), n - head).plus(head_element(input, head));
        T::hand_in(mine, partials, total, ticket);
    }
}

/// How many elements stand before the first multiple of 16 bytes; of an `input` shorter than that, all.
#[inline(always)]
pub fn head_length<T>(input: *const T, n: usize) -> usize {
    let behind = input as usize % VECTOR_BYTES;
    let bytes = (VECTOR_BYTES - behind) % VECTOR_BYTES;
    (bytes / size_of::<T>()).min(n)
}

/// The element of the head that falls to this thread; 0 for most.
///
/// # Safety
/// `input` points to `head` values.
#[inline(always)]
pub unsafe fn head_element<T: Addend>(input: *const T, head: usize) -> T {
    let tid = thread_idx_x() as usize;
    if block_idx_x() == 0 && tid < head {
        // SAFETY: the index is below `head`.
        unsafe { *input.add(tid) }
    } else {
        T::ZERO
    }
}

/// The sum of the thread's elements in all tiles of its block.
///
/// # Safety
/// `body` points to `n` values at a multiple of 16 bytes.
#[inline(always)]
unsafe fn sum_of_tiles<T: Addend>(body: *const T, n: usize) -> T {
    let tile_length = VECTORS * T::LANES * block_dim_x() as usize;
    let step = grid_dim_x() as usize * tile_length;
    let mut start = block_idx_x() as usize * tile_length;
    let mut sum = T::ZERO;
    // SAFETY: a tile that begins below n has an element; it is whole where that many are left, and otherwise has what is left.
    unsafe {
        while start + tile_length <= n {
            sum = sum.plus(sum_of_tile(body.add(start), usize::MAX));
            start += step;
        }
        if start < n {
            let (tile, count) = (body.add(start), n - start);
            let vectors = count / T::LANES;
            if vectors > 0 {
                sum = sum.plus(sum_of_tile(tile, vectors));
            }
            // At most the last three of all fill no vector.
            let index = vectors * T::LANES + thread_idx_x() as usize;
            if index < count {
                sum = sum.plus(*tile.add(index));
            }
        }
    }
    sum
}

/// The sum of the thread's vectors in a tile, of those below `vectors`: loads that don't depend on one another.
///
/// # Safety
/// `tile` points to a whole tile, or to `vectors` vectors of one, at least one, at a multiple of 16 bytes.
#[inline(always)]
unsafe fn sum_of_tile<T: Addend>(tile: *const T, vectors: usize) -> T {
    let tid = thread_idx_x() as usize;
    let block = block_dim_x() as usize;
    let mut sums = [T::ZERO; VECTORS];
    let mut load = 0;
    while load < VECTORS {
        let index = tid + load * block;
        // What is not there is loaded all the same, from the last place that is, and then dropped: a load behind a branch
        // would wait for the one before.
        // SAFETY: the smaller index is below the number of vectors.
        let vector = unsafe { *tile.cast::<T::Vector>().add(index.min(vectors - 1)) };
        if index < vectors {
            sums[load] = T::sum_of(vector);
        }
        load += 1;
    }
    tree(sums)
}

/// The sum of several values: neighbours first, then pairs of neighbours, and so on.
#[inline(always)]
pub fn tree<T: Addend, const COUNT: usize>(mut values: [T; COUNT]) -> T {
    let mut width = COUNT / 2;
    while width > 0 {
        let mut index = 0;
        while index < width {
            values[index] = values[2 * index].plus(values[2 * index + 1]);
            index += 1;
        }
        width /= 2;
    }
    values[0]
}

/// The sum of what the threads of the block bring, in its first thread; the others get sums of no use.
///
/// # Safety
/// `warp_sums` points to one element per warp that only this block touches, and every thread of the block makes the call.
/// A barrier lies between two calls with the same `warp_sums`.
#[inline(always)]
pub unsafe fn block_sum<T: Addend>(value: T, warp_sums: *mut T) -> T {
    let tid = thread_idx_x();
    let lane = tid % WARP_SIZE;
    let warp = tid / WARP_SIZE;
    // SAFETY: each element is written before the barrier, and read behind it; whole warps add up.
    unsafe {
        let sum = value.warp_sum();
        if lane == 0 {
            *warp_sums.add(warp as usize) = sum;
        }
        sync_threads();
        if warp != 0 {
            return T::ZERO;
        }
        let mine = if lane < block_dim_x() / WARP_SIZE {
            *warp_sums.add(lane as usize)
        } else {
            T::ZERO
        };
        mine.warp_sum()
    }
}

macro_rules! entries {
    ($($name:ident: $value:ident;)*) => {$(
        #[doc = concat!("Leaves the sum of the `", stringify!($value), "` values of the input in `total`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at any address that is a multiple of their size; `partials` to one
        ///   per block, `total` and `ticket` to one, and nothing else touches those. The ticket is 0, and is 0 again at the end.
        /// - The grid has one dimension and any number of blocks, and a block a power of two of threads, 64 to 1024.
        #[kernel]
        pub unsafe fn $name(
            input: *const $value,
            partials: *mut $value,
            n: usize,
            total: *mut $value,
            ticket: *mut u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe { flagship::<$value>(input, partials, n, total, ticket) }
        }
    )*};
}

// Unsigned integers are added by the same instructions as signed ones.
entries! {
    flagship_i32: i32;
    flagship_i64: i64;
    flagship_f32: f32;
    flagship_f64: f64;
}
