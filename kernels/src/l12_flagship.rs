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
//! *The head is peeled.* Up to 31 elements of four bytes lie in front of the first multiple of 128, where a line of the cache
//! begins; the first threads of block 0 take one each, and everything else begins behind them. *Eight loads* of a thread are on
//! their way at once, in a cut tile as in a whole one. A warp's 256 vectors lie side by side: so the places of a
//! thread's eight differ by constants, whatever the size of the block, and one register points to all of them.
//!
//! And how many blocks of how many threads are best, for which n on which GPU, is a table that was measured:
//! `catalogue::flagship`.
//!
//! ## Picture
//! ```text
//! input   │h h│ v v v v │ v v v v │ … │r              h: head, v: vectors of 16 bytes, r: what fills none
//!         ^ any element ^ a multiple of 128 bytes
//!
//! ticket     sum of those before │ blocks before
//! block 2             0          │      0            adds (  7, 1)
//! block 0             7          │      1            adds ( 30, 1)
//! block 1            37          │      2, the last  total = 37 + its own; the ticket becomes 0
//! ```
//!
//! ## Cost
//! For one block over t whole tiles: 8B·t loads of 16 bytes; a shared word per warp, stored and loaded; 1 barrier; 1
//! atomic addition, and that is all. In the last block 1 store and 1 atomic exchange more. A block that is alone only stores.
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

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 128;

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
    // SAFETY: the caller's promise; what lies behind the head begins at a multiple of 16 bytes.
    unsafe {
        let head = head_length(input, n);
        let (body, n) = (input.add(head), n - head);
        let grid = (block_idx_x(), grid_dim_x());
        let mine = sum_of_tiles(body, n, grid, |vector| *vector);
        let mine = mine
            .plus(rest_element(body, n))
            .plus(head_element(input, head));
        T::hand_in(mine, partials, total, ticket);
    }
}

/// How many elements stand before the first multiple of 128 bytes, a whole line of the cache; of a shorter input, all.
#[inline(always)]
pub fn head_length<T>(input: *const T, n: usize) -> usize {
    let behind = input as usize % LINE_BYTES;
    let bytes = (LINE_BYTES - behind) % LINE_BYTES;
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

/// The element behind the last whole vector that falls to this thread; 0 for most.
///
/// # Safety
/// `body` points to `n` values.
#[inline(always)]
pub unsafe fn rest_element<T: Addend>(body: *const T, n: usize) -> T {
    let index = n / T::LANES * T::LANES + thread_idx_x() as usize;
    if block_idx_x() == 0 && index < n {
        // SAFETY: the index is below n.
        unsafe { *body.add(index) }
    } else {
        T::ZERO
    }
}

/// The sum of the thread's vectors in the tiles of one block of a grid: of `grid.0` of `grid.1` blocks, which need not be
/// those of the launch. `load` loads a vector.
///
/// # Safety
/// `body` points to `n` values, and `load` may load any vector of them.
#[inline(always)]
pub unsafe fn sum_of_tiles<T: Addend>(
    body: *const T,
    n: usize,
    grid: (u32, u32),
    load: impl Fn(*const T::Vector) -> T::Vector,
) -> T {
    let body = body.cast::<T::Vector>();
    let vectors = n / T::LANES;
    let tile_length = VECTORS * block_dim_x() as usize;
    let step = grid.1 as usize * tile_length;
    // A warp's vectors lie side by side in a tile, so that the places of a thread's loads differ by constants.
    let tid = thread_idx_x();
    let mine = (tid / WARP_SIZE * VECTORS as u32 * WARP_SIZE + tid % WARP_SIZE) as usize;
    let mut start = grid.0 as usize * tile_length;
    let mut sum = T::ZERO;
    // SAFETY: a tile that begins below the number of vectors is whole where that many are left. Of one that is cut, what is
    // not there is loaded all the same, from the last place that is, and dropped: a load behind a branch would wait for the one
    // before.
    unsafe {
        while start + tile_length <= vectors {
            let mine = body.add(start + mine);
            let mut sums = [T::ZERO; VECTORS];
            let mut index = 0;
            while index < VECTORS {
                sums[index] = T::sum_of(load(mine.add(index * WARP_SIZE as usize)));
                index += 1;
            }
            sum = sum.plus(tree(sums));
            start += step;
        }
        if start < vectors {
            let mut sums = [T::ZERO; VECTORS];
            let mut index = 0;
            while index < VECTORS {
                let place = start + mine + index * WARP_SIZE as usize;
                let vector = load(body.add(place.min(vectors - 1)));
                if place < vectors {
                    sums[index] = T::sum_of(vector);
                }
                index += 1;
            }
            sum = sum.plus(tree(sums));
        }
    }
    sum
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
