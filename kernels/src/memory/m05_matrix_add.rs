//! # Memory access 5 · Two dimensions
//!
//! ## Before
//! Every grid so far was a row of blocks, and every block a row of threads. A matrix has rows and columns.
//!
//! ## Idea
//! A grid may have them too, and so may a block: each has up to three dimensions. Here a block is 32 threads wide and B ∕ 32
//! high, and thread (x, y) of block (i, j) owns column 32 · i + x of row (B ∕ 32) · j + y. The dimensions are a convenience
//! of the index and nothing else: memory is one row of words, and a warp is still 32 consecutive threads, whose x runs from 0
//! to 31. Since a block is as wide as a warp, each of its rows is one warp, and the lanes of a warp touch neighbouring words.
//!
//! ## Picture
//! A matrix of 50 columns and 20 rows, under blocks of 32 × 8 threads:
//! ```text
//!            x 0 … 31            x 32 … 63
//! y 0 … 7    block (0, 0)        block (1, 0)   18 columns wide
//! y 8 … 15   block (0, 1)        block (1, 1)
//! y 16 … 23  block (0, 2)        block (1, 2)
//!            4 rows high
//! ```
//!
//! ## Cost
//! For each whole warp two loads and one store, of 4 sectors each if the row begins with a sector, otherwise of 5.
//!
//! ## Observe
//! In the PTX: `%ctaid.y` and `%tid.y`. A matrix of 1024 columns:
//! ```console
//! $ warpfold profile matrix_add -n 2^20 --metrics global_load_sectors_per_request
//! ...
//! global_load_sectors_per_request         4.00
//! ...
//! ```
//! **Predict.** With 1025 columns, do all requests take 5 sectors?
//! ```console
//! $ warpfold profile matrix_add -n 1050625 --metrics global_load_sectors_per_request
//! ...
//! global_load_sectors_per_request         4.76
//! ...
//! ```
//! Not all: every eighth row still begins with a sector, and the last column is a request of one sector. But the
//! other rows begin anywhere, and there are more sectors per request. A pitch, or padding, avoids that.
//!
//! ## Break it
//! Use x for the row and y for the column: exchange the two before the index is made. The sums are still right, but every lane of a warp
//! has a sector of its own:
//! ```console
//! $ warpfold try matrix_add --profile -n 2^16 --metrics global_load_sectors_per_request
//! ...
//! global_load_sectors_per_request        32.00
//! ...
//! ```
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on the thread hierarchy, `MatAdd`.

use cuda_std::thread::{block_dim_y, block_idx_y, thread_idx_y};

use crate::prelude::*;

/// Adds two matrices of `n` elements, stored row after row, `columns` in each; the last row may be shorter.
///
/// # Safety
/// - `left` and `right` point to `n` values that nothing writes, and `sum` to `n` that nothing else touches.
/// - The grid covers the columns by its x dimension and the rows by its y dimension.
#[kernel]
pub unsafe fn matrix_add(
    left: *const i32,
    right: *const i32,
    sum: *mut i32,
    columns: usize,
    n: usize,
) {
    let column = global_index();
    let row = block_idx_y() as usize * block_dim_y() as usize + thread_idx_y() as usize;
    let index = row * columns + column;
    // `&` and not `&&`: testing both is cheaper than branching twice.
    if (column < columns) & (index < n) {
        // SAFETY: the index is below n; its row and its column are this thread's alone.
        unsafe { *sum.add(index) = (*left.add(index)).wrapping_add(*right.add(index)) };
    }
}
