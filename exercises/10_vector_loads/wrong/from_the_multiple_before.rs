//! Convicted by: initialisation
//! The vectors begin at the multiple of 16 before the slice, and take numbers that are not in it.

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
    // From the last multiple of 16 on.
    let before = values as usize % 16 / 4;
    let vectors = (before + n) / 4;
    let tail = before + n - 4 * vectors;
    let values = unsafe { values.sub(before) };
    if thread < vectors {
        // SAFETY: wrong for the numbers before the slice.
        unsafe {
            let vector = values.cast::<Vector>().add(thread);
            *vector = squares(*vector);
        }
    }

    if thread < tail {
        // SAFETY: wrong as above.
        unsafe { *values.add(4 * vectors + thread) *= *values.add(4 * vectors + thread) };
    }
}
