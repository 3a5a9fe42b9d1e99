//! # A lost update
//!
//! ## What is wrong
//! Every block adds its element to one total: load, add, store. Two blocks that load the same total both store it with only
//! their own element added, and one of the two additions is lost.
//!
//! ## The finding
//! Two races between blocks: `read after write`, the load of one and the store of another; and `write after write`.
//!
//! ## Repair
//! One atomic addition: `AtomicI32::from_ptr(total).fetch_add(value, Relaxed)`.

use warpfold_kernels::prelude::*;

/// Adds one value per block to `total`.
///
/// # Safety
/// `input` points to one value per block, `total` to one value.
#[kernel]
pub unsafe fn lost_update(input: *const i32, total: *mut i32) {
    if thread_idx_x() == 0 {
        // SAFETY: there is one value per block. That the blocks are not ordered is the mistake.
        unsafe {
            let value = *input.add(block_idx_x() as usize);
            *total = (*total).wrapping_add(value);
        }
    }
}
