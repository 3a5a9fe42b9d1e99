//! # All lanes store to one word
//!
//! ## What is wrong
//! Every lane that finds a value above the limit writes its index to the same word. One of the stores remains, and the
//! hardware chooses which.
//!
//! ## The finding
//! `write after write` of two lanes by one instruction.
//!
//! ## Repair
//! Say which one is wanted: `AtomicU32::fetch_min` for the first, or a ballot and the lowest bit of it.

use warpfold_kernels::prelude::*;

/// Writes the index of a value above `limit` to `index`.
///
/// # Safety
/// `input` points to one value per thread, `index` to one value; the launch is one block.
#[kernel]
pub unsafe fn all_lanes_one_word(input: *const i32, index: *mut u32, limit: i32) {
    let tid = thread_idx_x();
    // SAFETY: there is one value per thread. That several threads store is the mistake.
    unsafe {
        if *input.add(tid as usize) > limit {
            *index = tid;
        }
    }
}
