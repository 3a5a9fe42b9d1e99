//! Convicted by: result
//! Blocks that are not full are left out: n is taken for a multiple of the block.

use crate::prelude::*;

/// Multiplies each of `n` numbers by 3, one thread for each.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads.
#[kernel]
pub unsafe fn scale(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    let block_end = (block_idx_x() as usize + 1) * block_dim_x() as usize;
    if block_end <= n {
        // SAFETY: the whole block is in bounds.
        unsafe { *output.add(index) = 3 * *input.add(index) };
    }
}
