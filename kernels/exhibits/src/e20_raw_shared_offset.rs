//! # A shared offset as a pointer
//!
//! ## What is wrong
//! The address that a `.shared` symbol has in PTX is an offset in shared memory. A Rust pointer is a generic address, and
//! at the generic address of that number there is nothing: the conversion is missing.
//!
//! ## The finding
//! `shared offset as a pointer`, with what to do about it.
//!
//! ## Repair
//! `cvta.shared.u64` after the `mov`, as in `shared_array!`.

use warpfold_kernels::prelude::*;

/// The number of the tile's first byte in shared memory.
#[cfg(target_arch = "nvptx64")]
fn tile_offset() -> *mut i32 {
    let offset: *mut i32;
    // SAFETY: declaring an array and taking its offset touches no memory.
    unsafe {
        core::arch::asm!(
            ".shared .align 16 .b8 tile[256];",
            "mov.u64 {offset}, tile;",
            offset = out(reg64) offset,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    offset
}

/// On the host there is no shared memory.
#[cfg(not(target_arch = "nvptx64"))]
fn tile_offset() -> *mut i32 {
    shared_array!(tile: [i32; 64])
}

/// Reverses 64 values.
///
/// # Safety
/// `values` points to 64 values; the launch is one block of 64 threads.
#[kernel]
pub unsafe fn raw_shared_offset(values: *mut i32) {
    let tid = thread_idx_x() as usize;
    let tile = tile_offset();
    // SAFETY: all indices are below 64. That the tile's address is no pointer is the mistake.
    unsafe {
        *tile.add(63 - tid) = *values.add(tid);
        sync_threads();
        *values.add(tid) = *tile.add(tid);
    }
}
