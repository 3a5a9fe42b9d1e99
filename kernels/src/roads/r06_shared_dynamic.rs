//! # Other roads 6 · One block, memory by the launch
//!
//! ## Before
//! `strided` runs its tree in global memory, and overwrites its input. The ladder's step 8 uses shared memory instead, but
//! needs one kernel for each block size, because the length of its array is part of the program.
//!
//! ## Idea
//! *Dynamic* shared memory: the kernel says only that it uses some, and the launch says how much, so one kernel serves
//! every block size. The first step needs no memory at all: each thread adds its two elements as it loads them, and stores
//! the sum.
//!
//! ## Picture
//! ```text
//! global   2·B elements        thread tid adds elements tid and tid + B
//!               │
//! shared   B sums              strides B/2 … 1
//!               │
//! global   total
//! ```
//!
//! ## Cost
//! Over 2B elements: 2B global loads, one global store; 2B − 1 shared loads and as many shared stores; log₂ B + 1
//! barriers; 4B bytes of shared memory.
//!
//! ## Observe
//! In the PTX: `.extern .shared .align 16 .b8 _Zcuda_std_dyn_shared[]`, an array without a length.
//!
//! **Predict.** `strided` moves 12,284 bytes of global memory for 1024 elements. How many does this kernel move?
//! ```console
//! $ warpfold profile strided shared_dynamic -n 1024 --metrics global_bytes,shared_wavefronts
//! ...
//! metric               strided  shared_dynamic
//! ...
//! global_bytes          12,284           4,100
//! shared_wavefronts          0              77
//! ...
//! ```
//! A third of the bytes: each element once, and the total.
//!
//! ## Break it
//! Launch it with half of the memory that a block of 128 threads needs. The first thread of the upper half faults:
//! ```console
//! $ warpfold emulate kernels/ptx/kernels.sm_80.ptx --kernel shared_dynamic --grid 1 --block 128 --shared 256 \
//!       --arg buf:i32:iota:256 --arg buf:i32:zeros:1 --arg u64:256
//! warpfold: store of 4 bytes out of bounds at shared address 0x100 (that memory has 256 bytes), in kernel `shared_dynamic`, block (0, 0, 0), thread (64, 0, 0), ...
//! ...
//! ```
//!
//! ## Source
//! Kirk, El Hajj, Hwu, *Programming Massively Parallel Processors* (4th edition, 2022), chapter 10, the shared memory sum
//! reduction kernel; NVIDIA, *CUDA C++ Programming Guide*, on `extern __shared__`.

use cuda_std::shared::dynamic_shared_mem;

use crate::ladder::l08_complete_unroll_shared::shared_step;
use crate::prelude::*;

/// Writes the sum of up to 2·B elements to `total`.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, at least 1 and at most 2·B, and `total` to one that nothing else
///   touches.
/// - The launch is one block of a power of two B of threads, 64 to 1024, with 4·B bytes of dynamic shared memory.
#[kernel]
pub unsafe fn shared_dynamic(input: *const i32, total: *mut i32, n: usize) {
    let sums = dynamic_shared_mem::<i32>();
    // SAFETY: the caller's promise; the shared memory has one element per thread, and every thread makes the calls.
    unsafe {
        let sum = shared_tree(sums, sum_of_pair(input, n as u32));
        if thread_idx_x() == 0 {
            *total = sum;
        }
    }
}

/// The sum of the thread's two elements, which are B apart, as far as they exist.
///
/// # Safety
/// `segment` points to `count` elements.
#[inline(always)]
pub unsafe fn sum_of_pair(segment: *const i32, count: u32) -> i32 {
    let first = thread_idx_x();
    let second = first + block_dim_x();
    // SAFETY: either index is below `count` where it is used.
    unsafe {
        let a = if first < count {
            *segment.add(first as usize)
        } else {
            0
        };
        let b = if second < count {
            *segment.add(second as usize)
        } else {
            0
        };
        a.wrapping_add(b)
    }
}

/// The sum of the values of the block's threads, in every thread.
///
/// Before the memory is used again the caller needs a barrier: a thread may still be reading the sum.
///
/// # Safety
/// `sums` points to one element per thread that only this block touches, and every thread of the block makes the call.
#[inline(always)]
pub unsafe fn shared_tree(sums: *mut i32, value: i32) -> i32 {
    // SAFETY: each element is written before the first barrier; an index below the stride plus the stride is within the
    // block, and the stride is the same in every thread.
    unsafe {
        *sums.add(thread_idx_x() as usize) = value;
        sync_threads();
        let mut stride = block_dim_x() / 2;
        while stride > 0 {
            shared_step(sums, stride);
            stride /= 2;
        }
        *sums
    }
}
