//! Convicted by: counter
//! Reads that are right for any address are made of one load for each byte.

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
    let vectors = n / 4;
    let tail = n % 4;
    if thread < vectors {
        // SAFETY: there are that many vectors, and this one is the thread's own.
        unsafe {
            let vector = values.cast::<Vector>().add(thread);
            vector.write_unaligned(squares(vector.read_unaligned()));
        }
    }

    if thread < tail {
        // SAFETY: in bounds, and in no vector.
        unsafe { *values.add(n - 1 - thread) *= *values.add(n - 1 - thread) };
    }
}
