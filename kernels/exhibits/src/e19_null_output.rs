//! # A null pointer
//!
//! ## What is wrong
//! A caller may leave out an output by passing null, but the kernel stores to it unconditionally.
//!
//! ## The finding
//! `null pointer`, with the access.
//!
//! ## Repair
//! `if !count.is_null()`.

use warpfold_kernels::prelude::*;

/// Writes the sum of two values to `sum`, and their number to `count`.
///
/// # Safety
/// `input` points to two values, `sum` to one, and `count` to one or is null.
#[kernel]
pub unsafe fn null_output(input: *const i32, sum: *mut i32, count: *mut u32) {
    if thread_idx_x() == 0 {
        // SAFETY: there are two values to read and one to write. That `count` may be null is the mistake.
        unsafe {
            *sum = (*input).wrapping_add(*input.add(1));
            *count = 2;
        }
    }
}
