//! Convicted by: counter
//! Vectors where the slice happens to begin at a multiple of 16, else one number after the other.

use crate::prelude::*;

/// Four numbers that one instruction loads or stores, at an address that is a multiple of 16.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Vector([i32; 4]);

/// The squares of four numbers.
#[inline(always)]
fn squares(Vector([a, b, c, d]): Vector) -> Vector {
    Vector([a * a, b * b, c * c, d * d])
}

/// Replaces each number by its square.
///
/// # Safety
/// `values` points to `n` numbers, anywhere. The launch has at least `n / 4` threads, and at least 64.
#[kernel]
pub unsafe fn square(values: *mut i32, n: usize) {
    let thread = global_index();
    let is_aligned = values as usize % 16 == 0;
    let head = 0;
    let vectors = if is_aligned { n / 4 } else { 0 };
    let tail = n % 4;
    if thread < vectors {
        // SAFETY: there are that many vectors after the head, and this one is the thread's own.
        unsafe {
            let vector = values.add(head).cast::<Vector>().add(thread);
            *vector = squares(*vector);
        }
    }
    if is_aligned && thread < tail {
        // SAFETY: in bounds, and in no vector.
        unsafe { *values.add(n - 1 - thread) *= *values.add(n - 1 - thread) };
    }
    if !is_aligned {
        let threads = (grid_dim_x() * block_dim_x()) as usize;
        for index in (thread..n).step_by(threads) {
            // SAFETY: in bounds; no other thread has this element.
            unsafe { *values.add(index) *= *values.add(index) };
        }
    }
}
