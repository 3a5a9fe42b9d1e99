//! One row to four, which are taken side by side.

use super::layout::{BYTES, LOADS, MOST_LANES};
use super::write::write_columns;
use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::rows::Rows;
use crate::thread::{block_dim_x, thread_idx_x};
use crate::unroll::{array, each};
use crate::vector::{self, Loaded};

/// Reduces columns of one value each. Neighbouring threads have neighbouring columns, and a thread loads several values before it uses the
/// first. Of the blocks of the matrix this one has the `number`.
///
/// # Safety
/// As for [`columns`](super::columns()); the matrix has one row.
#[inline(always)]
pub(super) unsafe fn one_row<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    (number, blocks): (u32, u32),
    results: *mut O::Output,
) {
    const VALUES: usize = 2 * LOADS;
    let block = block_dim_x() as usize;
    let mut first = number as usize * VALUES * block + thread_idx_x() as usize;
    // SAFETY: the caller's promise; the columns are those of the matrix.
    unsafe {
        while first < matrix.columns {
            if first + (VALUES - 1) * block < matrix.columns {
                let loaded: [T; VALUES] = array(|place| *matrix.input.add(first + place * block));
                let states = array::<_, VALUES>(|place| operator.lift(loaded[place], 0));
                let finished = operator.finish_each(states, 1);
                each(VALUES, |place| {
                    *results.add(first + place * block) = finished[place];
                });
            } else {
                let mut column = first;
                while column < matrix.columns {
                    let state = operator.lift(*matrix.input.add(column), 0);
                    *results.add(column) = operator.finish(state, 1);
                    column += block;
                }
            }
            first += blocks as usize * VALUES * block;
        }
    }
}

/// Reduces columns of `ROWS` values. Each warp takes 32 · `VECTORS` neighbouring vectors of each row at a time, all of which are loaded before
/// the first is used. It needs neither shared memory nor barriers.
///
/// # Safety
/// As for [`columns`](super::columns()); the matrix has as many rows, whose vectors lie at multiples of 16 bytes alike.
#[inline(always)]
pub(super) unsafe fn few_rows<
    const ROWS: usize,
    const VECTORS: usize,
    T: Loaded,
    O: Operator<T>,
>(
    operator: O,
    matrix: Rows<T>,
    (number, blocks): (u32, u32),
    results: *mut O::Output,
) {
    let shift = matrix.input as usize % BYTES / size_of::<T>();
    let count = (matrix.columns + shift).div_ceil(T::LANES);
    let warps = blocks as usize * (block_dim_x() / WARP_SIZE) as usize;
    let thread = number as usize * block_dim_x() as usize + thread_idx_x() as usize;
    let mut first = thread / WARP * WARP * VECTORS;
    // SAFETY: the caller's promise. Where all vectors of a warp are columns wholly they are loaded at once, elsewhere each value that is there.
    unsafe {
        // A value whose alignment is less than its size may begin anywhere.
        let is_aligned = align_of::<T>() == size_of::<T>()
            || (matrix.input as usize).is_multiple_of(size_of::<T>());
        let is_whole = |vector: usize| {
            let start = vector * T::LANES;
            is_aligned && start >= shift && start + T::LANES <= matrix.columns + shift
        };
        while first < count {
            // The first column of this lane's vector; below 0 it wraps around.
            let rank = (thread_idx_x() % WARP_SIZE) as usize;
            let mine =
                |vector: usize| ((first + vector * WARP + rank) * T::LANES).wrapping_sub(shift);
            if is_whole(first) && is_whole(first + VECTORS * WARP - 1) {
                let loaded = array::<_, VECTORS>(
                    #[inline(always)]
                    |vector| {
                        array::<T::Vector, ROWS>(
                            #[inline(always)]
                            |row| {
                                let place = row * matrix.stride + mine(vector);
                                vector::load(matrix.input.add(place))
                            },
                        )
                    },
                );
                each(
                    VECTORS,
                    #[inline(always)]
                    |vector| {
                        let mut states = [operator.identity(); MOST_LANES];
                        each(
                            T::LANES,
                            #[inline(always)]
                            |lane| {
                                let values =
                                    array::<_, ROWS>(|row| T::value(loaded[vector][row], lane));
                                states[lane] = operator.lift_spaced(values, 0, 1);
                            },
                        );
                        write_columns(operator, states, ROWS, results.add(mine(vector)));
                    },
                );
            } else {
                let mut place = 0;
                while place < VECTORS * T::LANES {
                    let column = mine(place / T::LANES).wrapping_add(place % T::LANES);
                    if column < matrix.columns {
                        let mut state = operator.identity();
                        let mut row = 0;
                        while row < ROWS {
                            let value = *matrix.input.add(row * matrix.stride + column);
                            state = operator.combine(state, operator.lift(value, row as u64));
                            row += 1;
                        }
                        *results.add(column) = operator.finish(state, ROWS as u64);
                    }
                    place += 1;
                }
            }
            first += warps * WARP * VECTORS;
        }
    }
}

/// Lanes of a warp.
const WARP: usize = WARP_SIZE as usize;
