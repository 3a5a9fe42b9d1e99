// The two kernels of the course's page on even and odd, to be compiled without optimisation.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use cuda_std::kernel;
use cuda_std::thread::{block_dim_x, block_idx_x, thread_idx_x};

/// Writes 2 at every even index and 1 at every odd one, by the parity of the thread.
///
/// # Safety
/// `out` points to `n` values.
#[kernel]
pub unsafe fn even_odd_divergent(out: *mut i32, n: usize) {
    let index = (block_idx_x() * block_dim_x() + thread_idx_x()) as usize;
    let mut value = 1;
    if index % 2 == 0 {
        value = 2;
    }
    let place = if index < n { Some(unsafe { out.add(index) }) } else { None };
    if let Some(place) = place {
        unsafe { *place = value };
    }
}

/// The same by the parity of the warp.
///
/// # Safety
/// `out` points to `n` values, and a block has whole pairs of warps.
#[kernel]
pub unsafe fn even_odd_warp(out: *mut i32, n: usize) {
    let thread = (block_idx_x() * block_dim_x() + thread_idx_x()) as usize;
    let is_odd = thread / 32 % 2;
    let index = thread / 64 * 64 + 2 * (thread % 32) + is_odd;
    let mut value = 1;
    if is_odd == 0 {
        value = 2;
    }
    let place = if index < n { Some(unsafe { out.add(index) }) } else { None };
    if let Some(place) = place {
        unsafe { *place = value };
    }
}
