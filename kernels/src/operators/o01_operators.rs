//! # Operators and types 1 · What a tree needs to know
//!
//! ## Before
//! The ladder adds up `i32` values and nothing else. A second type, or a product instead of a sum, would be a second copy
//! of every file, in which one line differs.
//!
//! ## Idea
//! Take that line out. A tree of threads needs to know two things of an operator: how it combines two values, and which
//! value stands for a missing element. That is an [`Operator`]. A warp needs to know of a type how a lane reads a value of
//! it from another lane. That is a [`Value`]. The pages that follow have one body each, generic over both, and the compiler
//! emits one kernel for each combination that is asked for. Nothing generic is left at run time.
//!
//! Not every function of two values will do. The tree groups and orders the elements as suits the hardware, so the operator
//! must obey the laws that [`Operator`] states. A mean obeys none of them, and needs no kernel: it is a sum, and one
//! division on the host.
//!
//! Floats obey one law only approximately: each addition and each multiplication rounds, so another grouping gives another
//! result. Here the tree has an advantage. A sum is off by at most 2⁻²⁴·Σ|x| (`f32`; 2⁻⁵³ for `f64`) for each addition that
//! a value goes through. In step 9 with B = 512 those are 16 at most, while a loop from left to right takes the first value
//! through n − 1. A product has no such advantage: every rounding on the way stays in the result as a factor, so it is off
//! by up to n − 1 roundings in any order.
//!
//! The minimum and maximum of floats never round, but IEEE 754 has two versions of each. These are `minimum` and `maximum`
//! of 2019: if one value is NaN, so is the result, as in a sum, and −0.0 is less than 0.0, so the order cannot matter.
//!
//! ## Picture
//! The same tree for each operator; a missing element is the identity:
//! ```text
//! elements      5   −2    9            Sum  0    Product  1    Min  2³¹ − 1    Max  −2³¹
//!               └─⊕─┘     └─⊕─┘ identity
//!                  └────⊕────┘         12        −90           −2              9
//! ```
//!
//! ## Cost
//! That of the step whose body is generic: for the sum of `i32`, combining two values is one instruction. A 64-bit type
//! takes two shuffles instead of one. The minimum and maximum of floats take a handful of comparisons where `min.f32` would
//! be one instruction. But `min.f32` drops a NaN, and `min.NaN.f32`, which does not, exists only from sm_80 on, and only
//! for `f32`.
//!
//! ## Observe
//! In the PTX: `shuffle_product_f64` is `shuffle_sum_f64`, with `mul.rn.f64` for `add.rn.f64` and another identity.
//! The sum of floats may differ from the CPU's, within the rounding allowed.
//!
//! **Predict.** The tree adds up 2¹⁶ values of `f32` in another order than the CPU. Is its sum nearly as far off as
//! the rounding allowed, or much closer?
//! ```console
//! $ warpfold run shuffle_sum_f32 -n 2^16
//! ...
//! sum                                      -42.06
//! sum on the CPU                -42.0600026845932
//! rounding allowed                        0.03553
//! ...
//! ```
//! Much closer: the bound is for the worst case, in which every rounding goes the same way.
//!
//! ## Break it
//! Use 0.0 as the identity of the sum of floats: the sum of values that are all −0.0 becomes 0.0, which only a test of the
//! bits notices. Use `left.min(right)` as the minimum of floats: it drops a NaN, and so breaks the law of the identity.
//!
//! ## Source
//! The laws are those of a commutative monoid; Guy Blelloch, *Prefix Sums and Their Applications* (1990), builds
//! parallel algorithms on them. The bounds: Nicholas Higham, *The Accuracy of Floating Point Summation* (1993), and
//! *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1. IEEE 754-2019, section 9.6.

use crate::for_each_element;
use crate::prelude::*;

/// A type of values that a warp can reduce.
pub trait Value: Copy {
    /// The value of the lane `delta` above this one, or this lane's own if there is no such lane.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it with the same `delta`, and none has exited.
    unsafe fn shuffle_down(self, delta: u32) -> Self;
}

/// Each type by its bits: a shuffle moves bits, whatever they mean.
macro_rules! values {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(values!(@$kind $bits $value);)* };
    (@integer 32 $value:ident) => { values!(@impl $value: shuffle_down_32, |v| v as u32, |bits| bits as $value); };
    (@integer 64 $value:ident) => { values!(@impl $value: shuffle_down_64, |v| v as u64, |bits| bits as $value); };
    (@float 32 $value:ident) => { values!(@impl $value: shuffle_down_32, |v| v.to_bits(), $value::from_bits); };
    (@float 64 $value:ident) => { values!(@impl $value: shuffle_down_64, |v| v.to_bits(), $value::from_bits); };
    (@impl $value:ident: $shuffle:ident, |$this:ident| $to_bits:expr, $from_bits:expr) => {
        impl Value for $value {
            #[inline(always)]
            unsafe fn shuffle_down(self, delta: u32) -> Self {
                let $this = self;
                // SAFETY: the caller's promise.
                let bits = unsafe { $shuffle($to_bits, delta) };
                ($from_bits)(bits)
            }
        }
    };
}

for_each_element!(values);

/// One shuffle.
///
/// # Safety
/// As for [`Value::shuffle_down`].
#[inline(always)]
unsafe fn shuffle_down_32(bits: u32, delta: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { shuffle_down(bits as i32, delta) as u32 }
}

/// Two shuffles, one for each half: a shuffle moves 32 bits.
///
/// # Safety
/// As for [`Value::shuffle_down`].
#[inline(always)]
unsafe fn shuffle_down_64(bits: u64, delta: u32) -> u64 {
    // SAFETY: the caller's promise.
    let (low, high) = unsafe {
        (
            shuffle_down_32(bits as u32, delta),
            shuffle_down_32((bits >> 32) as u32, delta),
        )
    };
    u64::from(high) << 32 | u64::from(low)
}

/// A way to combine values of type `T`, two at a time, in any order and grouping.
///
/// # Laws
/// For all values a, b and c, where ⊕ is [`combine`](Self::combine):
/// - a ⊕ [`IDENTITY`](Self::IDENTITY) = a, to the last bit (a NaN stays a NaN);
/// - a ⊕ b = b ⊕ a, to the last bit (a NaN, where one is a NaN);
/// - (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c); sums and products of floats obey it only up to the rounding of each ⊕.
pub trait Operator<T> {
    /// The value that stands for a missing element.
    const IDENTITY: T;

    /// Combines two values.
    fn combine(left: T, right: T) -> T;
}

/// Adds: integers wrap around, floats round to the nearest.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

/// Multiplies: integers wrap around, floats round to the nearest.
#[derive(Clone, Copy, Debug)]
pub struct Product;

/// The lesser of two; of floats NaN if one is NaN, and −0.0 is less than 0.0.
#[derive(Clone, Copy, Debug)]
pub struct Min;

/// The greater of two; of floats NaN if one is NaN, and 0.0 is greater than −0.0.
#[derive(Clone, Copy, Debug)]
pub struct Max;

/// `operator!(Sum, i32: identity, |left, right| both combined);`
macro_rules! operator {
    ($operator:ty, $value:ty: $identity:expr, |$left:ident, $right:ident| $combined:expr) => {
        impl Operator<$value> for $operator {
            const IDENTITY: $value = $identity;

            #[inline(always)]
            fn combine($left: $value, $right: $value) -> $value {
                $combined
            }
        }
    };
}

/// Every operator for every type, by whether the type is an integer or a float.
macro_rules! operators {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(operators!(@$kind $value);)* };
    (@integer $value:ident) => {
        operator!(Sum, $value: 0, |left, right| left.wrapping_add(right));
        operator!(Product, $value: 1, |left, right| left.wrapping_mul(right));
        operator!(Min, $value: $value::MAX, |left, right| if right < left { right } else { left });
        operator!(Max, $value: $value::MIN, |left, right| if right > left { right } else { left });
    };
    (@float $value:ident) => {
        // Not 0.0: −0.0 + 0.0 is 0.0.
        operator!(Sum, $value: -0.0, |left, right| left + right);
        operator!(Product, $value: 1.0, |left, right| left * right);
        // The left one if it is NaN, less, or the negative one of two zeros. Otherwise the right one: it is less, it alone is NaN, or
        // both are the same.
        operator!(Min, $value: $value::INFINITY, |left, right| {
            let is_left = (left < right) | left.is_nan() | ((left == right) & left.is_sign_negative());
            if is_left { left } else { right }
        });
        operator!(Max, $value: $value::NEG_INFINITY, |left, right| {
            let is_left = (left > right) | left.is_nan() | ((left == right) & left.is_sign_positive());
            if is_left { left } else { right }
        });
    };
}

for_each_element!(operators);
