//! Rows, in the fixed order.

use super::order::{CHUNK, finish, tree, within_thread, within_warp};
use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::rows::Rows;
use crate::thread::{block_idx_x, global_index, grid_dim_x, sync_threads, thread_idx_x};
use crate::unroll::array;
use crate::vector::Share;

/// The values of the longest row that [`by_warps`] reduces.
pub const SHORT: usize = ROUNDS * WARP_SIZE as usize;

/// Slots of a lane of a warp.
const ROUNDS: usize = 8;

/// Reduces each row of a matrix by a block for each chunk; the last of a row's blocks to come combines those of its chunks.
///
/// # Safety
/// - Every thread of the grid makes the call, once, those of a row of blocks with the same arguments. A block has [`BLOCK`](super::BLOCK) threads.
/// - Nothing writes the rows; `results` points to one result per row, which nothing else touches.
/// - If a row has more values than a chunk, `states` points to one state for each chunk of each row, and `counters` to a word per row that
///   is 0; nothing else touches them. The counters are 0 again afterwards.
/// - `scratch` points to [`BLOCK`](super::BLOCK) states in shared memory, which the block uses for nothing else.
#[inline(always)]
pub unsafe fn by_blocks<T: Copy, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    states: *mut O::State,
    counters: *mut u32,
    results: *mut O::Output,
    scratch: *mut O::State,
) {
    let chunks = if matrix.columns <= CHUNK {
        1
    } else {
        matrix.columns.div_ceil(CHUNK)
    };
    let mut place = block_idx_x() as usize;
    while place < matrix.rows * chunks {
        let (row, chunk) = if chunks == 1 {
            (place, 0)
        } else {
            (place / chunks, place % chunks)
        };
        let first = chunk * CHUNK;
        let left = matrix.columns - first;
        let count = if left < CHUNK { left } else { CHUNK };
        // SAFETY: the caller's promise; between two uses of the scratch memory there is a barrier.
        unsafe {
            let values = matrix.input.add(row * matrix.stride + first);
            let of_chunk = tree(operator, count, scratch, |value| {
                operator.lift(*values.add(value), (first + value) as u64)
            });
            let of_row = if chunks == 1 {
                (thread_idx_x() == 0).then_some(of_chunk)
            } else {
                finish(
                    operator,
                    of_chunk,
                    chunk,
                    chunks,
                    states.add(row * chunks),
                    counters.add(row),
                    scratch,
                )
            };
            if let Some(state) = of_row {
                *results.add(row) = operator.finish(state, matrix.columns as u64);
            }
        }
        sync_threads();
        place += grid_dim_x() as usize;
    }
}

/// Reduces each row of up to [`SHORT`] values by `lanes` lanes of a warp.
///
/// # Safety
/// - Every thread of the grid makes the call, once, those of a row of blocks with the same arguments. The size of a block is a multiple of 32, and `lanes` a power
///   of two: 32, or as many as a row has values or more.
/// - Nothing writes the rows; `results` points to one result per row, which nothing else touches.
#[inline(always)]
pub unsafe fn by_warps<T: Copy, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    lanes: u32,
    results: *mut O::Output,
) {
    let lane = thread_idx_x() % WARP_SIZE;
    let (section, slot) = (lane / lanes, lane % lanes);
    let at_once = (WARP_SIZE / lanes) as usize;
    let warps = Share::of_grid().of / WARP_SIZE as usize;
    let columns = matrix.columns as u32;
    let mut first = global_index() / WARP_SIZE as usize * at_once;
    while first < matrix.rows {
        let row = first + section as usize;
        let is_there = row < matrix.rows;
        // SAFETY: the caller's promise; the whole warp makes the calls, and reads values of rows that there are.
        unsafe {
            let values = matrix
                .input
                .add(if is_there { row } else { first } * matrix.stride);
            let of_slots: [O::State; ROUNDS] = array(|round| {
                let value = slot + round as u32 * WARP_SIZE;
                if value < columns {
                    operator.lift(*values.add(value as usize), u64::from(value))
                } else {
                    operator.identity()
                }
            });
            let mine = within_thread(operator, of_slots, slot, WARP_SIZE, columns);
            let state = within_warp(operator, mine, slot, lanes / 2, columns);
            if slot == 0 && is_there {
                *results.add(row) = operator.finish(state, u64::from(columns));
            }
        }
        first += warps * at_once;
    }
}
