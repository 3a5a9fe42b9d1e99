//! The types that lessons reduce, and what running a lesson needs to know of them.

use crate::number::Number;
use crate::oracle::{
    Compensated, ExtremeOracle, Float, FloatOracle, Integer, IntegerOracle, Oracle, Scaled,
};
use crate::random::{self, Random};
use std::collections::TryReserveError;
use std::fmt;
use warpfold::device::Pod;
use warpfold::sum::Summable;
use warpfold_kernels::catalogue::{ElementType, Operator, Reduction, Variant};
use warpfold_kernels::for_each_element;

/// A type of results that kernels leave.
pub trait Partial: Pod + Into<Number> + PartialEq + fmt::Debug {
    /// The value before a launch: one that a kernel is unlikely to leave there.
    const NO_PARTIAL: Self;
}

/// A type that lessons reduce.
pub trait Reducible: Pod + Into<Number> + PartialEq + fmt::Debug + Random {
    /// Its name in the catalogue.
    const ELEMENT_TYPE: ElementType;

    /// What kernels leave of its values: a result for each block, or a total.
    type Partial: Plain;

    /// What the host combines that into.
    type Result: Plain;

    /// The judge of results.
    type Oracle: Oracle<Self::Result> + Send + Sync;

    /// The judge of what a reduction makes of these values.
    fn oracle(reduction: &Reduction, variant: Variant, values: &[Self]) -> Self::Oracle;

    /// Combines the partials of all blocks. Without partials the sum is 0 and the product 1; the minimum is the greatest value of
    /// the type or infinity, and the maximum the least value or −infinity.
    ///
    /// Floats are combined with more digits and range than their type has, so that only the last step rounds, however many there
    /// are.
    fn finish(operator: Operator, partials: &[Self::Partial]) -> Self::Result;

    /// `n` random values, as `warpfold run` reduces them by this operator.
    ///
    /// # Errors
    /// There is not enough memory for them.
    fn random(operator: Operator, n: usize, seed: u64) -> Result<Vec<Self>, TryReserveError> {
        random::operands(operator, n, seed)
    }
}

/// A type that is reduced to itself.
pub trait Plain:
    Reducible<Partial = Self, Result = Self> + Summable<Total: Partial> + Partial
{
}

impl<T> Plain for T where
    T: Reducible<Partial = Self, Result = Self> + Summable<Total: Partial> + Partial
{
}

macro_rules! reducible {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(reducible!(@$kind $variant $value);)* };
    (@integer $variant:ident $value:ident) => {
        reducible!(@impl $variant $value: finish_integers, IntegerOracle, 0x5eed_bad0_5eed_bad0_u64 as $value);
    };
    (@float $variant:ident $value:ident) => {
        reducible!(@impl $variant $value: finish_floats, FloatOracle, $value::MAX / 1e5);
    };
    (@impl $variant:ident $value:ident: $finish:ident, $oracle:ident, $no_partial:expr) => {
        impl Partial for $value {
            const NO_PARTIAL: Self = $no_partial;
        }

        impl Reducible for $value {
            const ELEMENT_TYPE: ElementType = ElementType::$variant;

            type Partial = Self;
            type Result = Self;
            type Oracle = $oracle<Self>;

            fn oracle(reduction: &Reduction, _: Variant, values: &[Self]) -> Self::Oracle {
                Oracle::new(reduction.operator, values)
            }

            fn finish(operator: Operator, partials: &[Self]) -> Self {
                $finish(operator, partials)
            }
        }
    };
}

for_each_element!(reducible);

fn finish_integers<T: Integer>(operator: Operator, partials: &[T]) -> T {
    // The exact result, wrapped once at the end, is the same as one that wraps at each step.
    IntegerOracle::new(operator, partials).wrapped
}

fn finish_floats<T: Float>(operator: Operator, partials: &[T]) -> T {
    let in_f64 = partials.iter().map(|partial| partial.to_f64());
    match operator {
        // The sum of no values is 0.0; the compensated sum begins with −0.0.
        Operator::Sum if partials.is_empty() => T::from_f64(0.0),
        Operator::Sum => T::from_f64(Compensated::of(in_f64).total()),
        Operator::Product => {
            let product = in_f64.fold(Scaled::ONE, |product, partial| {
                product.times(Scaled::new(partial))
            });
            T::from_f64(product.to_f64())
        }
        Operator::Min | Operator::Max => ExtremeOracle::new(operator, partials).value,
    }
}

/// `with_reducible!(element_type, T => expression)`: the expression with `T` as the Rust type of that name, which is [`Plain`].
/// For the types of any lesson there is [`with_reduction!`](crate::wide::with_reduction).
#[macro_export]
macro_rules! with_reducible {
    ($element_type:expr, $name:ident => $body:expr) => {
        ::warpfold_kernels::for_each_element!([$crate::match_element_type], $element_type, $name => $body;)
    };
}

/// The `match` of [`with_reducible!`], with an arm for each row of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! match_element_type {
    ($element_type:expr, $name:ident => $body:expr; $($variant:ident $value:ident $kind:ident $bits:tt;)*) => {
        match $element_type {
            $(::warpfold_kernels::catalogue::ElementType::$variant => {
                type $name = $value;
                $body
            })*
        }
    };
}

pub use with_reducible;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_partials_are_not_rounded_before_the_end() {
        let partials = [16_777_216.0, 1.0, 1.0, -16_777_216.0];
        assert_eq!(f32::finish(Operator::Sum, &partials), 2.0);
        assert_eq!(f64::finish(Operator::Sum, &[1e16, 1.0, 1.0, -1e16]), 2.0);
        let (large, small) = (2_f64.powi(1000), 2_f64.powi(-1000));
        let partials = [large, large, small, small];
        assert_eq!(f64::finish(Operator::Product, &partials), 1.0);
    }

    #[test]
    fn integer_partials_wrap() {
        assert_eq!(i32::finish(Operator::Sum, &[i32::MAX, 1]), i32::MIN);
        assert_eq!(u64::finish(Operator::Product, &[u64::MAX, u64::MAX]), 1);
        assert_eq!(i64::finish(Operator::Min, &[3, -4, 5]), -4);
        assert_eq!(u32::finish(Operator::Max, &[3, 4, 0]), 4);
    }

    #[test]
    fn no_partials_make_the_identity_but_for_the_sign_of_a_sum() {
        assert_eq!(i32::finish(Operator::Sum, &[]), 0);
        assert_eq!(f32::finish(Operator::Sum, &[]).to_bits(), 0);
        assert_eq!(f64::finish(Operator::Sum, &[-0.0, -0.0]).to_bits(), 1 << 63);
        assert_eq!(u64::finish(Operator::Product, &[]), 1);
        assert_eq!(f64::finish(Operator::Product, &[]), 1.0);
        assert_eq!(i64::finish(Operator::Min, &[]), i64::MAX);
        assert_eq!(f32::finish(Operator::Max, &[]), f32::NEG_INFINITY);
    }

    #[test]
    fn the_extreme_partials_of_floats_know_nan() {
        assert!(f32::finish(Operator::Min, &[1.0, f32::NAN, 0.0]).is_nan());
        assert_eq!(f64::finish(Operator::Max, &[-0.0, 0.0]).to_bits(), 0);
    }
}
