//! # A ticket without a fence
//!
//! ## What is wrong
//! Each block writes a partial result and takes a ticket; the block with the last ticket adds up all partials. The ticket
//! is atomic, but it says nothing about the partial that was stored before it: another block may see the new ticket and the
//! old partial.
//!
//! ## The finding
//! `read after write` in global memory: the last block's load of a partial, and another block's store of it.
//!
//! ## Repair
//! A fence (`device_fence()`) before the ticket and one after it, so that a block that has seen the ticket also sees the
//! partial.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::thread::grid_dim_x;
use warpfold_kernels::prelude::*;

/// Writes the sum of one value per block to `total`.
///
/// # Safety
/// `input` and `partials` point to one value per block; `total` and `tickets` to one each, and the latter is 0.
#[kernel]
pub unsafe fn ticket_without_fence(
    input: *const i32,
    partials: *mut i32,
    tickets: *mut u32,
    total: *mut i32,
) {
    if thread_idx_x() != 0 {
        return;
    }
    let block = block_idx_x() as usize;
    let blocks = grid_dim_x();
    // SAFETY: there is one value per block in each buffer. That the partials are not ordered is the mistake.
    unsafe {
        *partials.add(block) = *input.add(block);
        let ticket = AtomicU32::from_ptr(tickets).fetch_add(1, Ordering::Relaxed);
        if ticket == blocks - 1 {
            let mut sum = 0_i32;
            for other in 0..blocks as usize {
                sum = sum.wrapping_add(*partials.add(other));
            }
            *total = sum;
        }
    }
}
