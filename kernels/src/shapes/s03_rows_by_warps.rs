//! # Shapes 3 · A warp for each row
//!
//! ## Before
//! One array, one result. Most arrays have rows, and what is wanted is a result for each: of each picture, each sentence, each customer.
//! A launch for each row would take a microsecond or more, for a thousand elements that the memory delivers in a nanosecond.
//!
//! ## Idea
//! One launch, and a *warp for each row*. A warp adds up its row by itself: the lanes take neighbouring elements, 32 at a time, and five
//! shuffles make one sum of theirs. Nothing is shared with another warp, so there is neither shared memory nor a barrier, and no warp waits
//! for another. The number of rows keeps the GPU busy, not the length of one.
//!
//! A lane loads four elements before it adds any, so that four loads of a warp are under way.
//!
//! ## Picture
//! A matrix of three rows, under warps of four lanes:
//! ```text
//! row 0    0  1  2  3  0  1  2  3  0  1      warp 0
//! row 1    0  1  2  3  0  1  2  3  0  1      warp 1
//! row 2    0  1  2  3  0  1                  warp 2: the elements end here
//! ```
//!
//! ## Cost
//! For a row of C elements: C loads, one store, 5 shuffles and as many additions of the whole warp, however short the row is. No barrier. A
//! warp's loads are of 4 sectors if the row begins with a sector, otherwise of 5 (memory access 1).
//!
//! ## Observe
//! In the PTX of `rows_by_warps`: no `.shared` and no `bar.sync`.
//!
//! **Predict.** The same 2¹⁸ elements as rows of 1024, of 100, of 64, of 16 and of 4. How many times as many instructions do rows of 4 take
//! as rows of 1024?
//! ```console
//! $ warpfold profile rows_by_warps -n 2^18 --metrics warp_instructions,global_load_sectors,global_load_sectors_per_request
//! ...
//!                                      columns 4     columns 16     columns 64    columns 100   columns 1024
//! ...
//! warp_instructions                    3,407,872        851,968        237,568        183,564         43,264
//! global_load_sectors                     65,536         32,768         32,768         38,010         32,768
//! global_load_sectors_per_request           1.00           2.00           4.00           3.62           4.00
//! ...
//! ```
//! Eighty times as many: a warp takes the same instructions for a row of 4 elements as for one of 128. And a row of 4 is half a sector, so
//! the warp after it loads the same sector again. Rows of 100 begin anywhere, and a warp's last load is cut short.
//!
//! `warpfold sweep rows_by_warps` shows it over the columns, `warpfold trace rows_by_warps -n 128 --block 64 --set columns=64` the steps.
//!
//! On an H200, 2²⁶ elements from memory in blocks of 512 take 0.074 ms in rows of 1024, 3620 GB/s of input and results. In rows of 64 they take
//! 0.145 ms, in rows of 16 0.526 ms, and in rows of 4 2.03 ms, 166 GB/s.
//!
//! ## Break it
//! Let only the lanes that have an element come: write `start + (lane as usize) < n.min(start + columns)` for `start < n`. In rows of fewer
//! than 32 elements the shuffles then wait for lanes that never come:
//! ```console
//! $ warpfold try rows_by_warps --check -n 1000 --block 64 --set columns=16
//! ...
//! synccheck: shuffle from an absent lane in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Nathan Bell, Michael Garland, *Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors* (2009), whose kernel
//! for rows in a vector has a warp for each.

use crate::ladder::l09_shuffle::warp_sum;
use crate::prelude::*;

/// A warp's step: one element for each lane.
const STEP: usize = WARP_SIZE as usize;

/// Writes the sum of each row of `columns` elements to `sums`. The last row may be shorter.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `sums` to ⌈n ∕ columns⌉ that nothing else touches; `columns` is not 0.
/// - The grid has one dimension and a warp for each row, and B is a multiple of 32.
#[kernel]
pub unsafe fn rows_by_warps(values: *const i32, sums: *mut i32, columns: usize, n: usize) {
    let row = global_index() / STEP;
    let lane = thread_idx_x() % WARP_SIZE;
    let start = row * columns;
    // It holds for all lanes of a warp or for none.
    if start < n {
        let end = (start + columns).min(n);
        // SAFETY: the places are below n; the whole warp is here.
        unsafe {
            let sum = warp_sum(sum_of_lane(values, start, end));
            if lane == 0 {
                *sums.add(row) = sum;
            }
        }
    }
}

/// The sum of the elements from `start` to `end` that are this lane's: the one at its number and every 32nd after it.
///
/// # Safety
/// `values` points to `end` values.
#[inline(always)]
pub unsafe fn sum_of_lane(values: *const i32, start: usize, end: usize) -> i32 {
    let lane = (thread_idx_x() % WARP_SIZE) as usize;
    let mut first = start;
    let mut sum = 0_i32;
    // SAFETY: the places are below `end`.
    unsafe {
        while first + 4 * STEP <= end {
            let mine = values.add(first + lane);
            let (a, b) = (*mine, *mine.add(STEP));
            let (c, d) = (*mine.add(2 * STEP), *mine.add(3 * STEP));
            let four = a.wrapping_add(b).wrapping_add(c.wrapping_add(d));
            sum = sum.wrapping_add(four);
            first += 4 * STEP;
        }
        let mut place = first + lane;
        while place < end {
            sum = sum.wrapping_add(*values.add(place));
            place += STEP;
        }
    }
    sum
}
