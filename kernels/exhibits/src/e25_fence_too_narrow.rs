//! # A fence for the wrong audience
//!
//! ## What is wrong
//! One block writes a value, makes a fence, and sets a flag; another waits for the flag, makes a fence, and reads the value.
//! Both fences are for the block that makes them. They order nothing for anybody else, so that the reader may find the flag
//! new and the value old.
//!
//! ## The finding
//! `read after write` in global memory: the reader's load of the value, and the writer's store of it. The last line says that
//! the fence counts for one block only.
//!
//! ## Repair
//! `device_fence()` on both sides. The lesson `fence_scopes` has each scope in its place.

use core::sync::atomic::{AtomicU32, Ordering};
use warpfold_kernels::prelude::*;

/// Hands `input` from the block that begins first to the other, which writes it to `seen`.
///
/// # Safety
/// All pointers point to one value each; `tickets` and `flag` are 0. The grid has two blocks.
#[kernel]
pub unsafe fn fence_too_narrow(
    input: *const i32,
    value: *mut i32,
    flag: *mut u32,
    tickets: *mut u32,
    seen: *mut i32,
) {
    if thread_idx_x() != 0 {
        return;
    }
    // SAFETY: all pointers are valid by the contract. That the fences do not reach the other block is the mistake.
    unsafe {
        let ticket = AtomicU32::from_ptr(tickets).fetch_add(1, Ordering::Relaxed);
        if ticket == 0 {
            *value = *input;
            block_fence();
            store_relaxed(flag, 1);
        } else {
            while load_relaxed(flag) == 0 {}
            block_fence();
            *seen = *value;
        }
    }
}
