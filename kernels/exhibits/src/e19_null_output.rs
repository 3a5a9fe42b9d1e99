//! # A null pointer
//!
//! ## What is wrong
//! An output that not every caller wants, and may leave out by passing null; the kernel stores to it all the same.
//!
//! ## The finding
//! `null pointer`, with the access.
//!
//! ## Put right
//! `if !count.is_null()`.

use warpfold_kernels::prelude::*;

/// Leaves the sum of two values in `sum`, and their number in `count`.
///
/// # Safety
/// `input` points to two values, `sum` to one, and `count` to one or nowhere.
#[kernel]
pub unsafe fn null_output(input: *const i32, sum: *mut i32, count: *mut u32) {
    if thread_idx_x() == 0 {
        // SAFETY: two values are there to be read, and one to be written. That `count` may be null is the mistake.
        unsafe {
            *sum = (*input).wrapping_add(*input.add(1));
            *count = 2;
        }
    }
}
