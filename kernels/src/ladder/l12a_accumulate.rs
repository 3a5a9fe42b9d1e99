//! # Step 12a · What the flagship knows of a type
//!
//! ## Before
//! [Step 12](crate::ladder::l12_flagship) is written once, for any `T: Accumulate`, and is compiled for `i32`, `i64`, `f32` and `f64`. Its
//! text does not say what differs between them.
//!
//! ## Idea
//! A trait says it: [`Accumulate`]. Five things depend on the type: how two values are added, how many of them are in 16
//! bytes, how a warp adds up, which type the total has, and how a sum is added to the total.
//!
//! Two of these are less obvious than they look. The identity of a sum of floats is −0.0, because 0.0 would turn a sum of negative
//! zeros into 0.0. And the total of `f32` values is an `f64`: on a GPU the atomic addition of `f32` in global memory treats subnormal
//! numbers as 0.
//!
//! ## Picture
//! ```text
//! type    16 bytes     a warp adds up by                          total
//! i32     4 values     redux.sync; before sm_80 by 5 shuffles     i32, atom.add.u32
//! i64     2 values     10 shuffles, two for each 8 bytes          i64, atom.add.u64
//! f32     4 values     5 shuffles                                 f64, red.add.f64
//! f64     2 values     10 shuffles, two for each 8 bytes          f64, red.add.f64
//! ```
//!
//! ## Cost
//! That of step 12, with the warp's sum from the table: one instruction for `i32` since sm_80, otherwise 5 additions with 5 or 10 shuffles.
//!
//! ## Observe
//! In the PTX: `flagship_8_f64` has two `shfl.sync.down.b32` for each step of a warp's tree.
//!
//! **Predict.** How does a warp add up `i32` values on sm_80: by shuffles, or by one instruction?
//! ```console
//! $ warpfold ptx flagship --set loads=8 --sm 80
//! ...
//! redux.sync.add.s32 ...
//! ...
//! ```
//! `flagship_8_i32` for sm_80 has no shuffle.
//!
//! ## Break it
//! Make 0.0 the identity of `f32`: the sum of a million values of −0.0 becomes 0.0. Only a test that compares bits notices.
//!
//! ## Source
//! The subnormal numbers: PTX ISA, `atom`, on `.f32` in global memory. The sum of a warp in one instruction: PTX ISA, `redux.sync`.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::prelude::*;

/// A type that the flagship adds up.
pub trait Accumulate: Copy {
    /// What a sum begins with: 0, and for floats −0.0, which changes no float that is added to it.
    const IDENTITY: Self;

    /// 16 bytes of values.
    type Vector: Copy;

    /// How many values a vector has.
    const LANES: usize = 16 / size_of::<Self>();

    /// The sum of two: integers wrap around.
    fn plus(self, other: Self) -> Self;

    /// The sum of the values in a vector.
    fn sum_of(vector: Self::Vector) -> Self;

    /// The vector that begins at any element, loaded value by value.
    ///
    /// # Safety
    /// `values` points to [`LANES`](Self::LANES) values.
    unsafe fn vector_at(values: *const Self) -> Self::Vector;

    /// The type in which the sums of the blocks are added up.
    ///
    /// For `f32` it is `f64`: the atomic addition of `f32` in global memory treats subnormal numbers as 0.
    type Total: Copy;

    /// [`Self::IDENTITY`] as a total.
    const TOTAL_IDENTITY: Self::Total;

    /// The sum of the first `lanes` values of the warp, in lane 0; `lanes` is a power of two. What the other lanes get is
    /// meaningless.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call with the same `lanes`; the values of later lanes are [`Self::IDENTITY`].
    unsafe fn warp_sum(self, lanes: u32) -> Self;

    /// Adds the value to the total, and waits for no answer.
    ///
    /// # Safety
    /// `total` points to global memory, and while others use it, they change it only by atomic operations.
    unsafe fn add_to(self, total: *mut Self::Total);
}

/// Values that one load brings.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Vector<Values>(pub Values);

impl Accumulate for i32 {
    const IDENTITY: Self = 0;
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
    const TOTAL_IDENTITY: Self = 0;

    /// Whatever `lanes` is: adding the zeros of later lanes costs nothing.
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

/// One instruction where the GPU has it, from sm_80 on.
#[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
use crate::prelude::redux_add as warp_sum_i32;

/// The shuffles of step 9 on older GPUs.
#[cfg(not(any(target_feature = "sm_80", target_feature = "compute_80")))]
use crate::ladder::l09_shuffle::warp_sum as warp_sum_i32;

/// Types whose warps add up by shuffles.
macro_rules! by_shuffles {
    ($(
        $value:ident: $zero:literal, $lanes:literal, |$left:ident, $right:ident| $plus:expr, |$vector:ident| $sum:expr,
        $add_to:ident: $total:ident;
    )*) => {$(
        impl Accumulate for $value {
            const IDENTITY: Self = $zero;
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
            const TOTAL_IDENTITY: $total = $zero;

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

/// Adds to an `i64`; see [`Accumulate::add_to`].
#[inline(always)]
unsafe fn add_i64(total: *mut i64, value: i64) {
    // SAFETY: the caller's promise.
    let total = unsafe { AtomicU64::from_ptr(total.cast()) };
    total.fetch_add(value as u64, Ordering::Relaxed);
}

/// A value that a lane can read from another lane.
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
