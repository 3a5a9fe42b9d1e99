//! Convicted by: counter
//! The comparison is right, and every step of the tree goes through shared memory.

use crate::prelude::*;

/// Values of a thread.
const EACH: u32 = 8;
/// Threads of a block.
const BLOCK: u32 = 128;
/// The index where there is no element.
const NONE: u32 = u32::MAX;

/// A value and where it stands.
#[derive(Clone, Copy)]
struct Best {
    value: f32,
    index: u32,
}

impl Best {
    /// No element.
    const IDENTITY: Self = Self {
        value: f32::NEG_INFINITY,
        index: NONE,
    };

    /// Whether it comes before the other: a NaN before all numbers, then the larger, of equals the first.
    fn wins(self, other: Self) -> bool {
        let (is_nan, other_is_nan) = (self.value.is_nan(), other.value.is_nan());
        if self.index == NONE || other.index == NONE {
            return other.index == NONE;
        }
        if is_nan != other_is_nan {
            return is_nan;
        }
        if is_nan || self.value == other.value {
            return self.index < other.index;
        }
        self.value > other.value
    }

    /// The better of the two.
    fn or(self, other: Self) -> Self {
        if other.wins(self) { other } else { self }
    }
}

/// Writes the index of the largest of each 1024 of `n` values to `indices`, counted in the whole array: of equals the first, a NaN
/// before all numbers, and `u32::MAX` where there is no value.
///
/// # Safety
/// `values` points to `n` values, `indices` to one number for each block. The grid has a block of 128 threads for every 1024 values.
#[kernel]
pub unsafe fn argmax(values: *const f32, indices: *mut u32, n: usize) {
    let tile_values = shared_array!(tile_values: [f32; BLOCK]);
    let tile_indices = shared_array!(tile_indices: [u32; BLOCK]);
    let tid = thread_idx_x();
    let mut best = Best::IDENTITY;
    for each in 0..EACH {
        let index = (block_idx_x() * EACH + each) * BLOCK + tid;
        if (index as usize) < n {
            // SAFETY: the value is read in bounds.
            let value = unsafe { *values.add(index as usize) };
            best = best.or(Best { value, index });
        }
    }
    // SAFETY: these places are this thread's own.
    unsafe {
        *tile_values.add(tid as usize) = best.value;
        *tile_indices.add(tid as usize) = best.index;
    }
    // The tree of exercise 7, over pairs.
    let mut half = BLOCK / 2;
    while half > 0 {
        sync_threads();
        if tid < half {
            // SAFETY: tid + half is below 2 * half, where nobody writes in this step.
            unsafe {
                best = best.or(Best {
                    value: *tile_values.add((tid + half) as usize),
                    index: *tile_indices.add((tid + half) as usize),
                });
                *tile_values.add(tid as usize) = best.value;
                *tile_indices.add(tid as usize) = best.index;
            }
        }
        half /= 2;
    }
    if tid == 0 {
        // SAFETY: one number for each block.
        unsafe { *indices.add(block_idx_x() as usize) = best.index };
    }
}
