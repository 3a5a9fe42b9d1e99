//! Convicted by: memory
//! Eight elements in two loads of 16 bytes, wherever the arrays begin.

use crate::prelude::*;

/// Threads of a block.
const BLOCK: usize = 64;
/// Elements of a thread.
const EACH: usize = 8;

/// Four numbers that one instruction loads.
#[repr(C, align(16))]
struct Vector([i32; 4]);

/// Adds to each of `n` numbers `y` the number `x` in the same place, times `a`.
///
/// # Safety
/// `x` and `y` point to `n` numbers each. A block has 64 threads for 512 elements; there are enough blocks for all elements.
#[kernel]
pub unsafe fn axpy(a: i32, x: *const i32, y: *mut i32, n: usize) {
    let first = global_index() * EACH;
    if first + EACH <= n {
        for index in [first, first + 4] {
            // SAFETY: in bounds by the test above, but the arrays may begin anywhere.
            unsafe {
                let Vector(x) = *x.add(index).cast::<Vector>();
                let Vector(y) = &mut *y.add(index).cast::<Vector>();
                for lane in 0..4 {
                    y[lane] += a * x[lane];
                }
            }
        }
    } else {
        for index in first..n {
            // SAFETY: in bounds; no other thread has this element.
            unsafe { *y.add(index) += a * *x.add(index) };
        }
    }
}
