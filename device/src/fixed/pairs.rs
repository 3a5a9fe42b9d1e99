//! The pairs of two arrays, in the fixed order.

use super::order::{CHUNK, finish, tree};
use crate::operator::Operator;
use crate::thread::{block_idx_x, grid_dim_x, sync_threads, thread_idx_x};

/// Reduces the pairs of two arrays by a block for each chunk; the last block to come combines the chunks.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. A block has [`BLOCK`](super::BLOCK) threads.
/// - `left` and `right` point to `n` values each, which nothing writes, and `result` to one result, which nothing else touches.
/// - If there are more values than a chunk, `states` points to one state for each chunk, and `counter` to a word that is 0; nothing
///   else touches them. The counter is 0 again afterwards.
/// - `scratch` points to [`BLOCK`](super::BLOCK) states in shared memory, which the block uses for nothing else.
#[inline(always)]
pub unsafe fn pairs<T: Copy, O: Operator<(T, T)>>(
    operator: O,
    [left, right]: [*const T; 2],
    n: usize,
    states: *mut O::State,
    counter: *mut u32,
    result: *mut O::Output,
    scratch: *mut O::State,
) {
    let chunks = if n <= CHUNK { 1 } else { n.div_ceil(CHUNK) };
    let mut chunk = block_idx_x() as usize;
    while chunk < chunks {
        let first = chunk * CHUNK;
        let rest = n - first;
        let count = if rest < CHUNK { rest } else { CHUNK };
        // SAFETY: the caller's promise; between two uses of the scratch memory there is a barrier.
        unsafe {
            let of_chunk = tree(operator, count, scratch, |value| {
                let place = first + value;
                operator.lift((*left.add(place), *right.add(place)), place as u64)
            });
            let of_all = if chunks == 1 {
                (thread_idx_x() == 0).then_some(of_chunk)
            } else {
                finish(operator, of_chunk, chunk, chunks, states, counter, scratch)
            };
            if let Some(state) = of_all {
                *result = operator.finish(state, n as u64);
            }
        }
        sync_threads();
        chunk += grid_dim_x() as usize;
    }
}
