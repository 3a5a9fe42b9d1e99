//! The kernels. `../build.rs` compiles them to PTX.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use cuda_std::kernel;
use warpfold_device::operator::Sum;
use warpfold_device::thread::{block_dim_x, block_idx_x, global_index, grid_dim_x, thread_idx_x};
use warpfold_device::{block, scratch};

/// The sum of the squared differences of two vectors, in parts: each block writes the sum of its own share.
///
/// # Safety
/// `left` and `right` point to `n` values each, and `parts` to one value for each block. A block has at most 1024 threads.
#[kernel]
pub unsafe fn squared_distance(left: *const f32, right: *const f32, n: usize, parts: *mut f32) {
    let scratch = scratch!(scratch: f32, 1024);
    let threads = (grid_dim_x() * block_dim_x()) as usize;
    let mut sum = 0.0;
    // Neighbouring threads read neighbouring values. Then the whole grid moves on.
    let mut index = global_index();
    while index < n {
        // SAFETY: the index is below n.
        let difference = unsafe { *left.add(index) - *right.add(index) };
        sum += difference * difference;
        index += threads;
    }
    // SAFETY: every thread of the block makes the call, once; and one thread writes the block's part.
    unsafe {
        let sum = block::reduce(Sum, sum, scratch);
        if thread_idx_x() == 0 {
            *parts.add(block_idx_x() as usize) = sum;
        }
    }
}
