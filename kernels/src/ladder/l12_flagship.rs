//! # Step 12 · The flagship
//!
//! ## Before
//! Step 11 does everything in one launch, and pays for it at the end. Each block writes its partial sum, waits at a fence
//! until the write is visible, and takes a ticket; then the last block reads all partials. Below a few million elements
//! these round trips to memory, one after another, are most of the time. Above that, a block that waits for its ticket
//! keeps the next block from starting. And the input has to begin at a multiple of 16 bytes, which a part of somebody's
//! array seldom does.
//!
//! ## Idea
//! *Add and leave.* Each block adds its sum to the total by one atomic addition, and waits for no answer: no partial sum,
//! no ticket, no last block. But such a total has to be 0 before the launch, and a second launch to clear it would cost
//! more than is saved. So there are two totals that take turns: each launch adds to one and clears the other for the next
//! launch.
//!
//! *Peel the head.* Up to 31 elements of four bytes come before the first multiple of 128 bytes, where a cache line begins.
//! The first threads of block 0 take one each, and everything else begins after them. *Several loads* per thread are in
//! flight at once, in a cut tile as in a whole one. The vectors of a warp are adjacent, so the addresses of a thread's
//! loads differ by constants, whatever the size of the block, and one register serves all of them.
//!
//! Small inputs run best as many blocks with few loads each: every multiprocessor then gets work at once. Large inputs run
//! best with many loads per thread, so that the work of a block outweighs the cost of starting and ending it. Up to 256 KiB
//! each warp adds its own sum to the total, without waiting for the rest of the block. A measured table,
//! `catalogue::flagship`, says which kernel and how many blocks and threads each n gets.
//!
//! ## Picture
//! ```text
//! input    │h h│ v v v v │ v v v v │ … │r             h: head, v: vectors of 16 bytes, r: rest, less than a vector
//!          ^ any element ^ a multiple of 128 bytes
//!
//! total          0 ──── +7 ──── +23 ──── +5 ──── 35 is the sum: blocks 2, 0 and 1 have added theirs
//! next total    35 ──── 0                           block 0 has cleared what the previous launch left
//! ```
//!
//! ## Cost
//! For one block of B threads with k loads over t whole tiles: k·B·t loads of 16 bytes; a shared word per warp, stored and
//! loaded; 1 barrier; 1 atomic addition. Block 0 has one more store.
//!
//! ## Observe
//! In the PTX of `flagship_8_i32`: no `membar`, one `atom.global.add.u32` whose answer nobody reads (the assembler
//! turns it into a `RED`), and for sm_80 and later `redux.sync.add.s32` instead of shuffles. In a run on an H200: for
//! every n, less than a tenth more than the time of a kernel that only reads.
//!
//! **Predict.** With 8 loads per thread, 2²⁰ elements take 1,024 warps, in blocks of 16. How many atomics is that,
//! and how many with 2 loads per thread?
//! ```console
//! $ warpfold profile flagship -n 2^20 --metrics warps_launched,atomics,barriers
//! ...
//! metric          flagship_2_i32  flagship_8_i32
//! ...
//!                        loads 2         loads 8
//! ...
//! warps_launched           4,096           1,024
//! atomics                    256              64
//! barriers                 4,096           1,024
//! ...
//! ```
//! One atomic and one barrier per block; the barriers are counted for each warp.
//!
//! ## Break it
//! Let block 0 clear `total` instead of `next`. Blocks that finished before it lose their sums:
//! ```console
//! $ warpfold try flagship --check -n 2^16 --schedules 32
//! ...
//! racecheck: write after write at global address 0x7f0000040100 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Justin Luitjens, *Faster Parallel Reductions on Kepler* (NVIDIA, 2014): its blocks end with an atomic addition, too, to
//! a total that another launch has cleared.

use crate::ladder::l12a_accumulate::Accumulate;
use crate::prelude::*;

/// Bytes that one load brings.
pub const VECTOR_BYTES: usize = 16;

/// Bytes of a cache line.
const LINE_BYTES: usize = 128;

/// Loads per thread in the kernels for small inputs.
pub const LITTLE_LOADS: usize = 2;

/// The most warps of a block.
pub const MOST_WARPS: u32 = 32;

/// The body of every entry but the small ones, with `LOADS` loads of each thread in flight at once.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn flagship<T: Accumulate, const LOADS: usize>(
    input: *const T,
    total: *mut T::Total,
    n: usize,
    next: *mut T::Total,
) {
    let warp_sums = shared_array!(warp_sums: [T; MOST_WARPS]);
    // SAFETY: the caller's promise; what follows the head begins at a multiple of 16 bytes.
    unsafe {
        let head = head_length(input, n);
        let (body, n) = (input.add(head), n - head);
        let grid = (block_idx_x(), grid_dim_x());
        let mine = sum_of_tiles::<T, LOADS>(body, n, grid, |vector| *vector);
        let mine = mine
            .plus(rest_element(body, n))
            .plus(head_element(input, head));
        add_block_sum(mine, warp_sums, total, next);
    }
}

/// The body of the entries for small inputs, with a block for every tile. There is no loop over tiles, and no warp waits
/// for another: each adds its own sum to the total.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn little<T: Accumulate>(
    input: *const T,
    total: *mut T::Total,
    n: usize,
    next: *mut T::Total,
) {
    // SAFETY: the caller's promise; the index of each vector that is loaded is below their number. All lanes of a warp make
    // the calls.
    unsafe {
        let head = head_length(input, n);
        let (body, n) = (input.add(head), n - head);
        let (vectors, values) = (n / T::LANES, body.cast::<T::Vector>());
        let tile_length = LITTLE_LOADS * block_dim_x() as usize;
        let mut place =
            block_idx_x() as usize * tile_length + place_in_tile::<LITTLE_LOADS>(thread_idx_x());
        let mut mine = rest_element(body, n).plus(head_element(input, head));
        let mut load = 0;
        while load < LITTLE_LOADS {
            if place < vectors {
                mine = mine.plus(T::sum_of(*values.add(place)));
            }
            place += WARP_SIZE as usize;
            load += 1;
        }
        let sum = mine.warp_sum(WARP_SIZE);
        if thread_idx_x() % WARP_SIZE == 0 {
            add_and_clear(sum, total, next);
        }
    }
}

/// Adds the values of the block's threads to the total, and clears the total of the next launch.
///
/// # Safety
/// Every thread of the grid makes the call, once. `warp_sums` points to one element per warp in the block's shared memory; `total`
/// and `next` are those of the kernel.
#[inline(always)]
pub unsafe fn add_block_sum<T: Accumulate>(
    mine: T,
    warp_sums: *mut T,
    total: *mut T::Total,
    next: *mut T::Total,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let sum = block_sum(mine, warp_sums);
        if thread_idx_x() == 0 {
            add_and_clear(sum, total, next);
        }
    }
}

/// Adds a sum to the total; the first thread of the grid clears the total of the next launch.
///
/// # Safety
/// `total` and `next` are those of the kernel, and the first thread of the grid makes the call.
#[inline(always)]
unsafe fn add_and_clear<T: Accumulate>(sum: T, total: *mut T::Total, next: *mut T::Total) {
    // SAFETY: the caller's promise; nobody else touches `next` during this launch.
    unsafe {
        sum.add_to(total);
        if block_idx_x() == 0 && thread_idx_x() == 0 {
            *next = T::TOTAL_IDENTITY;
        }
    }
}

/// The index of this thread's first vector in a tile of `LOADS` vectors per thread; the others follow 32 apart. The vectors
/// of a warp are adjacent, so the addresses of a thread's loads differ by constants.
#[inline(always)]
fn place_in_tile<const LOADS: usize>(tid: u32) -> usize {
    (tid / WARP_SIZE * LOADS as u32 * WARP_SIZE + tid % WARP_SIZE) as usize
}

/// How many elements come before the first multiple of 128 bytes, where a cache line begins; all elements of a shorter
/// input.
#[inline(always)]
pub fn head_length<T>(input: *const T, n: usize) -> usize {
    let past_line = input as usize % LINE_BYTES;
    let bytes = (LINE_BYTES - past_line) % LINE_BYTES;
    (bytes / size_of::<T>()).min(n)
}

/// The element of the head that this thread takes; the identity for most threads.
///
/// # Safety
/// `input` points to `head` values.
#[inline(always)]
pub unsafe fn head_element<T: Accumulate>(input: *const T, head: usize) -> T {
    let tid = thread_idx_x() as usize;
    if block_idx_x() == 0 && tid < head {
        // SAFETY: the index is below `head`.
        unsafe { *input.add(tid) }
    } else {
        T::IDENTITY
    }
}

/// The element after the last whole vector that this thread takes; the identity for most threads.
///
/// # Safety
/// `body` points to `n` values.
#[inline(always)]
pub unsafe fn rest_element<T: Accumulate>(body: *const T, n: usize) -> T {
    let index = n / T::LANES * T::LANES + thread_idx_x() as usize;
    if block_idx_x() == 0 && index < n {
        // SAFETY: the index is below n.
        unsafe { *body.add(index) }
    } else {
        T::IDENTITY
    }
}

/// The sum of the thread's vectors in the tiles of block `grid.0` of a grid of `grid.1` blocks, which need not be the block
/// and the grid of the launch. `load` loads a vector.
///
/// # Safety
/// `body` points to `n` values, and `load` may load any vector of them.
#[inline(always)]
pub unsafe fn sum_of_tiles<T: Accumulate, const LOADS: usize>(
    body: *const T,
    n: usize,
    grid: (u32, u32),
    load: impl Fn(*const T::Vector) -> T::Vector,
) -> T {
    let body = body.cast::<T::Vector>();
    let vectors = n / T::LANES;
    let tile_length = LOADS * block_dim_x() as usize;
    let step = grid.1 as usize * tile_length;
    let mine = place_in_tile::<LOADS>(thread_idx_x());
    let mut start = grid.0 as usize * tile_length;
    let mut sum = T::IDENTITY;
    // SAFETY: a tile that begins below the number of vectors is whole if enough vectors are left. In a cut tile, lanes past
    // the end load the last vector and discard it: with a branch each load would wait for the one before.
    unsafe {
        while start + tile_length <= vectors {
            let mine = body.add(start + mine);
            let mut sums = [T::IDENTITY; LOADS];
            let mut index = 0;
            while index < LOADS {
                sums[index] = T::sum_of(load(mine.add(index * WARP_SIZE as usize)));
                index += 1;
            }
            sum = sum.plus(tree(sums));
            start += step;
        }
        if start < vectors {
            let mut sums = [T::IDENTITY; LOADS];
            let mut index = 0;
            while index < LOADS {
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
pub fn tree<T: Accumulate, const COUNT: usize>(mut values: [T; COUNT]) -> T {
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

/// The sum of the values of the block's threads, in its first thread. What the others get is meaningless.
///
/// # Safety
/// `warp_sums` points to one element per warp that only this block touches, and every thread of the block makes the call.
/// There is a barrier between two calls with the same `warp_sums`.
#[inline(always)]
pub unsafe fn block_sum<T: Accumulate>(value: T, warp_sums: *mut T) -> T {
    let tid = thread_idx_x();
    let lane = tid % WARP_SIZE;
    let warp = tid / WARP_SIZE;
    // SAFETY: each element is written before the barrier and read after it; whole warps make the calls.
    unsafe {
        let sum = value.warp_sum(WARP_SIZE);
        if lane == 0 {
            *warp_sums.add(warp as usize) = sum;
        }
        sync_threads();
        if warp != 0 {
            return T::IDENTITY;
        }
        let mine = if lane < block_dim_x() / WARP_SIZE {
            *warp_sums.add(lane as usize)
        } else {
            T::IDENTITY
        };
        mine.warp_sum(block_dim_x() / WARP_SIZE)
    }
}

macro_rules! entries {
    ($($name:ident: $value:ident, $body:path, $how:literal;)*) => {$(
        #[doc = concat!("Adds the sum of the `", stringify!($value), "` values of the input to `total`, ", $how, ".")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at any address that is a multiple of their size; `total` and
        ///   `next` to one each, which nothing else touches. The total is 0 before, for floats −0.0; so is `next`
        ///   afterwards.
        /// - The grid has one dimension and any number of blocks, in the kernels for small inputs one for every 2·B vectors
        ///   of 16 bytes; a block has a power of two B of threads, 64 to 1024.
        #[kernel]
        pub unsafe fn $name(
            input: *const $value,
            total: *mut <$value as Accumulate>::Total,
            n: usize,
            next: *mut <$value as Accumulate>::Total,
        ) {
            // SAFETY: the caller's promise.
            unsafe { $body(input, total, n, next) }
        }
    )*};
}

// Unsigned integers are added by the same instructions as signed ones.
entries! {
    flagship_2_i32: i32, flagship::<i32, 2>, "by two loads of a thread at once";
    flagship_8_i32: i32, flagship::<i32, 8>, "by eight loads of a thread at once";
    flagship_2_f32: f32, flagship::<f32, 2>, "by two loads of a thread at once";
    flagship_8_f32: f32, flagship::<f32, 8>, "by eight loads of a thread at once";
    flagship_4_i64: i64, flagship::<i64, 4>, "by four loads of a thread at once";
    flagship_8_i64: i64, flagship::<i64, 8>, "by eight loads of a thread at once";
    flagship_4_f64: f64, flagship::<f64, 4>, "by four loads of a thread at once";
    flagship_8_f64: f64, flagship::<f64, 8>, "by eight loads of a thread at once";
    flagship_little_i32: i32, little::<i32>, "which is little";
    flagship_little_f32: f32, little::<f32>, "which is little";
    flagship_little_i64: i64, little::<i64>, "which is little";
    flagship_little_f64: f64, little::<f64>, "which is little";
}
