//! # Shapes 5 · Columns
//!
//! ## Before
//! A matrix lies in memory row after row. Two pages were about the sums of its rows. The sums of its *columns* take the same elements, and
//! the warp for each row suggests a warp for each column.
//!
//! ## Idea
//! `columns_by_warps` does that: the lanes of a warp go down a column, 32 rows at a time. Its result is right, but each lane's element is in
//! a sector of its own, because neighbours in a column are a row apart. It is the copy with a stride (memory access 2).
//!
//! In `columns_by_threads` each *thread has a column*. Neighbouring lanes have neighbouring columns, and going down, a warp reads 32
//! neighbouring elements of each row. No lane needs another: the tree has become a loop.
//!
//! But few columns make few threads, and a GPU wants a hundred thousand. So the rows are divided, too:
//! - Within a block the *warps share the rows* of a strip of 32 columns: warp w takes every row whose number is w more than a multiple of
//!   the number of warps. In the end each column has a sum in each warp. These are added up in shared memory by the first warp, whose lane l
//!   reads word l of every warp: 32 banks, no conflicts.
//! - The *blocks of a strip share the rows* in slices. Each leaves its sums as partials and draws a ticket of the strip. Whoever draws the
//!   last one adds the partials of all slices, in their order (step 11). One launch gives the sums.
//!
//! ## Picture
//! Two strips and three slices are six blocks; block 1 has four warps:
//! ```text
//!             columns 0 … 31    columns 32 … 63
//! slice 0     block 0           block 1            row 0   warp 0   lanes 0 … 31
//! slice 1     block 2           block 3            row 1   warp 1
//! slice 2     block 4           block 5            row 2   warp 2
//!             ↓                 ↓                  row 3   warp 3
//!             sums 0 … 31       sums 32 … 63       row 4   warp 0
//!             by the last block of each            …
//! ```
//!
//! ## Cost
//! Each element is loaded once. For a block: 32 partials stored, and one ticket; B words of shared memory stored and B loaded; three
//! barriers. The last block of a strip also loads 32 partials of each slice and stores the sums, for which it goes through shared memory
//! a second time, with one more barrier.
//!
//! ## Observe
//! In the PTX: `bar.red.or.pred`, which says who is last. `warpfold trace columns_by_threads -n 128 --block 64 --set columns=16` draws the steps.
//!
//! **Predict.** A matrix has 1024 columns. How many sectors does a request touch whose warp goes down a column, and one that reads across?
//! ```console
//! $ warpfold profile columns_by_warps columns_by_threads -n 2^18 --set columns=1024 --metrics global_load_sectors,global_load_sectors_per_request
//! ...
//! metric                           columns_by_warps  columns_by_threads
//! ...
//! global_load_sectors                       262,144              32,896
//! global_load_sectors_per_request             32.00                4.00
//! ...
//! ```
//! Each sector is loaded eight times, by the warps of the eight columns in it. In `columns_by_threads`, 128 of the sectors are those of the
//! partials.
//!
//! **Predict.** With 16 columns, half of the lanes of each warp have none. Does the number of sectors grow?
//! ```console
//! $ warpfold profile columns_by_threads -n 2^18 --metrics warp_instructions,global_load_sectors,threads_working
//! ...
//!                              columns 16         columns 100        columns 1024
//! ...
//! warp_instructions               119,320              84,373              94,112
//! threads_working                  16,384              12,288              16,384
//! global_load_sectors              32,896              38,106              32,896
//! ...
//! ```
//! It doesn't, because a sector that no lane wants is not loaded. Only the instructions increase. Such a matrix is better read as an array
//! of vectors, in which a lane always meets the same columns. With 100 columns a row begins anywhere, and most requests take 5 sectors.
//!
//! On an H200, 2²⁶ elements from memory in blocks of 512 take 0.081 ms with 1024 columns, 3310 GB/s of input and results, and 0.547 ms with a warp
//! for each column. With 16 columns they take 0.141 ms, and 19.2 ms with a warp for each.
//!
//! ## Break it
//! Draw the ticket before the partials are there: remove the barrier before `draw_ticket`. Lane 0 then speaks for lanes that may not have
//! stored theirs:
//! ```console
//! $ warpfold try columns_by_threads --check -n 2^16 --block 64 --set columns=16
//! ...
//! racecheck: read after write at global address ...
//! ...
//! ```
//!
//! ## Source
//! Mark Harris, *Optimizing Parallel Reduction in CUDA* (2007), for the division of work; *CUDA C++ Best Practices Guide*, on coalesced
//! access.

use crate::ladder::l09_shuffle::warp_sum;
use crate::prelude::*;

/// The most warps of a block.
const MOST_WARPS: u32 = 32;

/// Columns of a strip: a lane each.
pub const STRIP: u32 = WARP_SIZE;

/// Writes the sum of each of the `columns` to `sums`. The last row may be shorter.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `sums` to `columns` that nothing else touches.
/// - The grid has one dimension and a warp for each column, and B is a multiple of 32.
#[kernel]
pub unsafe fn columns_by_warps(values: *const i32, sums: *mut i32, columns: usize, n: usize) {
    let column = global_index() / WARP_SIZE as usize;
    let lane = thread_idx_x() % WARP_SIZE;
    // It holds for all lanes of a warp or for none.
    if column < columns {
        let index = lane as usize * columns + column;
        // SAFETY: the places are below n; the whole warp is here.
        unsafe {
            let sum = sum_of_column(values, index, n, WARP_SIZE as usize * columns);
            let sum = warp_sum(sum);
            if lane == 0 {
                *sums.add(column) = sum;
            }
        }
    }
}

/// Writes the sum of each of the `columns` to `sums`. The last row may be shorter.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `sums` to `columns` that nothing else touches; `columns` is not 0.
/// - `partials` points to 32 values for each block, and `tickets` to a word for each strip of 32 columns, which is 0; nothing else touches
///   those. The tickets are 0 again at the end.
/// - The grid has one dimension, and as many blocks for each strip as there are slices of `slice_rows` rows, which is not 0. B is a multiple
///   of 32.
#[kernel]
pub unsafe fn columns_by_threads(
    values: *const i32,
    sums: *mut i32,
    columns: usize,
    n: usize,
    slice_rows: usize,
    partials: *mut i32,
    tickets: *mut u32,
) {
    let warp_sums = shared_array!(warp_sums: [i32; MOST_WARPS * STRIP]);
    let lane = thread_idx_x() % WARP_SIZE;
    let warp = thread_idx_x() / WARP_SIZE;
    let warps = block_dim_x() / WARP_SIZE;
    let strips = columns.div_ceil(STRIP as usize) as u32;
    // SAFETY: there is a column. Without this the kernel would test for a division by 0.
    unsafe { core::hint::assert_unchecked(strips > 0) };
    let (slice, strip) = (block_idx_x() / strips, block_idx_x() % strips);
    let slices = grid_dim_x() / strips;
    let column = (strip * STRIP + lane) as usize;

    // SAFETY: the elements are those below n; each lane of the first warp has a partial of its block's slice. A barrier and the ticket
    // stand between the writes of the partials and the reads of them, and barriers between those of the shared sums.
    unsafe {
        // The rows of the slice end with it, or with the elements.
        let first_row = slice as usize * slice_rows;
        let end = n.min((first_row + slice_rows) * columns);
        let mine = if column < columns {
            let index = (first_row + warp as usize) * columns + column;
            sum_of_column(values, index, end, warps as usize * columns)
        } else {
            0
        };
        let of_block = sum_of_warps(mine, warp_sums);
        let partials = partials.add((strip * STRIP + lane) as usize);
        let distance = (strips * STRIP) as usize;
        if warp == 0 {
            *partials.add(slice as usize * distance) = of_block;
        }
        sync_threads();

        let ticket = tickets.add(strip as usize);
        let is_last = thread_idx_x() == 0 && draw_ticket(ticket) == slices - 1;
        if sync_threads_or(is_last) {
            let mut mine = 0_i32;
            let mut slice = warp;
            while slice < slices {
                // Volatile: from the memory that all blocks share, not from a cache of this multiprocessor.
                let partial = partials.add(slice as usize * distance).read_volatile();
                mine = mine.wrapping_add(partial);
                slice += warps;
            }
            let of_column = sum_of_warps(mine, warp_sums);
            if (warp == 0) & (column < columns) {
                *sums.add(column) = of_column;
            }
            if thread_idx_x() == 0 {
                store_relaxed(ticket, 0);
            }
        }
    }
}

/// The sum of the elements from `index` to `end` that are one every `distance`.
///
/// # Safety
/// `values` points to `end` values.
#[inline(always)]
unsafe fn sum_of_column(values: *const i32, mut index: usize, end: usize, distance: usize) -> i32 {
    let mut sum = 0_i32;
    // SAFETY: the indices are below `end`.
    unsafe {
        while index + 3 * distance < end {
            // Four loads that don't depend on one another.
            let mine = values.add(index);
            let (a, b) = (*mine, *mine.add(distance));
            let (c, d) = (*mine.add(2 * distance), *mine.add(3 * distance));
            let four = a.wrapping_add(b).wrapping_add(c.wrapping_add(d));
            sum = sum.wrapping_add(four);
            index += 4 * distance;
        }
        while index < end {
            sum = sum.wrapping_add(*values.add(index));
            index += distance;
        }
    }
    sum
}

/// For the first warp: the sum of the lane's column over all warps. What other warps get is meaningless.
///
/// Between two calls with the same array the caller needs a barrier.
///
/// # Safety
/// `warp_sums` points to 32 elements per warp that only this block touches, and all its threads make the call.
#[inline(always)]
unsafe fn sum_of_warps(mine: i32, warp_sums: *mut i32) -> i32 {
    let tid = thread_idx_x();
    let mut sum = 0_i32;
    // SAFETY: each thread has an element, written before the barrier.
    unsafe {
        *warp_sums.add(tid as usize) = mine;
        sync_threads();
        if tid < WARP_SIZE {
            let mut place = tid;
            while place < block_dim_x() {
                sum = sum.wrapping_add(*warp_sums.add(place as usize));
                place += WARP_SIZE;
            }
        }
    }
    sum
}
