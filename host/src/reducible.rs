//! The types that lessons reduce: what running one needs to know of its type.

use crate::device::Pod;
use crate::number::Number;
use crate::oracle::{FloatOracle, IntegerOracle, Oracle, cpu_sequential, sum_in_f64};
use crate::random;
use std::collections::TryReserveError;
use std::fmt;
use warpfold_kernels::catalogue::{ElementType, Operator};

/// A type that there are lessons for.
pub trait Reducible: Pod + Into<Number> + PartialEq + fmt::Debug {
    /// Its name in the catalogue.
    const ELEMENT_TYPE: ElementType;

    /// What the partials hold before a launch: nothing that a kernel is likely to leave there.
    const NO_PARTIAL: Self;

    /// The judge of results of this type.
    type Oracle: Oracle<Self>;

    /// `n` random values, as `warpfold run` reduces them.
    ///
    /// # Errors
    /// There is not enough memory for them.
    fn random(n: usize, seed: u64) -> Result<Vec<Self>, TryReserveError>;

    /// Puts the partials of all blocks together; the sum of none is 0.
    fn finish(operator: Operator, partials: &[Self]) -> Self;
}

impl Reducible for i32 {
    const ELEMENT_TYPE: ElementType = ElementType::I32;

    const NO_PARTIAL: Self = 0x5eed_bad0;

    type Oracle = IntegerOracle;

    fn random(n: usize, seed: u64) -> Result<Vec<Self>, TryReserveError> {
        random::i32_values(n, seed)
    }

    fn finish(operator: Operator, partials: &[Self]) -> Self {
        match operator {
            Operator::Sum => cpu_sequential(partials),
        }
    }
}

impl Reducible for f32 {
    const ELEMENT_TYPE: ElementType = ElementType::F32;

    const NO_PARTIAL: Self = 1.0e33;

    type Oracle = FloatOracle;

    fn random(n: usize, seed: u64) -> Result<Vec<Self>, TryReserveError> {
        random::f32_values(n, seed)
    }

    /// In f64, so that the number of blocks adds no rounding but the last.
    fn finish(operator: Operator, partials: &[Self]) -> Self {
        match operator {
            Operator::Sum => sum_in_f64(partials.iter().map(|&partial| f64::from(partial))) as Self,
        }
    }
}

/// `with_reducible!(element_type, T => expression)`: the expression with `T` as the Rust type of that name.
#[macro_export]
macro_rules! with_reducible {
    ($element_type:expr, $name:ident => $body:expr) => {
        match $element_type {
            ::warpfold_kernels::catalogue::ElementType::I32 => {
                type $name = i32;
                $body
            }
            ::warpfold_kernels::catalogue::ElementType::F32 => {
                type $name = f32;
                $body
            }
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
    }

    #[test]
    fn the_sum_of_no_partials_is_0() {
        assert_eq!(i32::finish(Operator::Sum, &[]), 0);
        assert_eq!(f32::finish(Operator::Sum, &[]).to_bits(), 0);
    }
}
