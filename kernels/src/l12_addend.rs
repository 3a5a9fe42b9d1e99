//! What the flagship has to know of a type: how 16 bytes of it are added, how a warp adds up, and how a block's sum comes to
//! the total. Read [`l12_flagship`](crate::l12_flagship) first.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::prelude::*;

/// A type that the flagship adds up.
pub trait Addend: Copy {
    /// What a sum begins with: 0; of floats −0.0, to which any float can be added without a change.
    const ZERO: Self;

    /// 16 bytes of values.
    type Vector: Copy;

    /// How many those are.
    const LANES: usize = 16 / size_of::<Self>();

    /// The sum of two: integers wrap around.
    fn plus(self, other: Self) -> Self;

    /// The sum of the values in a vector.
    fn sum_of(vector: Self::Vector) -> Self;

    /// The vector that begins at any element, value by value.
    ///
    /// # Safety
    /// `values` points to as many as a vector has.
    unsafe fn vector_at(values: *const Self) -> Self::Vector;

    /// What the sums of the blocks are added up in.
    ///
    /// For `f32` it is `f64`: of numbers that small that they are subnormal, the atomic addition of `f32` in global memory makes 0.
    type Total: Copy;

    /// [`Self::ZERO`] as a total.
    const NOTHING: Self::Total;

    /// The sum of the first `lanes` values of the warp, a power of two of them, in lane 0; the other lanes get sums of no use.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call with the same `lanes`; those behind bring [`Self::ZERO`].
    unsafe fn warp_sum(self, lanes: u32) -> Self;

    /// Adds the value to the total, and waits for no answer.
    ///
    /// # Safety
    /// `total` points to global memory, and while others use it, they change it by atomic operations only.
    unsafe fn add_to(self, total: *mut Self::Total);
}

/// Values that one load brings.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Vector<Values>(pub Values);

impl Addend for i32 {
    const ZERO: Self = 0;
    type Vector = Vector<[Self; 4]>;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn sum_of(Vector([a, b, c, d]): Self::Vector) -> Self {
        a.plus(b).plus(c.plus(d))
    }

    #[inline(always)]
    unsafe fn vector_at(values: *const Self) -> Self::Vector {
        // SAFETY: the caller's promise.
        unsafe { Vector(*values.cast()) }
    }

    type Total = Self;
    const NOTHING: Self = 0;

    /// Whatever `lanes` is: the zeros behind cost nothing.
    #[inline(always)]
    unsafe fn warp_sum(self, _lanes: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { warp_sum_i32(self) }
    }

    #[inline(always)]
    unsafe fn add_to(self, total: *mut Self) {
        // SAFETY: the caller's promise.
        let total = unsafe { AtomicU32::from_ptr(total.cast()) };
        total.fetch_add(self as u32, Ordering::Relaxed);
    }
}

/// One instruction where the GPU has it, which is from sm_80 on.
#[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
use crate::prelude::redux_add as warp_sum_i32;

/// The shuffles of step 9 on older GPUs.
#[cfg(not(any(target_feature = "sm_80", target_feature = "compute_80")))]
use crate::l09_shuffle::warp_sum as warp_sum_i32;

/// Types whose warps add up by shuffles.
macro_rules! by_shuffles {
    ($(
        $value:ident: $zero:literal, $lanes:literal, |$left:ident, $right:ident| $plus:expr, |$vector:ident| $sum:expr,
        $add_to:ident: $total:ident;
    )*) => {$(
        impl Addend for $value {
            const ZERO: Self = $zero;
            type Vector = Vector<[Self; $lanes]>;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let ($left, $right) = (self, other);
                $plus
            }

            #[inline(always)]
            fn sum_of(Vector($vector): Self::Vector) -> Self {
                $sum
            }

            #[inline(always)]
            unsafe fn vector_at(values: *const Self) -> Self::Vector {
                // SAFETY: the caller's promise.
                unsafe { Vector(*values.cast()) }
            }

            type Total = $total;
            const NOTHING: $total = $zero;

            #[inline(always)]
            unsafe fn warp_sum(self, lanes: u32) -> Self {
                let mut sum = self;
                let mut delta = lanes / 2;
                while delta > 0 {
                    // SAFETY: the caller's promise; `delta` is the same in every lane.
                    sum = sum.plus(unsafe { sum.shuffle_down(delta) });
                    delta /= 2;
                }
                sum
            }

            #[inline(always)]
            unsafe fn add_to(self, total: *mut $total) {
                // SAFETY: the caller's promise.
                unsafe { $add_to(total, self.into()) }
            }
        }
    )*};
}

by_shuffles! {
    i64: 0, 2, |a, b| a.wrapping_add(b), |v| v[0].plus(v[1]), add_i64: i64;
    f32: -0.0, 4, |a, b| a + b, |v| v[0].plus(v[1]).plus(v[2].plus(v[3])), add_f64: f64;
    f64: -0.0, 2, |a, b| a + b, |v| v[0].plus(v[1]), add_f64: f64;
}

/// Adds to an `i64`; see [`Addend::add_to`].
#[inline(always)]
unsafe fn add_i64(total: *mut i64, value: i64) {
    // SAFETY: the caller's promise.
    let total = unsafe { AtomicU64::from_ptr(total.cast()) };
    total.fetch_add(value as u64, Ordering::Relaxed);
}

/// A value that a lane can read of another.
trait Shuffled {
    /// The value of the lane `delta` above this one.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it with the same `delta`.
    unsafe fn shuffle_down(self, delta: u32) -> Self;
}

impl Shuffled for f32 {
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        Self::from_bits(unsafe { shuffle_down(self.to_bits() as i32, delta) } as u32)
    }
}

impl Shuffled for i64 {
    /// A register has 32 bits: two shuffles.
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        let (low, high) = unsafe {
            (
                shuffle_down(self as i32, delta),
                shuffle_down((self >> 32) as i32, delta),
            )
        };
        Self::from(high) << 32 | Self::from(low as u32)
    }
}

impl Shuffled for f64 {
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        Self::from_bits(unsafe { (self.to_bits() as i64).shuffle_down(delta) } as u64)
    }
}
