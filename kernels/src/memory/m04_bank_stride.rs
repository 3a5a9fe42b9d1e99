//! # Memory access 4 · Bank conflicts
//!
//! ## Before
//! Shared memory has no sectors, and the page before read it backwards at no cost. It has a weakness of its own.
//!
//! ## Idea
//! Shared memory consists of 32 *banks*. Word w is in bank w mod 32, and each bank delivers one word at a time. A warp
//! whose lanes want words of 32 different banks is served in one turn, a *wavefront*. Lanes that want different words of
//! one bank wait for each other: a conflict.
//!
//! Let lane l use word l · stride. With an odd stride the 32 lanes use 32 banks. With an even one they use only 32 ∕
//! gcd(stride, 32) of them, and gcd(stride, 32) lanes queue at each. This is what happens when a warp goes down one column
//! of a matrix in shared memory with 32 rows of `stride` words, and why programmers pad such a matrix to 33 words per row.
//!
//! ## Picture
//! Which bank each lane wants:
//! ```text
//! lane         0   1   2   3   4 … 15  16  17 … 31
//! stride 1     0   1   2   3   4 … 15  16  17 … 31     1 lane a bank:   1 wavefront
//! stride 2     0   2   4   6   8 … 30   0   2 … 30     2 lanes a bank:  2 wavefronts
//! stride 3     0   3   6   9  12 … 13  16  19 … 29     1 lane a bank:   1 wavefront
//! stride 32    0   0   0   0   0 …  0   0   0 …  0    32 lanes a bank: 32 wavefronts
//! ```
//!
//! ## Cost
//! For one whole block: B ∕ 32 shared stores and as many loads, each of gcd(stride, 32) wavefronts, of which one is needed
//! and the others are conflicts; one barrier; 8064 bytes of shared memory.
//!
//! ## Observe
//! The command counts the wavefronts for each stride from 1 to 32.
//!
//! **Predict.** At stride 1 the 2,048 loads of warps take a wavefront each. How many do they take at stride 4, at
//! stride 31 and at stride 32?
//! ```console
//! $ warpfold profile bank_stride -n 2^16 --metrics shared_load_wavefronts,shared_store_wavefronts
//! ...
//! bank_stride, block 512, stride 1        2,048       2,048
//! bank_stride, block 512, stride 2        4,096       4,096
//! bank_stride, block 512, stride 3        2,048       2,048
//! bank_stride, block 512, stride 4        8,192       8,192
//! ...
//! bank_stride, block 512, stride 8       16,384      16,384
//! ...
//! bank_stride, block 512, stride 16      32,768      32,768
//! ...
//! bank_stride, block 512, stride 31       2,048       2,048
//! bank_stride, block 512, stride 32      65,536      65,536
//! ...
//! ```
//! All above 2,048 are conflicts. For strides 1, 2, 3 … a load has 0, 1, 0, 3, 0, 1, 0, 7 … 31 of them, and so has
//! a store.
//!
//! `warpfold sweep bank_stride --svg stride.svg` draws the conflicts per request over the strides, and on a GPU the bandwidth.
//!
//! ## Break it
//! Turn the matrix round in `slot`: `matrix * WARP_SIZE * stride + column * WARP_SIZE + lane`. A warp then has a row, and its lanes neighbouring
//! banks, whatever the stride:
//! ```console
//! $ warpfold try bank_stride --profile -n 2^14 --set stride=32 --metrics shared_wavefronts,shared_wavefronts_excessive
//! ...
//! shared_wavefronts                  1,024
//! shared_wavefronts_excessive            0
//! ...
//! ```
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on shared memory and strided accesses; Mark Harris, *Optimizing Parallel Reduction in
//! CUDA* (2007), whose second kernel has these conflicts and whose third has none.

use crate::prelude::*;

/// Words of the shared array, enough for every block and every stride: see [`slot`].
const SLOTS: u32 = 1024 + 31 * WARP_SIZE;

/// Reverses each block's tile of B elements in place, with `stride` words between the elements of neighbouring lanes in
/// shared memory. The last tile may have fewer elements.
///
/// # Safety
/// - `values` points to `n` values that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, B is at most 1024, and `stride` is 1 to 32.
#[kernel]
pub unsafe fn bank_stride(values: *mut i32, n: usize, stride: u32) {
    let tid = thread_idx_x();
    let block = block_dim_x();
    let tile = shared_array!(tile: [i32; SLOTS]);
    // SAFETY: the caller's promise. Without this the kernel would test for a division by 0.
    unsafe { core::hint::assert_unchecked(stride > 0) };
    let start = block_idx_x() as usize * block as usize;
    let count = (n - start).min(block as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; threads have different slots,
    // below `SLOTS`, and each is read only after the barrier.
    unsafe {
        let mine = values.add(start + tid as usize);
        if tid < count {
            *tile.add(slot(tid, stride) as usize) = *mine;
        }
        sync_threads();
        if tid < count {
            *mine = *tile.add(slot(count - 1 - tid, stride) as usize);
        }
    }
}

/// The place in shared memory of a thread's element. `stride` warps fill a matrix of 32 rows and `stride` columns: a lane has
/// a row, a warp a column; the next `stride` warps fill the next matrix. The last matrix may lack up to 31 columns.
#[inline(always)]
fn slot(thread: u32, stride: u32) -> u32 {
    let (warp, lane) = (thread / WARP_SIZE, thread % WARP_SIZE);
    let (matrix, column) = (warp / stride, warp % stride);
    (matrix * WARP_SIZE + lane) * stride + column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_different_slots_in_the_array() {
        for stride in 1..=32 {
            let mut slots: [u32; 1024] = core::array::from_fn(|thread| slot(thread as u32, stride));
            slots.sort_unstable();
            assert!(slots.is_sorted_by(|left, right| left < right), "{stride}");
            assert!(slots[1023] < SLOTS, "{stride}");
        }
    }
}
