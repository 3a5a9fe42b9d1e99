//! # Memory access 2 · A copy with gaps
//!
//! ## Before
//! An offset costs a warp one sector in five. But the lanes of a warp were still neighbours.
//!
//! ## Idea
//! Now let them be `stride` words apart, as in a program that reads one field of a structure, or one column of a matrix
//! that is stored by rows. The warp uses fewer and fewer words of each sector, and needs more and more sectors, until every
//! lane has a sector of its own.
//!
//! ## Picture
//! The first sectors of a warp, 8 words each; `x` is copied:
//! ```text
//! stride 1   xxxxxxxx xxxxxxxx xxxxxxxx xxxxxxxx                    4 sectors
//! stride 2   x.x.x.x. x.x.x.x. x.x.x.x. x.x.x.x. x.x.x.x. …         8 sectors
//! stride 8   x....... x....... x....... x....... x....... …        32 sectors
//! ```
//!
//! ## Cost
//! For each whole warp one load and one store, each of 4 · stride sectors up to a stride of 8, and of 32 for larger
//! strides.
//!
//! ## Observe
//! The command counts the sectors per request for each stride from 1 to 32, and the useful bytes of a sector.
//!
//! **Predict.** From stride 1 to 8 the sectors of a request become eight times as many. What becomes of them from
//! stride 8 to 32, and of the useful bytes of a sector?
//! ```console
//! $ warpfold profile copy_stride -n 2^16 --metrics global_load_sectors_per_request,global_useful_bytes_per_sector
//! ...
//! copy_stride, block 512, stride 1      4.00   32.00
//! copy_stride, block 512, stride 2      8.00   16.00
//! ...
//! copy_stride, block 512, stride 4     16.00    8.00
//! ...
//! copy_stride, block 512, stride 8     32.00    4.00
//! ...
//! copy_stride, block 512, stride 32    32.00    4.00
//! ...
//! ```
//! On a GPU `warpfold run copy_stride -n 2^26 --set stride=8 --device gpu` takes nearly as long as with a stride of 2, although it
//! copies a quarter of the elements: the time follows the sectors.
//!
//! `warpfold sweep copy_stride --svg stride.svg` draws the sectors per request over the strides, and on a GPU the bandwidth.
//!
//! ## Break it
//! Load whole structures, 8 words per lane in two 16-byte loads, and pick the field afterwards: now every byte of each
//! sector is used.
//!
//! ## Source
//! Mark Harris, *How to Access Global Memory Efficiently in CUDA C/C++ Kernels* (NVIDIA, 2013), `stride`.

use crate::prelude::*;

/// Copies the elements 0, `stride`, 2·`stride` … to the same places.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `output` to `n` that nothing else touches.
/// - The grid has ⌈n ∕ (B · stride)⌉ blocks or more in one dimension.
#[kernel]
pub unsafe fn copy_stride(input: *const i32, output: *mut i32, n: usize, stride: u32) {
    let index = global_index() * stride as usize;
    if index < n {
        // SAFETY: the index is below n, and is this thread's alone.
        unsafe { *output.add(index) = *input.add(index) };
    }
}
