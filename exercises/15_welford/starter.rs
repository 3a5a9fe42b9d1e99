//! Exercise 15 · A variance that survives large numbers. `warpfold exercise welford` judges this file.

use crate::prelude::*;

/// Values of a thread.
const EACH: u32 = 8;
/// Warps of a block.
const WARPS: u32 = 4;

/// The sum of a warp, in its first lane.
///
/// # Safety
/// All lanes of the warp call it together.
unsafe fn sum_of_warp(mut sum: f32) -> f32 {
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes are here, by the caller's promise.
        sum += unsafe { shuffle_down(sum, distance) };
        distance /= 2;
    }
    sum
}

/// Writes the variance of each 1024 of `n` values to `variances`: the mean of the squared distances from their mean.
///
/// # Safety
/// `values` points to `n` values, `variances` to one number for each block. The grid has a block of 128 threads for every 1024 values.
#[kernel]
pub unsafe fn variance(values: *const f32, variances: *mut f32, n: usize) {
    let warp_sums = shared_array!(warp_sums: [f32; WARPS]);
    let warp_squares = shared_array!(warp_squares: [f32; WARPS]);
    let warp_counts = shared_array!(warp_counts: [f32; WARPS]);
    let tid = thread_idx_x();
    let (lane, warp) = (tid % WARP_SIZE, tid / WARP_SIZE);
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for each in 0..EACH {
        let index = ((block_idx_x() * EACH + each) * block_dim_x() + tid) as usize;
        if index < n {
            // SAFETY: the value is read in bounds.
            let value = unsafe { *values.add(index) };
            count += 1.0;
            sum += value;
            squares += value * value;
        }
    }
    // SAFETY: all threads of the block are here, and each warp has a place.
    unsafe {
        (count, sum, squares) = (sum_of_warp(count), sum_of_warp(sum), sum_of_warp(squares));
        if lane == 0 {
            *warp_counts.add(warp as usize) = count;
            *warp_sums.add(warp as usize) = sum;
            *warp_squares.add(warp as usize) = squares;
        }
    }
    sync_threads();
    if tid == 0 {
        // SAFETY: every warp has stored its own.
        unsafe {
            for other in 1..WARPS as usize {
                count += *warp_counts.add(other);
                sum += *warp_sums.add(other);
                squares += *warp_squares.add(other);
            }
            let mean = sum / count;
            *variances.add(block_idx_x() as usize) = squares / count - mean * mean;
        }
    }
}
