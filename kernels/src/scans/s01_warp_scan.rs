//! # Scans 1 · A scan by shuffles
//!
//! ## Before
//! A reduction keeps the last sum and drops all the sums that led to it. Often these are wanted: where the share of each block begins,
//! which place an element gets among those that are kept, how far a total has grown.
//!
//! ## Idea
//! A *scan* gives element i the sum of the elements 0 to i. For a warp it is the tree of the reduction turned around: a shuffle *up*
//! brings the sum of the lane 1 below, then of those 2, 4, 8 and 16 below. After each step a lane has the sum of twice as many elements, up to its
//! own. The first lanes have no lane that far below. The shuffle gives them their own value, which they must not add: they are finished.
//!
//! A shuffle can be kept to *sections* of W neighbouring lanes, where W is a power of two. Then each section is a small warp of its own,
//! and one warp scans 32 ∕ W short arrays at once. The bounds are an operand of the instruction and cost nothing.
//!
//! The last lane of a section ends with the sum of all. The fourth kind of shuffle, by *index*, lets every lane read from any lane, so
//! that one of them brings it to the whole section.
//!
//! ## Picture
//! W = 8; what each lane has after each step:
//! ```text
//! lane       0    1    2    3    4    5    6    7
//! element    3    1    4    1    5    9    2    6
//! up 1       3    4    5    5    6   14   11    8     two elements each
//! up 2       3    4    8    9   11   19   17   22     four
//! up 4       3    4    8    9   14   23   25   31     eight: the scan
//! index 7   31   31   31   31   31   31   31   31     the total
//! ```
//!
//! ## Cost
//! For a warp: log₂ W shuffles up and one by index, for all 32 ∕ W sections together. Nearly every lane adds in every step, where a reduction
//! needs half as many additions from one step to the next. That costs no time, because lanes that don't add would wait anyway.
//!
//! ## Observe
//! In the PTX of `warp_scan_8`: three `shfl.sync.up.b32`, whose bounds are 6144: the sections are in the upper bits, and the lower bits are
//! 0, since a shuffle up ends at the first lane. One `shfl.sync.idx.b32` with 6151.
//!
//! **Predict.** From W = 2 to W = 32 the sections become 16 times as long. Do the instructions of a warp become 16
//! times as many, twice as many, or fewer than that?
//! ```console
//! $ warpfold profile warp_scan -n 2^16 --metrics warps_launched,inst_per_warp
//! ...
//! warps_launched        2,048        2,048        2,048         2,048         2,048
//! inst_per_warp         37.00        40.00        45.00         49.00         52.00
//! ...
//! ```
//! One more step for each doubling.
//!
//! ## Break it
//! Add what the shuffle brings without the test of the rank: write `delta > 0`. A lane that has no lane that far below then adds its own
//! value; lane 0 does so five times:
//! ```console
//! $ warpfold try warp_scan -n 1000 --block 64
//! ...
//! warpfold: `warp_scan` leaves 732656672 in element 0 of `sums`, which should be 962419617
//! ```
//!
//! ## Source
//! W. Daniel Hillis, Guy Steele, *Data Parallel Algorithms* (1986); Mark Harris, Shubhabrata Sengupta, John Owens, *Parallel Prefix Sum
//! (Scan) with CUDA*, in *GPU Gems 3* (2007).

use crate::prelude::*;

/// The body of every entry; `W` is the number of lanes in a section.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn warp_scan<const W: u32>(values: *const i32, sums: *mut i32, totals: *mut i32, n: usize) {
    let index = global_index();
    let section = Lanes::<W>::ALL;
    // SAFETY: the index is below n where memory is accessed; all 32 lanes of the warp come to the shuffles.
    unsafe {
        let value = if index < n { *values.add(index) } else { 0 };
        let sum = scan_section(section, value);
        let total = section.shuffle_index(sum, W - 1);
        if index < n {
            *sums.add(index) = sum;
            if section.rank() == 0 {
                *totals.add(index / W as usize) = total;
            }
        }
    }
}

/// The sum of the values of the lane's section, up to and with its own.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
pub unsafe fn scan_section<const W: u32>(section: Lanes<W>, value: i32) -> i32 {
    let mut sum = value;
    let mut delta = 1;
    while delta < W {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        let below = unsafe { section.shuffle_up(sum, delta) };
        if section.rank() >= delta {
            sum = sum.wrapping_add(below);
        }
        delta *= 2;
    }
    sum
}

macro_rules! entries {
    ($($name:ident = $width:literal;)*) => {$(
        /// Scans sections of neighbouring elements: `sums` gets for each element the sum of its section up to it, and `totals` the sum of
        /// each section.
        ///
        /// # Safety
        /// - `values` points to `n` values that nothing writes, `sums` to `n` and `totals` to one for each section that nothing else
        ///   touches.
        /// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
        #[kernel]
        pub unsafe fn $name(values: *const i32, sums: *mut i32, totals: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { warp_scan::<$width>(values, sums, totals, n) }
        }
    )*};
}

entries! {
    warp_scan_2 = 2;
    warp_scan_4 = 4;
    warp_scan_8 = 8;
    warp_scan_16 = 16;
    warp_scan_32 = 32;
}
