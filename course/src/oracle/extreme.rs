//! The judge of the least and the greatest of floats: exact.

use super::{Float, chunk_by_chunk};
use crate::number::Number;
use warpfold_kernels::catalogue::Operator;

/// The least or the greatest of floats, as IEEE 754-2019 defines `minimum` and `maximum`: NaN if one of them is NaN, and −0.0 is
/// less than 0.0. Nothing rounds, so a kernel's result must be the same to the last bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtremeOracle<T> {
    is_least: bool,
    /// The value; an infinity for no values, which is the identity of the operator.
    pub value: T,
}

impl<T: Float> ExtremeOracle<T> {
    /// Of these values: the least for [`Operator::Min`], otherwise the greatest.
    pub fn new(operator: Operator, values: &[T]) -> Self {
        let is_least = operator == Operator::Min;
        let nothing = || Self {
            is_least,
            value: if is_least { T::INFINITY } else { -T::INFINITY },
        };
        let of_chunk = |chunk: &[T]| {
            let mut extreme = nothing();
            for &value in chunk {
                extreme.take(value);
            }
            extreme
        };
        chunk_by_chunk(values, nothing, of_chunk, Self::append)
    }

    fn take(&mut self, value: T) {
        if self.value.is_nan() {
            return;
        }
        let order = value.total_cmp(&self.value);
        let goes_further = if self.is_least {
            order.is_lt()
        } else {
            order.is_gt()
        };
        // In the total order each NaN lies beyond an infinity; its sign decides which one.
        if value.is_nan() || goes_further {
            self.value = value;
        }
    }

    /// Takes in the values of another.
    pub fn append(&mut self, further: &Self) {
        self.take(further.value);
    }

    /// The value.
    pub fn expected(&self) -> Number {
        self.value.into()
    }

    /// Whether it is the same to the last bit. All NaNs count as the same.
    pub fn accepts(&self, result: T) -> bool {
        result.total_cmp(&self.value).is_eq() || result.is_nan() && self.value.is_nan()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f32], least: f32, greatest: f32) {
        for (operator, expected) in [(Operator::Min, least), (Operator::Max, greatest)] {
            let oracle = ExtremeOracle::new(operator, values);
            assert!(oracle.accepts(expected), "{operator:?}: {oracle:?}");
            assert!(!oracle.accepts(12345.0));
        }
    }

    #[test]
    fn nan_and_the_sign_of_zero_count() {
        check(&[1.0, -2.0, 3.0], -2.0, 3.0);
        check(&[0.0, -0.0, 0.0], -0.0, 0.0);
        check(
            &[f32::INFINITY, 1.0, f32::NEG_INFINITY],
            f32::NEG_INFINITY,
            f32::INFINITY,
        );
        check(&[], f32::INFINITY, f32::NEG_INFINITY);
        for nan in [f32::NAN, -f32::NAN] {
            check(&[1.0, nan, 3.0], f32::NAN, f32::NAN);
        }
        assert!(!ExtremeOracle::new(Operator::Min, &[0.0_f32, -0.0]).accepts(0.0));
        assert!(!ExtremeOracle::new(Operator::Max, &[0.0_f64, f64::NAN]).accepts(0.0));
    }

    #[test]
    fn the_value_of_any_chunk_counts() {
        let mut values = vec![1.0_f64; 100_000];
        values[70_000] = -5.0;
        assert!(ExtremeOracle::new(Operator::Min, &values).accepts(-5.0));
        values[30_000] = f64::NAN;
        assert!(ExtremeOracle::new(Operator::Max, &values).accepts(f64::NAN));
    }
}
