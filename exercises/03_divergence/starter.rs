//! Exercise 3 · One way for a warp. `warpfold exercise divergence` judges this file.

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
    let index = global_index();
    if index < n {
        // SAFETY: in bounds by the test above; every thread has an element of its own.
        unsafe {
            let x = *input.add(index);
            *output.add(index) = if index % 2 == 0 { stir(x) } else { shake(x) };
        }
    }
}
