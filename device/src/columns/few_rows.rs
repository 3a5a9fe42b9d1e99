//! One, two or three rows, which are taken side by side.

use super::layout::{BYTES, LOADS};
use crate::lanes::{WARP_SIZE, sync_warp};
use crate::operator::Operator;
use crate::rows::Rows;
use crate::thread::{block_dim_x, block_idx_x, global_index, grid_dim_x, thread_idx_x};
use crate::unroll::{array, each};
use crate::vector::{self, Loaded};

/// Reduces columns of one value each. Neighbouring threads have neighbouring columns, and a thread loads several values before it uses the
/// first.
///
/// # Safety
/// As for [`columns`](super::columns()); the matrix has one row.
#[inline(always)]
pub(super) unsafe fn one_row<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    results: *mut O::Output,
) {
    const VALUES: usize = 2 * LOADS;
    let block = block_dim_x() as usize;
    let mut first = block_idx_x() as usize * VALUES * block + thread_idx_x() as usize;
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
            first += grid_dim_x() as usize * VALUES * block;
        }
    }
}

/// Reduces columns of `ROWS` values. Each warp takes 32 · `VECTORS` neighbouring vectors of each row at a time, all of which are loaded
/// before the first is used, and hands the states through shared memory, so that it writes neighbouring results.
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
    results: *mut O::Output,
    stage: *mut O::State,
) {
    let lane = (thread_idx_x() % WARP_SIZE) as usize;
    let shift = matrix.input as usize % BYTES / size_of::<T>();
    let count = (matrix.columns + shift).div_ceil(T::LANES);
    let warps = (grid_dim_x() * (block_dim_x() / WARP_SIZE)) as usize;
    let mut first = global_index() / WARP * WARP * VECTORS;
    // SAFETY: the caller's promise. A warp has a part of the stage. Where all vectors of a warp are columns wholly they are loaded at once,
    // elsewhere each value that is there.
    unsafe {
        let stage = stage.add((thread_idx_x() / WARP_SIZE) as usize * WARP * T::LANES);
        let is_whole = |vector: usize| {
            let start = vector * T::LANES;
            start >= shift && start + T::LANES <= matrix.columns + shift
        };
        while first < count {
            // The column of the first value of a vector; below 0 it wraps around.
            let start = |vector: usize| ((first + vector * WARP) * T::LANES).wrapping_sub(shift);
            let mine = |vector: usize| start(vector).wrapping_add(lane * T::LANES);
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
                        each(
                            T::LANES,
                            #[inline(always)]
                            |of| {
                                let values =
                                    array::<_, ROWS>(|row| T::value(loaded[vector][row], of));
                                *stage.add(lane * T::LANES + of) =
                                    operator.lift_spaced(values, 0, 1);
                            },
                        );
                        write_columns(operator, matrix, start(vector), results, stage);
                    },
                );
            } else {
                let mut vector = 0;
                while vector < VECTORS {
                    let mut of = 0;
                    while of < T::LANES {
                        let column = mine(vector).wrapping_add(of);
                        let mut state = operator.identity();
                        let mut row = 0;
                        while column < matrix.columns && row < ROWS {
                            let value = *matrix.input.add(row * matrix.stride + column);
                            state = operator.combine(state, operator.lift(value, row as u64));
                            row += 1;
                        }
                        *stage.add(lane * T::LANES + of) = state;
                        of += 1;
                    }
                    write_columns(operator, matrix, start(vector), results, stage);
                    vector += 1;
                }
            }
            first += warps * WARP * VECTORS;
        }
    }
}

/// Lanes of a warp.
const WARP: usize = WARP_SIZE as usize;

/// Writes the results of the columns that the vectors of a warp cover, from `start` on, in neighbouring lanes.
///
/// # Safety
/// The whole warp makes the call, after its lanes have written the states of those columns to `stage`.
#[inline(always)]
unsafe fn write_columns<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    start: usize,
    results: *mut O::Output,
    stage: *const O::State,
) {
    let mut place = (thread_idx_x() % WARP_SIZE) as usize;
    // SAFETY: the caller's promise; the warp waits for itself between the writes and the reads, both ways.
    unsafe {
        sync_warp();
        while place < WARP * T::LANES {
            let column = start.wrapping_add(place);
            if column < matrix.columns {
                *results.add(column) = operator.finish(*stage.add(place), matrix.rows as u64);
            }
            place += WARP;
        }
        sync_warp();
    }
}
