//! # A warp barrier for half the warp
//!
//! ## What is wrong
//! There is a warp barrier between the store and the load, but each half of the warp waits only for itself, and reads what
//! the other half has stored.
//!
//! ## The finding
//! `read after write` between lanes of the two halves.
//!
//! ## Repair
//! Name all lanes that exchange values in one mask: `u32::MAX` here.

use cuda_std::warp;
use warpfold_kernels::prelude::*;

/// Swaps the halves of 32 values.
///
/// # Safety
/// `input` and `output` point to 32 values each; the launch is one block of 32 threads.
#[kernel]
pub unsafe fn warp_barrier_too_narrow(input: *const i32, output: *mut i32) {
    let lane = thread_idx_x();
    let tile = shared_array!(tile: [i32; 32]);
    let half = 0xffff << (lane & 16);
    // SAFETY: all indices are below 32, and each lane is in its mask. That the mask is too narrow is the mistake.
    unsafe {
        *tile.add(lane as usize) = *input.add(lane as usize);
        warp::sync_warp(half);
        *output.add(lane as usize) = *tile.add((lane ^ 16) as usize);
    }
}
