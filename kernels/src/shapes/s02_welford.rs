//! # Shapes 2 · A variance that is right
//!
//! ## Before
//! A mean is a sum and a division. For the *variance*, the mean square of the distances from the mean, one pass over the input seems too
//! few: the mean is known only at the end, but the distances from it are needed before.
//!
//! ## Idea
//! There is a formula that needs only one pass: the mean of the squares less the square of the mean. `sum_of_squares` adds up both sums at
//! once. On paper that is right. But far from 0 it subtracts two large numbers that are nearly equal. Elements near 10⁸ have squares near
//! 10¹⁶, where neighbouring numbers of 64 bits are 2 apart: a variance of 0.08 is far below that. What is left is the error of the
//! rounding, which may even be negative.
//!
//! `welford` keeps three numbers that are never large where the variance is small: the *count*, the *mean* so far, and the sum of the
//! *squares* of the distances from it. The k-th element x, at the distance d from the mean so far, moves the mean by a k-th of d:
//! ```text
//! mean'    = mean + d ∕ k
//! squares' = squares + d · (x − mean')
//! ```
//! Two such triples become one by *Chan's rule*. With d as the distance of their means:
//! ```text
//! count   = count₁ + count₂
//! mean    = mean₁ + d · count₂ ∕ count
//! squares = squares₁ + squares₂ + d² · count₁ · count₂ ∕ count
//! ```
//! It is associative and commutative up to rounding, and three zeros are its identity. So it goes through the tree as a sum does.
//!
//! ## Picture
//! Elements 3, 5 and 10, 14; count, mean and squares:
//! ```text
//! elements    3          5         10         14
//!            (1, 3, 0)  (1, 5, 0)  (1, 10, 0)  (1, 14, 0)
//!                 └────┬─────┘          └─────┬─────┘
//! d = 2, 4        (2, 4, 2)             (2, 12, 8)
//!                      └──────────┬──────────┘
//! d = 8                      (4, 8, 74)                   variance 74 ∕ 4 = 18.5
//! ```
//!
//! ## Cost
//! For one block over a whole tile of 8B elements: 8B loads of 8 bytes and two stores. A triple is five words: 25 shuffles in each warp and
//! 25 more in the first, where the two sums take 20. 1 barrier. An element is multiplied by 1 ∕ k, which is known when the kernel is
//! compiled, because each thread counts its elements from 1. Each merge divides once.
//!
//! ## Observe
//! The elements are between 10⁸ and 10⁸ + 1, all multiples of ¹⁄₁₀₂₄, so that their variance is known exactly.
//!
//! **Predict.** A variance of numbers that are spread evenly over a length of 1 is a twelfth, 0.083. What do the two sums make of it?
//! ```console
//! $ warpfold run sum_of_squares -n 2^18 --device emulator
//! ...
//! mean                          100000000.4994
//! variance                            2.000000
//! exact variance                      0.083631
//! ...
//! $ warpfold run welford -n 2^18 --device emulator
//! ...
//! mean                          100000000.4994
//! variance                            0.083631
//! exact variance                      0.083631
//! ...
//! ```
//! The mean is right in both. The variance from the two sums is not even near: it is one of the few multiples of 2 that the difference can be.
//!
//! **Predict.** Without the offset, `--set offset=0`, are the two sums as good?
//! ```console
//! $ warpfold run sum_of_squares -n 2^18 --set offset=0 --device emulator
//! ...
//! variance                       0.083631
//! exact variance                 0.083631
//! ...
//! ```
//! They are: the squares are hardly larger than the variance.
//!
//! **Predict.** Both kernels load the same sectors. How many instructions does `welford` take: half as many again, twice or four times as many?
//! ```console
//! $ warpfold profile sum_of_squares welford -n 2^18 --set offset=0 --metrics inst_per_warp,global_load_sectors
//! ...
//! metric               sum_of_squares    welford
//! ...
//! inst_per_warp                174.69     272.50
//! global_load_sectors          65,536     65,536
//! ...
//! ```
//!
//! On an H200, 2²⁶ elements from memory in blocks of 512 take 0.128 ms by two sums, 4190 GB/s, and 0.221 ms by Welford's way,
//! 2430 GB/s.
//!
//! ## Break it
//! Merge two triples as if their means were the same: leave `distance * share * f64::from(self.count)` out of `Moments::merge`. What is left is
//! the variance within each thread, without that between them:
//! ```console
//! $ warpfold try welford -n 2^12
//! ...
//! variance                            0.072642
//! exact variance                      0.084339
//! ...
//! warpfold: `welford` leaves 297.54056517605284 in element 0 of `squares`, which should be 345.4517323290929 to within 2.9e-3
//! ```
//!
//! ## Source
//! B. P. Welford, *Note on a Method for Calculating Corrected Sums of Squares and Products* (1962); Tony Chan, Gene Golub, Randall LeVeque,
//! *Updating Formulae and a Pairwise Algorithm for Computing Sample Variances* (1979).

use crate::prelude::*;

/// Elements of a tile for each thread.
pub const EACH: u32 = 8;

/// The most warps of a block.
const MOST_WARPS: u32 = 32;

/// What is known of some elements, to be made one with what is known of others.
trait Known: Copy {
    /// What is known of no elements.
    const IDENTITY: Self;

    /// The same with one more element, the `number`-th, counted from 1.
    fn with(self, element: f64, number: u32) -> Self;

    /// What is known of the elements of both.
    fn merge(self, other: Self) -> Self;

    /// What the lane `delta` above this one knows.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call with the same `delta`.
    unsafe fn shuffled_down(self, delta: u32) -> Self;
}

/// Two sums.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sums {
    sum: f64,
    squares: f64,
}

impl Known for Sums {
    const IDENTITY: Self = Self {
        sum: 0.0,
        squares: 0.0,
    };

    #[inline(always)]
    fn with(self, element: f64, _number: u32) -> Self {
        Self {
            sum: self.sum + element,
            squares: self.squares + element * element,
        }
    }

    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    #[inline(always)]
    unsafe fn shuffled_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                sum: shuffle_down(self.sum, delta),
                squares: shuffle_down(self.squares, delta),
            }
        }
    }
}

/// How many elements there are, their mean, and the sum of the squares of their distances from it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    squares: f64,
    count: u32,
}

impl Known for Moments {
    const IDENTITY: Self = Self {
        mean: 0.0,
        squares: 0.0,
        count: 0,
    };

    /// Welford's rule.
    #[inline(always)]
    fn with(self, element: f64, number: u32) -> Self {
        let distance = element - self.mean;
        let mean = self.mean + distance * (1.0 / f64::from(number));
        Self {
            mean,
            squares: self.squares + distance * (element - mean),
            count: number,
        }
    }

    /// Chan's rule.
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        // Nothing and nothing would divide by 0.
        if other.count == 0 {
            return self;
        }
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        let share = distance * f64::from(other.count) / f64::from(count);
        Self {
            mean: self.mean + share,
            squares: self.squares + other.squares + distance * share * f64::from(self.count),
            count,
        }
    }

    #[inline(always)]
    unsafe fn shuffled_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                mean: shuffle_down(self.mean, delta),
                squares: shuffle_down(self.squares, delta),
                count: shuffle_down(self.count, delta),
            }
        }
    }
}

/// Writes the sum of each tile of 8B elements to `sums`, and that of their squares to `squares`.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, `sums` and `squares` to one per block each that nothing else touches.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn sum_of_squares(values: *const f64, sums: *mut f64, squares: *mut f64, n: usize) {
    let of_warps = shared_array!(of_warps: [Sums; MOST_WARPS]);
    // SAFETY: the caller's promise; there is one element of shared memory per warp.
    unsafe {
        if let Some(known) = known_of_block(values, n, of_warps) {
            *sums.add(block_idx_x() as usize) = known.sum;
            *squares.add(block_idx_x() as usize) = known.squares;
        }
    }
}

/// Writes the mean of each tile of 8B elements to `means`, and the sum of the squares of their distances from it to `squares`.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, `means` and `squares` to one per block each that nothing else touches.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn welford(values: *const f64, means: *mut f64, squares: *mut f64, n: usize) {
    let of_warps = shared_array!(of_warps: [Moments; MOST_WARPS]);
    // SAFETY: the caller's promise; there is one element of shared memory per warp.
    unsafe {
        if let Some(known) = known_of_block(values, n, of_warps) {
            *means.add(block_idx_x() as usize) = known.mean;
            *squares.add(block_idx_x() as usize) = known.squares;
        }
    }
}

/// What is known of the block's tile, in thread 0.
///
/// # Safety
/// As for the entries; `of_warps` points to one element per warp that only this block touches, and all threads of the block make the
/// call, once.
#[inline(always)]
unsafe fn known_of_block<K: Known>(values: *const f64, n: usize, of_warps: *mut K) -> Option<K> {
    let block = block_dim_x();
    let lane = thread_idx_x() % WARP_SIZE;
    let warp = thread_idx_x() / WARP_SIZE;
    let warps = block / WARP_SIZE;
    let start = block_idx_x() as usize * (EACH * block) as usize;
    let count = (n - start).min((EACH * block) as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; whole warps make the calls; there is one
    // element of shared memory per warp, each written before the barrier.
    unsafe {
        let of_warp = known_of_warp(known_of_thread::<K>(values.add(start), count, block));
        if lane == 0 {
            *of_warps.add(warp as usize) = of_warp;
        }
        sync_threads();

        if warp != 0 {
            return None;
        }
        let mine = if lane < warps {
            *of_warps.add(lane as usize)
        } else {
            K::IDENTITY
        };
        let known = known_of_warp(mine);
        if lane == 0 { Some(known) } else { None }
    }
}

/// What is known of this thread's elements: the one at its index and every B-th after it.
///
/// # Safety
/// `tile` points to `count` values.
#[inline(always)]
unsafe fn known_of_thread<K: Known>(tile: *const f64, count: u32, block: u32) -> K {
    let tid = thread_idx_x();
    let mut known = K::IDENTITY;
    // SAFETY: the places are below `count`.
    unsafe {
        if count < EACH * block {
            let (mut place, mut number) = (tid, 1);
            while place < count {
                known = known.with(*tile.add(place as usize), number);
                place += block;
                number += 1;
            }
            return known;
        }
        // A whole tile: eight loads that don't depend on one another.
        let mine = tile.add(tid as usize);
        let elements: [f64; EACH as usize] =
            core::array::from_fn(|step| *mine.add(step * block as usize));
        let mut step = 0;
        while step < EACH {
            known = known.with(elements[step as usize], step + 1);
            step += 1;
        }
    }
    known
}

/// What is known of the elements of the warp, in lane 0. What the other lanes get is meaningless.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
unsafe fn known_of_warp<K: Known>(mine: K) -> K {
    let mut known = mine;
    let mut delta = WARP_SIZE / 2;
    while delta > 0 {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        known = known.merge(unsafe { known.shuffled_down(delta) });
        delta /= 2;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_what_the_page_draws() {
        let of = |elements: &[f64]| {
            let mut known = Moments::IDENTITY;
            for (number, &element) in (1..).zip(elements) {
                known = known.with(element, number);
            }
            known
        };
        let all = of(&[3.0, 5.0]).merge(of(&[10.0, 14.0]));
        assert_eq!((all.count, all.mean, all.squares), (4, 8.0, 74.0));
        for same in [all.merge(Moments::IDENTITY), Moments::IDENTITY.merge(all)] {
            assert_eq!((same.count, same.mean, same.squares), (4, 8.0, 74.0));
        }
        let nothing = Moments::IDENTITY.merge(Moments::IDENTITY);
        assert_eq!(nothing.count, 0);
        assert_eq!((nothing.mean, nothing.squares), (0.0, 0.0));
    }
}
