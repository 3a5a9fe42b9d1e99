//! Convicted by: forbidden
//! Two sums of doubles.

use crate::prelude::*;

/// Values of a thread.
const EACH: u32 = 8;
/// Warps of a block.
const WARPS: u32 = 4;

/// What is known of some values.
#[derive(Clone, Copy)]
struct Moments {
    count: f32,
    mean: f32,
    /// The sum of the squared distances from the mean.
    m2: f32,
}

impl Moments {
    /// No values.
    const IDENTITY: Self = Self {
        count: 0.0,
        mean: 0.0,
        m2: 0.0,
    };

    /// With one value more.
    fn with(self, value: f32) -> Self {
        let count = self.count + 1.0;
        let delta = value - self.mean;
        let mean = self.mean + delta / count;
        Self {
            count,
            mean,
            m2: self.m2 + delta * (value - mean),
        }
    }

    /// With those of another part.
    fn and(self, other: Self) -> Self {
        let count = self.count + other.count;
        if other.count == 0.0 {
            return self;
        }
        let delta = other.mean - self.mean;
        let share = other.count / count;
        Self {
            count,
            mean: self.mean + delta * share,
            m2: self.m2 + other.m2 + delta * delta * self.count * share,
        }
    }
}

/// Those of a warp, in its first lane.
///
/// # Safety
/// All lanes of the warp call it together.
unsafe fn moments_of_warp(mut moments: Moments) -> Moments {
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: all lanes are here, by the caller's promise.
        moments = moments.and(unsafe {
            Moments {
                count: shuffle_down(moments.count, distance),
                mean: shuffle_down(moments.mean, distance),
                m2: shuffle_down(moments.m2, distance),
            }
        });
        distance /= 2;
    }
    moments
}

/// Writes the variance of each 1024 of `n` values to `variances`: the mean of the squared distances from their mean.
///
/// # Safety
/// `values` points to `n` values, `variances` to one number for each block. The grid has a block of 128 threads for every 1024 values.
#[kernel]
pub unsafe fn variance(values: *const f32, variances: *mut f32, n: usize) {
    let warp_counts = shared_array!(warp_counts: [f32; WARPS]);
    let warp_means = shared_array!(warp_means: [f32; WARPS]);
    let warp_m2s = shared_array!(warp_m2s: [f32; WARPS]);
    let tid = thread_idx_x();
    let (lane, warp) = (tid % WARP_SIZE, tid / WARP_SIZE);
    let mut moments = Moments::IDENTITY;
    for each in 0..EACH {
        let index = ((block_idx_x() * EACH + each) * block_dim_x() + tid) as usize;
        if index < n {
            // SAFETY: the value is read in bounds.
            let value = f64::from(unsafe { *values.add(index) });
            let (count, mean) = (f64::from(moments.count), f64::from(moments.mean));
            let new_mean = mean + (value - mean) / (count + 1.0);
            moments = Moments {
                count: moments.count + 1.0,
                mean: new_mean as f32,
                m2: (f64::from(moments.m2) + (value - mean) * (value - new_mean)) as f32,
            };
        }
    }
    // SAFETY: all threads of the block are here, and each warp has a place.
    unsafe {
        moments = moments_of_warp(moments);
        if lane == 0 {
            *warp_counts.add(warp as usize) = moments.count;
            *warp_means.add(warp as usize) = moments.mean;
            *warp_m2s.add(warp as usize) = moments.m2;
        }
    }
    sync_threads();
    if tid == 0 {
        // SAFETY: every warp has stored its own.
        unsafe {
            for other in 1..WARPS as usize {
                moments = moments.and(Moments {
                    count: *warp_counts.add(other),
                    mean: *warp_means.add(other),
                    m2: *warp_m2s.add(other),
                });
            }
            *variances.add(block_idx_x() as usize) = moments.m2 / moments.count;
        }
    }
}
