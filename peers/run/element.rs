//! What is added up.

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use std::collections::TryReserveError;
use warpfold_course::element::ElementType;
use warpfold_course::reducible::Plain;
use warpfold_kernels::catalogue::Operator;

/// A type that contenders add up.
pub trait Element: Plain + DeserializeOwned {
    /// Of a random float, the nearest multiple of 1/64: sums of up to 2^30 of them, which are as often above 0 as below, stay so small
    /// that they have no more digits than the type, in whatever order they are added. So every right sum is the same, bit for bit, and a
    /// wrong one shows: an error bound for that many roundings is wider than the sum of random numbers itself. Integers, which wrap, as
    /// they are.
    fn without_rounding(self) -> Self;
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Element for $integer {
            fn without_rounding(self) -> Self {
                self
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Element for $float {
            fn without_rounding(self) -> Self {
                (self * 64.0).round() / 64.0
            }
        }
    )*};
}

integers! { i32 i64 }
floats! { f32 f64 }

/// The name of the type.
pub fn name<T: Element>() -> &'static str {
    ElementType::from(T::ELEMENT_TYPE).name()
}

/// This many random values.
///
/// # Errors
/// There is not enough memory for them.
pub fn values<T: Element>(n: usize, seed: u64) -> Result<Vec<T>, TryReserveError> {
    let mut values = T::random(Operator::Sum, n, seed)?;
    values
        .par_iter_mut()
        .for_each(|value| *value = value.without_rounding());
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean of one 128th would be enough to make sums of 2^30 too large for the digits of `f32`.
    #[test]
    fn sums_of_floats_stay_small_enough_not_to_round() {
        let n = 1 << 20;
        let values = values::<f32>(n, 42).expect("it fits");
        assert!(values.iter().all(|value| (value * 64.0).fract() == 0.0));
        let sum: f64 = values.iter().copied().map(f64::from).sum();
        assert!(sum.abs() < 8.0 * (n as f64).sqrt(), "{sum}");
        let forwards: f32 = values.iter().sum();
        let backwards: f32 = values.iter().rev().sum();
        assert_eq!([f64::from(forwards), f64::from(backwards)], [sum; 2]);
    }
}
