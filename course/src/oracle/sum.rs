//! The judge of sums of floats: an error bound.

use super::{Compensated, Float, Truth, chunk_by_chunk};
use crate::number::Number;
use std::marker::PhantomData;

/// The sum of floats with about twice the digits of f64, and the sum of their magnitudes, to which rounding errors are
/// proportional.
///
/// An addition rounds by at most u of its result: 2^-24 for `f32`, 2^-53 for `f64`. If each value goes through at most r of them,
/// the sum is off by at most r·u times the sum of the absolute values; r is n + 1 at worst. (Higham, *The Accuracy of Floating
/// Point Summation*, 1993.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumOracle<T> {
    sum: Compensated,
    /// The sum of the absolute values of those that are finite.
    magnitude: f64,
    is_empty: bool,
    of: PhantomData<T>,
}

impl<T: Float> SumOracle<T> {
    /// Of these values.
    pub fn new(values: &[T]) -> Self {
        let nothing = || Self {
            sum: Compensated::IDENTITY,
            magnitude: 0.0,
            is_empty: true,
            of: PhantomData,
        };
        let of_chunk = |chunk: &[T]| {
            let mut sum = nothing();
            for value in chunk {
                let value = value.to_f64();
                sum.sum.add(value);
                if value.is_finite() {
                    sum.magnitude += value.abs();
                }
                sum.is_empty = false;
            }
            sum
        };
        chunk_by_chunk(values, nothing, of_chunk, Self::append)
    }

    /// Takes in the values of another.
    pub fn append(&mut self, further: &Self) {
        self.sum.append(&further.sum);
        self.magnitude += further.magnitude;
        self.is_empty &= further.is_empty;
    }

    /// The sum. It is infinite or NaN where infinities and NaN among the values make it so, 0.0 for no values, and −0.0 for values
    /// that are all −0.0.
    pub fn sum(&self) -> f64 {
        if self.is_empty { 0.0 } else { self.sum.total() }
    }

    /// The same.
    pub fn expected(&self) -> Number {
        Number::F64(self.sum())
    }

    /// The same, and whether an infinity or NaN is among the values.
    pub fn truth(&self) -> Truth {
        Truth::of_float(self.sum(), self.sum.are_finite())
    }

    /// How far from it a kernel's sum may be, if each value goes through this many roundings.
    pub fn tolerance(&self, roundings: u32) -> f64 {
        // One per cent more for what the bound leaves out: products of rounding errors, and those of the magnitude itself.
        1.01 * f64::from(roundings) * T::UNIT_ROUNDOFF * self.magnitude
    }

    /// Infinities and NaN among the values must show in the sum. Finite values may give an infinity, or NaN where it meets its
    /// opposite, only if they are so large that an intermediate sum can be beyond the type. Which infinity that is depends on the
    /// order of additions.
    pub fn accepts(&self, result: T, roundings: u32) -> bool {
        let (expected, result) = (self.sum(), result.to_f64());
        let bound = self.tolerance(roundings);
        let may_overflow = self.magnitude + bound >= T::MAX.to_f64();
        if expected.is_nan() {
            result.is_nan()
        } else if result.is_nan() {
            may_overflow
        } else if expected.is_infinite() {
            result == expected || self.sum.are_finite() && result.abs() > T::MAX.to_f64() / 2.0
        } else if result.is_infinite() {
            may_overflow
        } else {
            (result - expected).abs() <= bound
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle(values: &[f32]) -> SumOracle<f32> {
        SumOracle::new(values)
    }

    #[test]
    fn sums_are_judged_by_the_rounding_they_may_have() {
        let cancelling = oracle(&[1e8, 1.0, -1e8]);
        assert_eq!(cancelling.sum(), 1.0);
        assert!(cancelling.accepts(0.0, 2), "1e8 + 1 rounds to 1e8 in f32");
        assert!(!cancelling.accepts(100.0, 2));
        assert!(!cancelling.accepts(f32::NAN, 2));
        assert!(!cancelling.accepts(f32::INFINITY, 2));
        assert!(!oracle(&[1.0; 100_000]).accepts(99_999.0, 1));
    }

    #[test]
    fn f64_is_judged_more_strictly() {
        let values = [1e16, 1.0, -1e16];
        let oracle = SumOracle::<f64>::new(&values);
        assert_eq!(oracle.sum(), 1.0);
        assert!(oracle.accepts(0.0, 2) && !oracle.accepts(8.0, 2));
        assert!(!SumOracle::new(&[1.0_f64; 100_000]).accepts(100_000.0 + 1e-9, 20));
    }

    #[test]
    fn the_sum_of_nothing_is_0_and_that_of_negative_zeros_is_negative_zero() {
        let nothing = oracle(&[]);
        assert_eq!(nothing.sum().to_bits(), 0);
        assert!(nothing.accepts(0.0, 0) && !nothing.accepts(f32::MIN_POSITIVE, 9));
        assert_eq!(
            oracle(&[-0.0; 50_000]).sum().to_bits(),
            (-0.0_f64).to_bits()
        );
    }

    #[test]
    fn infinities_and_nan_among_the_values_must_show() {
        let infinite = oracle(&[1.0, f32::INFINITY]);
        assert!(infinite.accepts(f32::INFINITY, 9));
        for wrong in [f32::NEG_INFINITY, f32::MAX, f32::NAN] {
            assert!(!infinite.accepts(wrong, 9), "{wrong}");
        }
        for invalid in [
            &[f32::NAN, 1.0][..],
            &[f32::INFINITY, f32::NEG_INFINITY],
            &[f32::NAN, f32::INFINITY],
        ] {
            let invalid = oracle(invalid);
            assert!(invalid.accepts(f32::NAN, 9));
            assert!(!invalid.accepts(f32::INFINITY, 9) && !invalid.accepts(0.0, 9));
        }
    }

    #[test]
    fn only_large_values_may_overflow() {
        let large = oracle(&[f32::MAX, f32::MAX]);
        assert!(large.accepts(f32::INFINITY, 1));
        assert!(!large.accepts(f32::MAX, 1));
        let cancelling = oracle(&[f32::MAX, f32::MAX, f32::MIN, f32::MIN]);
        assert!(cancelling.accepts(0.0, 2), "in the best order");
        assert!(cancelling.accepts(f32::NAN, 2), "∞ − ∞ in the worst");
        assert!(!oracle(&[f32::MAX / 2.0, 1.0]).accepts(f32::INFINITY, 2));
        // The infinity is right, and −MAX − MAX on the way makes NaN of it.
        assert!(oracle(&[f32::INFINITY, f32::MIN, f32::MIN]).accepts(f32::NAN, 2));
    }

    #[test]
    fn a_sum_beyond_the_type_may_meet_either_infinity() {
        let (most, least) = (f64::MAX, f64::MIN);
        let oracle = SumOracle::new(&[most, most, least, least, least, least]);
        for result in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(oracle.accepts(result, 9), "{result}");
        }
        assert!(!oracle.accepts(0.0, 9));
        // An infinity among the values shows all the same.
        let infinite = SumOracle::new(&[f64::INFINITY, least, least]);
        assert!(infinite.accepts(f64::INFINITY, 9) && infinite.accepts(f64::NAN, 9));
        assert!(!infinite.accepts(f64::NEG_INFINITY, 9) && !infinite.accepts(0.0, 9));
    }

    #[test]
    fn further_values_are_values_like_the_first() {
        let mut all = oracle(&[1.0, 2.5]);
        all.append(&oracle(&[]));
        all.append(&oracle(&[-7.0]));
        assert_eq!(all, oracle(&[1.0, 2.5, -7.0]));
    }
}
