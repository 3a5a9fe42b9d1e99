//! Convicted by: races
//! The first thread does not wait for the sums of the other warps.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 128;
/// Threads of a warp.
const WARP: usize = WARP_SIZE as usize;
/// Pairs of a block.
const TILE: usize = 2048;

/// Four numbers that one instruction loads, at an address that is a multiple of 16.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Vector([f32; 4]);

/// Writes to `partials` for each block the dot product of its 2048 pairs; the last block may have fewer.
///
/// # Safety
/// `left` and `right` point to `n` numbers each, at addresses that are alike mod 16; `partials` to one for each block. A block has 128
/// threads; there are enough blocks for all pairs.
#[kernel]
pub unsafe fn dot(left: *const f32, right: *const f32, partials: *mut f32, n: usize) {
    let tid = thread_idx_x() as usize;
    let start = block_idx_x() as usize * TILE;
    let count = (n - start).min(TILE);
    // SAFETY: the block's pairs begin here, and there are `count`.
    let mut sum = unsafe { sum_of_products(left.add(start), right.add(start), count) };
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: the whole warp makes the call.
        sum += unsafe { shuffle_down(sum, delta as u32) };
        delta /= 2;
    }
    let warp_sums = shared_array!(warp_sums: [f32; BLOCK / WARP]);
    if tid % WARP == 0 {
        // SAFETY: each warp has a word.
        unsafe { *warp_sums.add(tid / WARP) = sum };
    }

    if tid == 0 {
        for warp in 1..BLOCK / WARP {
            // SAFETY: the word has been written before the barrier.
            sum += unsafe { *warp_sums.add(warp) };
        }
        // SAFETY: each block has a partial sum of its own.
        unsafe { *partials.add(block_idx_x() as usize) = sum };
    }
}

/// The sum of the products of this thread's pairs: of the vectors every 128th, and of the pairs before and after them one at most each.
///
/// # Safety
/// `left` and `right` point to `count` numbers each, at addresses that are alike mod 16.
#[inline(always)]
unsafe fn sum_of_products(left: *const f32, right: *const f32, count: usize) -> f32 {
    let tid = thread_idx_x() as usize;
    let head = ((16 - left as usize % 16) % 16 / 4).min(count);
    let vectors = (count - head) / 4;
    let tail = count - head - 4 * vectors;
    let mut sum = 0.0;
    for index in (tid..vectors).step_by(BLOCK) {
        // SAFETY: there are that many vectors after the head.
        let Vector([a, b, c, d]) = unsafe { *left.add(head).cast::<Vector>().add(index) };
        // SAFETY: as above.
        let Vector([e, f, g, h]) = unsafe { *right.add(head).cast::<Vector>().add(index) };
        sum += a * e + b * f + c * g + d * h;
    }
    if tid < head {
        // SAFETY: in bounds.
        sum += unsafe { *left.add(tid) * *right.add(tid) };
    }
    if tid < tail {
        // SAFETY: in bounds.
        sum += unsafe { *left.add(count - 1 - tid) * *right.add(count - 1 - tid) };
    }
    sum
}
