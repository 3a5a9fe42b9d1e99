//! # Read-only, but written
//!
//! ## What is wrong
//! Threads write to a table, meet at a barrier, and read it by read-only loads (`ld.global.nc`). Such a load promises that
//! nobody writes the word *as long as the kernel runs*. It may come from a cache that has not noticed the store, and the
//! barrier makes no difference to that.
//!
//! ## The finding
//! `read-only load of what is written` in global memory: the load, and the store of another thread, or of the same.
//!
//! ## Repair
//! An ordinary load; or two kernels, one that writes the table and one that reads it.

use warpfold_kernels::prelude::*;

/// Doubles each value in `table`, and writes to `output` what the neighbour then has.
///
/// # Safety
/// `table` and `output` point to one value per thread; the grid has one block.
#[kernel]
pub unsafe fn read_only_but_written(table: *mut i32, output: *mut i32) {
    let tid = thread_idx_x() as usize;
    // SAFETY: there is a value for each thread. That the table is written in the same kernel is the mistake.
    unsafe {
        *table.add(tid) *= 2;
        sync_threads();
        *output.add(tid) = load_read_only(table.add(tid ^ 1));
    }
}
