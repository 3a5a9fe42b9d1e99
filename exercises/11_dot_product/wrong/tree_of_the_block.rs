//! Convicted by: gate
//! No shuffles: the block waits at eight barriers.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 128;

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
    let sum = unsafe { sum_of_products(left.add(start), right.add(start), count) };
    let sums = shared_array!(sums: [f32; BLOCK]);
    // SAFETY: each thread has a word.
    unsafe { *sums.add(tid) = sum };
    let mut half = BLOCK / 2;
    while half > 0 {
        sync_threads();
        if tid < half {
            // SAFETY: tid + half is below 2 * half, where nobody writes in this step.
            unsafe { *sums.add(tid) += *sums.add(tid + half) };
        }
        half /= 2;
    }
    if tid == 0 {
        // SAFETY: each block has a partial sum of its own.
        unsafe { *partials.add(block_idx_x() as usize) = *sums };
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
