//! Columns, in the fixed order.

use super::order::{BLOCK, CHUNK, of_thread};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{Combine, Operator};
use crate::rows::Rows;
use crate::thread::{block_idx_x, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x};

/// How the columns of a matrix are divided among blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Columns of a strip, side by side: a power of two up to 32. A column has [`BLOCK`] ∕ `width` threads.
    pub width: u32,
}

impl Strips {
    /// Those for a matrix with this many columns: whole warps read neighbours where there are enough of them.
    pub const fn new(columns: usize) -> Self {
        let mut width = 1;
        while width < 32 && (width as usize) < columns {
            width *= 2;
        }
        Self { width }
    }

    /// How many there are.
    pub const fn count(self, columns: usize) -> usize {
        columns.div_ceil(self.width as usize)
    }
}

/// How many chunks a column has, one at least.
#[inline(always)]
fn chunks(rows: usize) -> usize {
    if rows <= CHUNK {
        1
    } else {
        rows.div_ceil(CHUNK)
    }
}

/// Reduces each column of a matrix, or of each of several, in one launch of any grid: blocks take chunks of strips, and the last of a strip's to come combines its chunks.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. A block has [`BLOCK`] threads.
/// - There are as many `matrices`, each `distance` values after the one before; `matrix` is the first. Nothing writes them; `results` points to one
///   result for each column of each, which nothing else touches.
/// - If a column has more values than a chunk, `states` points to one state for each chunk of each column of each matrix, and `counters` to a word
///   that is 0 for each strip of each; nothing else touches them. The counters are 0 again afterwards.
/// - `scratch` points to [`BLOCK`] states in shared memory, which the block uses for nothing else.
#[inline(always)]
pub unsafe fn columns<T: Copy, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    (matrices, distance): (u32, usize),
    strips: Strips,
    (states, counters): (*mut O::State, *mut u32),
    results: *mut O::Output,
    scratch: *mut O::State,
) {
    let first_matrix = matrix;
    let chunks = chunks(matrix.rows);
    let count = strips.count(matrix.columns);
    let mut place = block_idx_x() as usize;
    while place < matrices as usize * count * chunks {
        // Among the strips of all matrices, and among those of its own.
        let (number, chunk) = (place / chunks, place % chunks);
        let (of, strip) = (number / count, number % count);
        let input = first_matrix.input.wrapping_add(of * distance);
        let matrix = Rows {
            input,
            ..first_matrix
        };
        let column = strip * strips.width as usize + (thread_idx_x() % strips.width) as usize;
        let is_there = column < matrix.columns;
        let is_first = thread_idx_x() < strips.width;
        let first = chunk * CHUNK;
        let left = matrix.rows - first;
        let rows = if left < CHUNK { left } else { CHUNK };
        // SAFETY: the caller's promise; each use of the scratch memory ends with a barrier. A barrier and a ticket order the stores of
        // states before it, and the loads of the last block after it.
        unsafe {
            let of_chunk = tree(operator, strips, rows, is_there, scratch, |row| {
                let row = first + row;
                operator.lift(*matrix.input.add(row * matrix.stride + column), row as u64)
            });
            let mut of_column = Some(of_chunk);
            if chunks > 1 {
                let states = states.wrapping_add((of * matrix.columns + column) * chunks);
                if is_first && is_there {
                    *states.add(chunk) = of_chunk;
                }
                sync_threads();
                let counter = counters.add(number);
                let is_last = thread_idx_x() == 0 && draw_ticket(counter) as usize == chunks - 1;
                of_column = if sync_threads_or(is_last) {
                    if thread_idx_x() == 0 {
                        store_relaxed(counter, 0);
                    }
                    let state = |chunk| *states.add(chunk);
                    Some(tree(operator, strips, chunks, is_there, scratch, state))
                } else {
                    None
                };
            }
            if let Some(state) = of_column
                && is_first
                && is_there
            {
                *results.add(of * matrix.columns + column) =
                    operator.finish(state, matrix.rows as u64);
            }
        }
        place += grid_dim_x() as usize;
    }
}

/// The states of a column combined in the fixed order, in the first of the column's threads. Ends with a barrier.
///
/// # Safety
/// Every thread of the block makes the call, with the same strips and count; there are [`BLOCK`] of them, and as many states in `scratch`.
#[inline(always)]
unsafe fn tree<S: Copy>(
    operator: impl Combine<S>,
    strips: Strips,
    count: usize,
    is_there: bool,
    scratch: *mut S,
    state: impl Fn(usize) -> S,
) -> S {
    let (thread, width) = (thread_idx_x(), strips.width);
    let (lane, lanes) = (thread / width, BLOCK / width);
    let count = if is_there { count } else { 0 };
    let mut mine = of_thread(operator, count, lane, lanes, state);
    let mut distance = lanes / 2;
    // SAFETY: there is a place for each thread, and a barrier between a write and the reads of others, both ways.
    unsafe {
        while distance > 0 {
            *scratch.add(thread as usize) = mine;
            sync_threads();
            if lane < distance && ((lane + distance) as usize) < count {
                let other = *scratch.add((thread + distance * width) as usize);
                mine = operator.combine(mine, other);
            }
            sync_threads();
            distance /= 2;
        }
    }
    mine
}
