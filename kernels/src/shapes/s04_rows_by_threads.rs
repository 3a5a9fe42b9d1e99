//! # Shapes 4 · A thread for each row
//!
//! ## Before
//! In a row of 4 elements a warp has work for 4 lanes, and five shuffles for one sum. With most lanes idle, the memory waits for the
//! instructions.
//!
//! ## Idea
//! Give each *thread* a row. Every lane has work, and no lane needs another: no shuffle at all. `rows_by_threads` loads 16 bytes at a
//! time; every row begins at a multiple of 16 bytes.
//!
//! But the lanes of a warp load from places that are a row apart. With rows of 4 these are neighbours. With rows of 16, which are 64 bytes,
//! each lane's 16 bytes are half of a sector that no other lane wants, and a request for 512 bytes touches 32 sectors where 16 would do. The
//! next request wants the other half, and loads the sector again unless it is still in a cache. A vector load is wider, but not better by
//! itself: the lanes of one request must want adjacent elements.
//!
//! So one lane *loads* an element and another one *adds* it. In `rows_transposed` a warp copies a strip of its 32 rows, 8 columns wide, to shared
//! memory: two neighbouring lanes load the two vectors of a row, which are a whole sector. Then each thread reads its own row from there.
//! Written one way and read the other, the strip is transposed.
//!
//! Shared memory has banks (memory access 4). A vector is four banks wide, so eight lanes are served in a turn. In the strip the rows are
//! two vectors apart: the vectors of eight lanes would fall on half of the banks, two on each. A gap of one vector after every eight moves
//! every second group of four rows to the other half.
//!
//! ## Picture
//! Rows of four vectors; which lane loads what, and which adds it up:
//! ```text
//!            rows_by_threads            rows_transposed, first strip
//! row 0      0₁  0₂  0₃  0₄             0   1   ·   ·        added by thread 0
//! row 1      1₁  1₂  1₃  1₄             2   3   ·   ·        added by thread 1
//! row 2      2₁  2₂  2₃  2₄             4   5   ·   ·        added by thread 2
//!            in four requests           in one request
//!
//! the strip in shared memory            0 1  2 3  4 5  6 7  gap  8 9  10 11 …
//! ```
//!
//! ## Cost
//! For a warp of 32 whole rows of C elements, C a multiple of 8: `rows_by_threads` loads C ∕ 4 vectors for each thread, of 32 sectors a
//! request. `rows_transposed` loads as many, of 16 sectors a request, which is the least for 512 bytes. It stores and loads each vector once
//! in shared memory, 4 wavefronts a request, without conflicts. It takes two barriers of the warp for each strip, and 36 bytes of shared
//! memory for each thread.
//!
//! ## Observe
//! In the PTX: `ld.global.v4.b32` in both, and in `rows_transposed_512` `bar.warp.sync` between `st.shared.v4.b32` and `ld.shared.v4.b32`.
//!
//! **Predict.** How many sectors does a request take with rows of 4, of 8 and of 64, with and without the detour?
//! ```console
//! $ warpfold profile rows_by_threads -n 2^18 --metrics global_load_sectors,global_load_sectors_per_request
//! ...
//!                                        columns 4        columns 8       columns 16       columns 32       columns 64
//! ...
//! global_load_sectors                       32,768           65,536           65,536           65,536           65,536
//! global_load_sectors_per_request            16.00            32.00            32.00            32.00            32.00
//! ...
//! $ warpfold profile rows_transposed -n 2^18 --metrics global_load_sectors,global_load_sectors_per_request,shared_wavefronts_excessive
//! ...
//!                                            columns 4            columns 8           columns 16           columns 32           columns 64
//! ...
//! global_load_sectors                           32,768               32,768               32,768               32,768               32,768
//! global_load_sectors_per_request                16.00                16.00                16.00                16.00                16.00
//! shared_wavefronts_excessive                        0                    0                    0                    0                    0
//! ...
//! ```
//! From rows of 8 on every sector is asked for twice without the detour, and once with it.
//!
//! **Predict.** With rows of 4, a warp for each row takes 32 times as many warps. How many times as many instructions is that?
//! ```console
//! $ warpfold profile rows_by_warps rows_by_threads rows_transposed -n 2^18 --set columns=4 --metrics warps_launched,warp_instructions
//! ...
//! metric             rows_by_warps  rows_by_threads  rows_transposed_512
//! ...
//! warp_instructions      3,407,872           86,016              106,496
//! warps_launched            65,536            2,048                2,048
//! ...
//! ```
//! Forty times as many: a warp's instructions are hardly fewer for 4 elements than for 128. The detour takes a quarter more of them, and with
//! longer rows about twice as many, which the memory hides.
//!
//! On an H200, 2²⁶ elements from memory in blocks of 512 take as long with the detour as without in rows of 4 (0.095 and 0.094 ms, 3550
//! GB/s) and of 16 (0.077 and 0.078 ms). In rows of 64 it pays: 0.108 ms instead of 0.138 ms. With a warp for each row, rows of 4 take
//! 2.03 ms.
//!
//! ## Break it
//! Leave out the gaps: let `slot` give `vector`. The sums are right, and the reads take twice as many turns:
//! ```console
//! $ warpfold try rows_transposed --profile -n 2^16 --set columns=16 --metrics shared_wavefronts,shared_wavefronts_excessive
//! ...
//! shared_wavefronts                          6,144
//! shared_wavefronts_excessive                2,048
//! ...
//! ```
//!
//! ## Source
//! Greg Ruetsch, Paulius Micikevicius, *Optimizing Matrix Transpose in CUDA* (NVIDIA, 2009), for the detour and the gap.

use crate::ladder::l10_vectorized::Vector;
use crate::prelude::*;

/// Elements of a vector.
const VECTOR: usize = 4;

/// Vectors of a strip's row: one sector.
const WIDTH: u32 = 2;

/// The room of a warp's strip, with a gap of one vector after every eight.
const STRIP: u32 = slot(WIDTH * WARP_SIZE);

/// Writes the sum of each row of `columns` elements to `sums`. The last row may be shorter.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, at a multiple of 16 bytes, and `sums` to ⌈n ∕ columns⌉ that nothing else touches;
///   `columns` is a multiple of 4, and not 0.
/// - The grid has one dimension and a thread for each row.
#[kernel]
pub unsafe fn rows_by_threads(values: *const i32, sums: *mut i32, columns: usize, n: usize) {
    let row = global_index();
    let start = row * columns;
    if start < n {
        let end = (start + columns).min(n);
        let mut place = start;
        let mut sum = 0_i32;
        // SAFETY: the places are below `end`, and each vector begins at a multiple of four elements.
        unsafe {
            while place + VECTOR <= end {
                let vector = *values.add(place).cast::<Vector>();
                sum = sum.wrapping_add(vector.sum());
                place += VECTOR;
            }
            while place < end {
                sum = sum.wrapping_add(*values.add(place));
                place += 1;
            }
            *sums.add(row) = sum;
        }
    }
}

/// The vector that begins at a place; 0 for elements that are missing.
///
/// # Safety
/// `values` points to `n` values at a multiple of 16 bytes, and `place` is a multiple of 4.
#[inline(always)]
pub unsafe fn load(values: *const i32, place: usize, n: usize) -> Vector {
    let mut loaded = [0; VECTOR];
    // SAFETY: the places that are accessed are below n.
    unsafe {
        if place + VECTOR <= n {
            return *values.add(place).cast::<Vector>();
        }
        let mut index = 0;
        while index < VECTOR {
            if place + index < n {
                loaded[index] = *values.add(place + index);
            }
            index += 1;
        }
    }
    Vector(loaded)
}

/// Where a vector of the strip is in shared memory: after every eight there is a gap.
#[inline(always)]
const fn slot(vector: u32) -> u32 {
    vector + vector / 8
}

/// The body of every entry of `rows_transposed`; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn rows_transposed<const B: u32>(
    values: *const i32,
    sums: *mut i32,
    columns: usize,
    n: usize,
) {
    let strips = shared_array!(strips: [Vector; B / WARP_SIZE * STRIP]);
    let lane = thread_idx_x() % WARP_SIZE;
    let warp = thread_idx_x() / WARP_SIZE;
    let row = global_index();
    let strip_width = WIDTH as usize * VECTOR;

    let mut sum = 0_i32;
    let mut column = 0;
    // SAFETY: each warp has a strip of its own, and all its lanes make the calls; a thread writes its own row's sum.
    unsafe {
        let rows = Rows {
            values,
            first: row - lane as usize,
            columns,
            n,
        };
        let strip = strips.add((warp * STRIP) as usize);
        while column + strip_width <= columns {
            sum = sum.wrapping_add(sum_of_strip::<WIDTH>(rows, column, strip));
            column += strip_width;
        }
        // A last strip that is one vector wide.
        if column < columns {
            sum = sum.wrapping_add(sum_of_strip::<1>(rows, column, strip));
        }
        if row * columns < n {
            *sums.add(row) = sum;
        }
    }
}

/// The rows of a warp.
#[derive(Clone, Copy)]
struct Rows {
    values: *const i32,
    first: usize,
    columns: usize,
    n: usize,
}

/// The sum of this thread's row in a strip of the warp's 32 rows, `W` vectors wide from `column` on.
///
/// # Safety
/// The matrix is that of the entries; `column` is a multiple of 4, and the row has as many elements from there on. `strip` points to
/// [`STRIP`] vectors that only this warp touches, whose 32 lanes make the call.
#[inline(always)]
unsafe fn sum_of_strip<const W: u32>(rows: Rows, column: usize, strip: *mut Vector) -> i32 {
    let lane = thread_idx_x() % WARP_SIZE;
    let mut sum = 0_i32;
    // SAFETY: a vector that begins beyond the elements is not loaded; the slots are below `STRIP`, and barriers of the warp stand between
    // one lane's write of a slot and another's read of it, both ways.
    unsafe {
        let mut request = 0;
        while request < W {
            let vector = request * WARP_SIZE + lane;
            let (row, part) = ((vector / W) as usize, (vector % W) as usize);
            let place = (rows.first + row) * rows.columns + column + part * VECTOR;
            *strip.add(slot(vector) as usize) = load(rows.values, place, rows.n);
            request += 1;
        }
        sync_warp();

        let mut part = 0;
        while part < W {
            let vector = *strip.add(slot(lane * W + part) as usize);
            sum = sum.wrapping_add(vector.sum());
            part += 1;
        }
        sync_warp();
    }
    sum
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        /// Writes the sum of each row of `columns` elements to `sums`. The last row may be shorter.
        ///
        /// # Safety
        /// - `values` points to `n` values that nothing writes, at a multiple of 16 bytes, and `sums` to ⌈n ∕ columns⌉ that nothing else
        ///   touches; `columns` is a multiple of 4, and not 0.
        #[doc = concat!("- The grid has one dimension and a thread for each row, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(values: *const i32, sums: *mut i32, columns: usize, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { rows_transposed::<$block>(values, sums, columns, n) }
        }
    )*};
}

entries! {
    rows_transposed_64 = 64;
    rows_transposed_128 = 128;
    rows_transposed_256 = 256;
    rows_transposed_512 = 512;
    rows_transposed_1024 = 1024;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_lanes_that_are_served_together_want_different_banks() {
        for width in 1..=WIDTH {
            let vectors = width * WARP_SIZE;
            let written = (0..vectors).map(slot);
            let read = (0..width)
                .flat_map(|part| (0..WARP_SIZE).map(move |lane| slot(lane * width + part)));
            for slots in [written.collect::<Slots>(), read.collect::<Slots>()] {
                for turn in slots.0[..vectors as usize].chunks(8) {
                    let banks = turn
                        .iter()
                        .fold(0_u32, |banks, slot| banks | 1 << (slot % 8));
                    assert_eq!(banks, 0xff, "{turn:?}");
                }
                assert!(slots.0[..vectors as usize].iter().all(|&slot| slot < STRIP));
            }
        }
    }

    /// Without a heap there is no `Vec`.
    struct Slots([u32; (WIDTH * WARP_SIZE) as usize]);

    impl FromIterator<u32> for Slots {
        fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
            let mut all = Self([0; (WIDTH * WARP_SIZE) as usize]);
            for (place, slot) in all.0.iter_mut().zip(slots) {
                *place = slot;
            }
            all
        }
    }
}
