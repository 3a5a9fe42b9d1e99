//! Convicted by: result
//! Only the value goes through the shuffles.

use crate::prelude::*;

/// Values of a thread.
const EACH: u32 = 8;
/// Warps of a block.
const WARPS: u32 = 4;
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

/// The best of a warp, in its first lane.
///
/// # Safety
/// All lanes of the warp call it together.
unsafe fn best_of_warp(mut best: Best) -> Best {
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes are here, by the caller's promise.
        best = best.or(unsafe {
            Best {
                value: shuffle_down(best.value, distance),
                index: best.index,
            }
        });
        distance /= 2;
    }
    best
}

/// Writes the index of the largest of each 1024 of `n` values to `indices`, counted in the whole array: of equals the first, a NaN
/// before all numbers, and `u32::MAX` where there is no value.
///
/// # Safety
/// `values` points to `n` values, `indices` to one number for each block. The grid has a block of 128 threads for every 1024 values.
#[kernel]
pub unsafe fn argmax(values: *const f32, indices: *mut u32, n: usize) {
    let warp_values = shared_array!(warp_values: [f32; WARPS]);
    let warp_indices = shared_array!(warp_indices: [u32; WARPS]);
    let tid = thread_idx_x();
    let (lane, warp) = (tid % WARP_SIZE, tid / WARP_SIZE);
    let mut best = Best::IDENTITY;
    for each in 0..EACH {
        let index = (block_idx_x() * EACH + each) * block_dim_x() + tid;
        if (index as usize) < n {
            // SAFETY: the value is read in bounds.
            let value = unsafe { *values.add(index as usize) };
            best = best.or(Best { value, index });
        }
    }
    // SAFETY: all threads of the block are here.
    best = unsafe { best_of_warp(best) };
    if lane == 0 {
        // SAFETY: one place for each warp.
        unsafe {
            *warp_values.add(warp as usize) = best.value;
            *warp_indices.add(warp as usize) = best.index;
        }
    }
    sync_threads();
    if warp == 0 {
        let mut mine = Best::IDENTITY;
        if lane < WARPS {
            // SAFETY: every warp has stored its own.
            mine = unsafe {
                Best {
                    value: *warp_values.add(lane as usize),
                    index: *warp_indices.add(lane as usize),
                }
            };
        }
        // SAFETY: all lanes of the first warp are here.
        mine = unsafe { best_of_warp(mine) };
        if lane == 0 {
            // SAFETY: one number for each block.
            unsafe { *indices.add(block_idx_x() as usize) = mine.index };
        }
    }
}
