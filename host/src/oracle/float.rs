//! The judge of floats: an error bound.

use super::Oracle;
use crate::number::Number;
use rayon::prelude::*;
use warpfold_kernels::catalogue::Operator;

/// The sum of `f32` values in f64, and how large they are, which is what rounding errors are proportional to.
///
/// An addition rounds by at most 2^-24 of its result. Where each value goes through at most r of them, the sum is off by
/// at most r·2^-24 times the sum of the absolute values. (Higham, *The Accuracy of Floating Point Summation*, 1993.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatOracle {
    /// The sum of the values: infinite or NaN where infinities and NaN among them make it so.
    pub sum: f64,
    /// The sum of the absolute values of those that are finite.
    pub magnitude: f64,
}

impl FloatOracle {
    fn bound(&self, roundings: u32) -> f64 {
        // A hundredth more for what the bound leaves out: products of roundings, and the roundings of f64.
        1.01 * f64::from(roundings) * 2_f64.powi(-24) * self.magnitude
    }
}

impl Oracle<f32> for FloatOracle {
    fn new(operator: Operator, values: &[f32]) -> Self {
        let magnitude = |value: f32| f64::from(if value.is_finite() { value.abs() } else { 0.0 });
        match operator {
            Operator::Sum => Self {
                sum: sum_of_terms(values, f64::from),
                magnitude: sum_of_terms(values, magnitude),
            },
        }
    }

    fn expected(&self) -> Number {
        Number::F64(self.sum)
    }

    fn tolerance(&self, roundings: u32) -> Option<f64> {
        Some(self.bound(roundings))
    }

    /// Infinities and NaN among the values must show in the sum. Finite values may only come to an infinity (and, where
    /// it meets its opposite, to NaN) if they are so large that a sum on the way can be beyond f32.
    fn accepts(&self, result: f32, roundings: u32) -> bool {
        let (expected, result) = (self.sum, f64::from(result));
        let bound = self.bound(roundings);
        let may_overflow = self.magnitude + bound >= f64::from(f32::MAX);
        if expected.is_nan() {
            result.is_nan()
        } else if result.is_nan() {
            may_overflow
        } else if expected.is_infinite() {
            result == expected
        } else if result.is_infinite() {
            may_overflow
        } else {
            (result - expected).abs() <= bound
        }
    }
}

/// The sum of a term for each value: chunk by chunk on all cores, always in the same order.
fn sum_of_terms(values: &[f32], term: impl Fn(f32) -> f64 + Sync) -> f64 {
    const CHUNK_ELEMENTS: usize = 1 << 12;
    let chunks: Vec<f64> = values
        .par_chunks(CHUNK_ELEMENTS)
        .map(|chunk| sum_in_f64(chunk.iter().map(|&value| term(value))))
        .collect();
    sum_in_f64(chunks)
}

/// The sum from left to right; 0.0 for nothing, and −0.0 for nothing but −0.0.
pub(crate) fn sum_in_f64(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms
        .into_iter()
        .reduce(|sum, term| sum + term)
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle(values: &[f32]) -> FloatOracle {
        FloatOracle::new(Operator::Sum, values)
    }

    #[test]
    fn sums_are_judged_by_the_rounding_they_may_have() {
        let cancelling = oracle(&[1e8, 1.0, -1e8]);
        assert_eq!(cancelling.sum, 1.0);
        assert!(cancelling.accepts(0.0, 2), "1e8 + 1 rounds to 1e8 in f32");
        assert!(!cancelling.accepts(100.0, 2));
        assert!(!cancelling.accepts(f32::NAN, 2));
        assert!(!cancelling.accepts(f32::INFINITY, 2));
        assert!(!oracle(&[1.0; 100_000]).accepts(99_999.0, 1));
    }

    #[test]
    fn the_sum_of_nothing_is_0_and_that_of_negative_zeros_is_negative_zero() {
        let nothing = oracle(&[]);
        assert_eq!(nothing.sum.to_bits(), 0);
        assert!(nothing.accepts(0.0, 0) && !nothing.accepts(f32::MIN_POSITIVE, 9));
        assert_eq!(oracle(&[-0.0; 5000]).sum.to_bits(), (-0.0_f64).to_bits());
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
}
