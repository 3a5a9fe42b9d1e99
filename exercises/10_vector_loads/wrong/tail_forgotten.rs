//! Convicted by: result
//! n is taken for a multiple of four, but for the head.

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
    // The numbers before the first address that is a multiple of 16, the vectors from there on, and what is left of a last vector.
    let head = ((16 - values as usize % 16) % 16 / 4).min(n);
    let vectors = (n - head) / 4;

    if thread < vectors {
        // SAFETY: there are that many vectors after the head, and this one is the thread's own.
        unsafe {
            let vector = values.add(head).cast::<Vector>().add(thread);
            *vector = squares(*vector);
        }
    }
    if thread < head {
        // SAFETY: in bounds, and in no vector.
        unsafe { *values.add(thread) *= *values.add(thread) };
    }
}
