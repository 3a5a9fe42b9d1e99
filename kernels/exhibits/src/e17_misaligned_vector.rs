//! # A misaligned vector load
//!
//! ## What is wrong
//! Four values in one 16-byte load, from an address that is a multiple of 4 only: the values begin after a header of one
//! word. A GPU faults on it, and the whole context is lost.
//!
//! ## The finding
//! `misaligned access`, with the address and the width.
//!
//! ## Repair
//! Load single values up to the first address that is a multiple of 16, and vectors from there.

use warpfold_kernels::prelude::*;

/// Four values that are loaded at once.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Four([i32; 4]);

/// Writes for each thread the sum of four values, which follow a header of one, to `output`.
///
/// # Safety
/// `input` points to a header and four values per thread, `output` to one value per thread; the launch is one block.
#[kernel]
pub unsafe fn misaligned_vector(input: *const i32, output: *mut i32) {
    let tid = thread_idx_x() as usize;
    // SAFETY: the values are there. That their address is no multiple of 16 is the mistake.
    unsafe {
        let Four([a, b, c, d]) = *input.add(1).cast::<Four>().add(tid);
        *output.add(tid) = a.wrapping_add(b).wrapping_add(c).wrapping_add(d);
    }
}
