//! # Operators and types 1 · One body for every sum
//!
//! ## Before
//! The ladder adds up `i32` values and nothing else. A second type, or a product instead of a sum, would be a second
//! copy of every file, in which one line differs.
//!
//! ## Idea
//! Step 9 once more, with that line taken out. What a tree of threads needs to know of an operator is how it puts two
//! values together, and which value stands for a missing element: the [`Operator`]. What a warp needs to know of a type
//! is how a lane reads it from another lane: the [`Value`]. The body is generic over both, as it is over the block size,
//! and the compiler writes out one kernel for each combination that is asked for: none of this is left at run time.
//!
//! Not every function of two values will do. The tree groups and orders the elements as suits the hardware, so that the
//! operator must obey the laws that [`Operator`] states. Floats obey one of them only nearly: each addition rounds, so
//! that another grouping gives another sum. The tree has the better of it: with B = 512 a value goes through 16 additions
//! at most, where a loop from left to right takes the first value through n − 1; and a sum in `f32` is off by at most
//! 2⁻²⁴·Σ|x| for each addition on the way.
//!
//! ## Picture
//! The path of one value, with B = 512; ⊕ is the operator:
//! ```text
//! thread    x ⊕ x ⊕ x ⊕ x ⊕ x ⊕ x ⊕ x ⊕ x     8 elements, 512 apart; a missing one is the identity
//! warp      16, 8, 4, 2, 1 lanes up           5 shuffles: the value of the warp, in lane 0
//! block     16, 8, 4, 2, 1 lanes up           5 shuffles over one value per warp
//! ```
//!
//! ## Cost
//! That of step 9, instruction for instruction; 8-byte types would take two shuffles for each of its one.
//!
//! ## Observe
//! In the PTX: `shuffle_sum_i32` is `shuffle`, but for names; `shuffle_sum_f32` has `add.rn.f32` where that adds up by
//! `add.s32`, and another identity. In a run of `shuffle_sum_f32`: the sum may be another than the CPU's, within the
//! rounding allowed.
//!
//! ## Break it
//! Take 0.0 for the identity of the `f32` sum: the sum of nothing but −0.0 becomes 0.0, which only a test of the bits
//! notices. Take 1.0: with B = 1024 only the lengths that cut a tile short come out wrong, with smaller blocks all do.
//!
//! ## Source
//! The laws are those of a commutative monoid; Guy Blelloch, *Prefix Sums and Their Applications* (1990), builds
//! parallel algorithms on them. The bound is that of pairwise summation: Nicholas Higham, *The Accuracy of Floating
//! Point Summation* (1993).

use crate::prelude::*;

/// A type of values that a warp can reduce.
pub trait Value: Copy {
    /// The value of the lane `delta` above this one; this lane's own where there is no such lane.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it with the same `delta`, and none has exited.
    unsafe fn shuffle_down(self, delta: u32) -> Self;
}

impl Value for i32 {
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { shuffle_down(self, delta) }
    }
}

impl Value for f32 {
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // A shuffle moves 32 bits, whatever they mean.
        // SAFETY: the caller's promise.
        let bits = unsafe { shuffle_down(self.to_bits() as i32, delta) };
        Self::from_bits(bits as u32)
    }
}

/// A way to put values of type `T` together, two at a time, in any order and grouping.
///
/// # Laws
/// For all values a, b and c, where ⊕ is [`combine`](Self::combine):
/// - a ⊕ [`IDENTITY`](Self::IDENTITY) = a, to the last bit (a NaN stays a NaN);
/// - a ⊕ b = b ⊕ a;
/// - (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c), for floats but for the rounding of each ⊕.
pub trait Operator<T> {
    /// The value that stands for a missing element.
    const IDENTITY: T;

    /// Puts two values together.
    fn combine(left: T, right: T) -> T;
}

/// Adds: integers wrap around, floats round to the nearest.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl Operator<i32> for Sum {
    const IDENTITY: i32 = 0;

    #[inline(always)]
    fn combine(left: i32, right: i32) -> i32 {
        left.wrapping_add(right)
    }
}

impl Operator<f32> for Sum {
    /// Not 0.0: −0.0 + 0.0 is 0.0.
    const IDENTITY: f32 = -0.0;

    #[inline(always)]
    fn combine(left: f32, right: f32) -> f32 {
        left + right
    }
}

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn shuffle<O: Operator<T>, T: Value, const B: u32>(
    input: *const T,
    partials: *mut T,
    n: usize,
) {
    let tid = thread_idx_x();
    let warp_results = shared_array!(warp_results: [T; B / WARP_SIZE]);

    let tile_length = 8 * B;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one
    // element per warp, and every thread of the block makes the call.
    unsafe {
        let tile = input.add(start);
        let result = reduce_block::<O, T, B>(reduce_eight::<O, T>(tile, count, B), warp_results);
        if tid == 0 {
            *partials.add(block_idx_x() as usize) = result;
        }
    }
}

/// The block's B values as one, in thread 0; the other threads get values of no use.
///
/// Whoever calls it again with the same array puts a barrier between: the first warp may still read.
///
/// # Safety
/// `warp_results` points to B/32 values that only this block touches, and all its B threads make the call.
#[inline(always)]
pub unsafe fn reduce_block<O: Operator<T>, T: Value, const B: u32>(
    value: T,
    warp_results: *mut T,
) -> T {
    let tid = thread_idx_x();
    let lane = tid % WARP_SIZE;
    let warp = tid / WARP_SIZE;
    let warps = B / WARP_SIZE;

    // SAFETY: whole warps reduce; there is one element per warp, each written before the barrier.
    unsafe {
        let result = reduce_warp::<O, T>(value);
        if lane == 0 {
            *warp_results.add(warp as usize) = result;
        }
        sync_threads();

        if warp != 0 {
            return result;
        }
        let mine = if lane < warps {
            *warp_results.add(lane as usize)
        } else {
            O::IDENTITY
        };
        reduce_warp::<O, T>(mine)
    }
}

/// The thread's eight elements, `block` apart, as one value; fewer, in a tile that n cuts short; the identity of none.
///
/// # Safety
/// `tile` points to `count` elements, at most `8 * block`.
#[inline(always)]
pub unsafe fn reduce_eight<O: Operator<T>, T: Value>(tile: *const T, count: u32, block: u32) -> T {
    let tid = thread_idx_x();
    if count == 8 * block {
        // SAFETY: a whole tile has all eight elements.
        unsafe {
            let mine = tile.add(tid as usize);
            let a0 = *mine;
            let a1 = *mine.add(block as usize);
            let a2 = *mine.add(2 * block as usize);
            let a3 = *mine.add(3 * block as usize);
            let a4 = *mine.add(4 * block as usize);
            let a5 = *mine.add(5 * block as usize);
            let a6 = *mine.add(6 * block as usize);
            let a7 = *mine.add(7 * block as usize);
            let first = O::combine(O::combine(O::combine(a0, a1), a2), a3);
            let second = O::combine(O::combine(O::combine(a4, a5), a6), a7);
            O::combine(first, second)
        }
    } else {
        let mut result = O::IDENTITY;
        let mut index = tid;
        while index < count {
            // SAFETY: the index is below `count`.
            result = O::combine(result, unsafe { *tile.add(index as usize) });
            index += block;
        }
        result
    }
}

/// The warp's 32 values as one, in lane 0; the other lanes get values of no use.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
pub unsafe fn reduce_warp<O: Operator<T>, T: Value>(value: T) -> T {
    let mut result = value;
    let mut delta = WARP_SIZE / 2;
    while delta > 0 {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        result = O::combine(result, unsafe { result.shuffle_down(delta) });
        delta /= 2;
    }
    result
}

macro_rules! entries {
    ($($operator:ident of $value:ident { $($name:ident = $block:literal;)* })*) => {$($(
        #[doc = concat!("Leaves the [`", stringify!($operator), "`] of each block's 8·", $block, " elements in `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
        #[doc = concat!("- The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(input: *const $value, partials: *mut $value, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { shuffle::<$operator, $value, $block>(input, partials, n) }
        }
    )*)*};
}

entries! {
    Sum of i32 {
        shuffle_sum_i32_64 = 64;
        shuffle_sum_i32_128 = 128;
        shuffle_sum_i32_256 = 256;
        shuffle_sum_i32_512 = 512;
        shuffle_sum_i32_1024 = 1024;
    }
    Sum of f32 {
        shuffle_sum_f32_64 = 64;
        shuffle_sum_f32_128 = 128;
        shuffle_sum_f32_256 = 256;
        shuffle_sum_f32_512 = 512;
        shuffle_sum_f32_1024 = 1024;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGERS: [i32; 8] = [0, 1, -1, 7, i32::MAX, i32::MIN, 1 << 30, -(1 << 30)];

    const FLOATS: [f32; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];

    fn bits(value: f32) -> Option<u32> {
        (!value.is_nan()).then_some(value.to_bits())
    }

    #[test]
    fn the_sum_of_integers_obeys_its_laws() {
        for a in INTEGERS {
            assert_eq!(Sum::combine(a, Sum::IDENTITY), a);
            for b in INTEGERS {
                assert_eq!(Sum::combine(a, b), Sum::combine(b, a), "{a}, {b}");
                for c in INTEGERS {
                    assert_eq!(
                        Sum::combine(Sum::combine(a, b), c),
                        Sum::combine(a, Sum::combine(b, c)),
                        "{a}, {b}, {c}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_sum_of_floats_obeys_its_laws_to_the_last_bit_but_for_grouping() {
        for a in FLOATS {
            assert_eq!(bits(Sum::combine(a, Sum::IDENTITY)), bits(a), "{a}");
            for b in FLOATS {
                assert_eq!(
                    bits(Sum::combine(a, b)),
                    bits(Sum::combine(b, a)),
                    "{a}, {b}"
                );
            }
        }
    }

    #[test]
    fn the_sum_of_floats_is_the_same_in_any_grouping_where_nothing_rounds() {
        for a in -8..8 {
            for b in -8..8 {
                for c in -8..8 {
                    let [a, b, c] = [a, b, c].map(|value| value as f32 / 8.0);
                    assert_eq!(
                        Sum::combine(Sum::combine(a, b), c),
                        Sum::combine(a, Sum::combine(b, c)),
                        "{a}, {b}, {c}"
                    );
                }
            }
        }
    }
}
