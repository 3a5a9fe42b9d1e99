//! Convicted by: races
//! The elements go through shared memory, to be loaded side by side, and nobody waits until they are there.

use crate::prelude::*;

/// Threads of a block, and elements of it.
const BLOCK: usize = 128;
/// How long either function takes.
const ROUNDS: u32 = 16;

/// What becomes of elements at even places.
#[inline(always)]
fn stir(mut x: u32) -> u32 {
    for _ in 0..ROUNDS {
        x = x.wrapping_mul(x | 1).rotate_left(5);
    }
    x
}

/// What becomes of elements at odd places.
#[inline(always)]
fn shake(mut x: u32) -> u32 {
    for _ in 0..ROUNDS {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    x
}

/// Stirs the elements at even places and shakes those at odd ones.
///
/// # Safety
/// `input` and `output` point to `n` numbers each. The launch has at least `n` threads, in blocks of 128.
#[kernel]
pub unsafe fn stir_and_shake(input: *const u32, output: *mut u32, n: usize) {
    let tid = thread_idx_x() as usize;
    let start = block_idx_x() as usize * BLOCK;
    let tile = shared_array!(tile: [u32; BLOCK]);
    if start + tid < n {
        // SAFETY: in bounds by the test above; the tile has an element for each thread.
        unsafe { *tile.add(tid) = *input.add(start + tid) };
    }
    let (pair, place) = (tid % (BLOCK / 2), tid / (BLOCK / 2));
    let index = start + 2 * pair + place;
    if index < n {
        // SAFETY: in bounds, but another thread writes this element of the tile.
        unsafe {
            let x = *tile.add(2 * pair + place);
            *output.add(index) = if place == 0 { stir(x) } else { shake(x) };
        }
    }
}
