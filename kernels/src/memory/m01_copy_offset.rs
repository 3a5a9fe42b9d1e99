//! # Memory access 1 · A misaligned copy
//!
//! ## Before
//! Step 3 of the ladder is faster because neighbouring threads touch neighbouring words. Does it matter where these words
//! begin?
//!
//! ## Idea
//! Global memory is moved in *sectors* of 32 bytes, 8 words. A warp that loads 32 neighbouring words asks for 4 sectors if
//! they begin with a sector, and for 5 if they begin anywhere else: it uses only part of the first and the last. So copy
//! the elements from some offset on, and count.
//!
//! ## Picture
//! One warp, one letter per sector, a sector being 8 words:
//! ```text
//! offset 0   aaaaaaaa bbbbbbbb cccccccc dddddddd              4 sectors
//! offset 3      aaaaa bbbbbbbb cccccccc dddddddd eee          5 sectors
//! offset 8            bbbbbbbb cccccccc dddddddd eeeeeeee     4 sectors
//! ```
//!
//! ## Cost
//! For each whole warp one load and one store, each of 4 sectors if the offset is a multiple of 8, else of 5.
//!
//! ## Observe
//! The command counts the sectors per request for each offset from 0 to 32.
//!
//! **Predict.** From offset 0 to 1 the sectors of a request rise from 4 to 5. Do they go on rising up to offset 7,
//! and what comes at offset 8?
//! ```console
//! $ warpfold profile copy_offset -n 2^16 --metrics global_load_sectors_per_request
//! ...
//! copy_offset, block 512, offset 0      4.00
//! copy_offset, block 512, offset 1      5.00
//! ...
//! copy_offset, block 512, offset 7      5.00
//! copy_offset, block 512, offset 8      4.00
//! copy_offset, block 512, offset 9      5.00
//! ...
//! ```
//! `warpfold sweep copy_offset --svg offset.svg` draws them, and on a GPU the bandwidth.
//!
//! On a GPU a copy that is a little misaligned is hardly slower. The sector that one warp uses in part is in the cache when its
//! neighbour asks for the rest; but the additional requests remain.
//!
//! ## Break it
//! Copy `i16` values: 32 of them are 64 bytes, 2 sectors or 3. The misaligned copy now moves half as much again as it
//! needs.
//!
//! ## Source
//! Mark Harris, *How to Access Global Memory Efficiently in CUDA C/C++ Kernels* (NVIDIA, 2013), `offset`.

use crate::prelude::*;

/// Copies the elements from `offset` on to the same places.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `output` to `n` that nothing else touches.
/// - The grid has ⌈(n − offset) ∕ B⌉ blocks or more in one dimension.
#[kernel]
pub unsafe fn copy_offset(input: *const i32, output: *mut i32, n: usize, offset: u32) {
    let index = global_index() + offset as usize;
    if index < n {
        // SAFETY: the index is below n, and is this thread's alone.
        unsafe { *output.add(index) = *input.add(index) };
    }
}
