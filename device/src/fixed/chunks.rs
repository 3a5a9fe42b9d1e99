//! Chunks by themselves, for arrays that several devices have parts of: the states of all chunks are combined where they meet.

use super::order::{CHUNK, tree};
use crate::operator::Operator;
use crate::thread::{block_idx_x, grid_dim_x, sync_threads, thread_idx_x};

/// Writes the state of each chunk of `n` values, the first of which has the index `first`.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. A block has [`BLOCK`](super::BLOCK) threads.
/// - `input` points to `n` values, which nothing writes, and `states` to one state for each chunk, which nothing else touches.
/// - `scratch` points to [`BLOCK`](super::BLOCK) states in shared memory, which the block uses for nothing else.
#[inline(always)]
pub unsafe fn states_of_chunks<T: Copy, O: Operator<T>>(
    operator: O,
    input: *const T,
    n: usize,
    first: u64,
    states: *mut O::State,
    scratch: *mut O::State,
) {
    let chunks = n.div_ceil(CHUNK);
    let mut chunk = block_idx_x() as usize;
    while chunk < chunks {
        let before = chunk * CHUNK;
        let rest = n - before;
        let count = if rest < CHUNK { rest } else { CHUNK };
        // SAFETY: the caller's promise; between two uses of the scratch memory there is a barrier.
        unsafe {
            let of_chunk = tree(operator, count, scratch, |value| {
                let place = before + value;
                operator.lift(*input.add(place), first.wrapping_add(place as u64))
            });
            if thread_idx_x() == 0 {
                *states.add(chunk) = of_chunk;
            }
        }
        sync_threads();
        chunk += grid_dim_x() as usize;
    }
}

/// Writes the result of all `n` values from the states of their chunks, in their order. One block does it.
///
/// # Safety
/// - Every thread of the grid, of one block of [`BLOCK`](super::BLOCK) threads, makes the call, once, with the same arguments.
/// - `states` points to `chunks` states, which nothing writes, and `result` to one result, which nothing else touches.
/// - `scratch` as for [`states_of_chunks`].
#[inline(always)]
pub unsafe fn of_chunks<T, O: Operator<T>>(
    operator: O,
    states: *const O::State,
    chunks: usize,
    n: usize,
    result: *mut O::Output,
    scratch: *mut O::State,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let all = tree(operator, chunks, scratch, |chunk| *states.add(chunk));
        if thread_idx_x() == 0 {
            *result = operator.finish(all, n as u64);
        }
    }
}
