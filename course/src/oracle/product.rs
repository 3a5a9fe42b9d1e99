//! The judge of products of floats: an error bound, and what overflow does.

use super::{Float, Scaled, Truth, chunk_by_chunk};
use crate::number::Number;
use std::marker::PhantomData;

/// The product of floats with more digits and a wider range than they have.
///
/// A multiplication rounds by at most u of its result (2^-24 for `f32`, 2^-53 for `f64`), and each such error stays in the product
/// as a factor, in whatever order it was made. Multiplying by a power of two does not round, so only the other factors count. With
/// m of these the product is off by at most γ = m·u/(1 − m·u) of itself. (Higham, *Accuracy and Stability of Numerical Algorithms*,
/// 2002, section 3.1.)
///
/// That holds as long as each intermediate product is a normal number. If one may be beyond the type, or below its normal numbers,
/// only the sign is certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductOracle<T> {
    product: Scaled,
    /// How many of the values are neither 0 nor a power of two, whatever their sign.
    rounding: u64,
    /// The sum of log₂|x| of the values above 1 in magnitude: no intermediate product is larger.
    upwards: f64,
    /// The sum of −log₂|x| of the values below 1 in magnitude, without zeros: no intermediate product is smaller.
    downwards: f64,
    has_zero: bool,
    has_infinity: bool,
    has_nan: bool,
    of: PhantomData<T>,
}

impl<T: Float> ProductOracle<T> {
    /// Of these values.
    pub fn new(values: &[T]) -> Self {
        let nothing = || Self {
            product: Scaled::ONE,
            rounding: 0,
            upwards: 0.0,
            downwards: 0.0,
            has_zero: false,
            has_infinity: false,
            has_nan: false,
            of: PhantomData,
        };
        let of_chunk = |chunk: &[T]| {
            let mut product = nothing();
            for value in chunk {
                product.take(value.to_f64());
            }
            product
        };
        chunk_by_chunk(values, nothing, of_chunk, Self::append)
    }

    fn take(&mut self, value: f64) {
        let factor = Scaled::new(value);
        self.product = self.product.times(factor);
        self.has_zero |= value == 0.0;
        self.has_infinity |= value.is_infinite();
        self.has_nan |= value.is_nan();
        if value == 0.0 || !value.is_finite() || value.abs() == 1.0 {
            return;
        }
        let log2 = factor.log2();
        self.rounding += u64::from(!factor.is_power_of_two());
        self.upwards += log2.max(0.0);
        self.downwards += (-log2).max(0.0);
    }

    /// Takes in the values of another.
    pub fn append(&mut self, further: &Self) {
        self.product = self.product.times(further.product);
        self.rounding += further.rounding;
        self.upwards += further.upwards;
        self.downwards += further.downwards;
        self.has_zero |= further.has_zero;
        self.has_infinity |= further.has_infinity;
        self.has_nan |= further.has_nan;
    }

    /// The product, and whether an infinity or NaN is among the values.
    pub fn truth(&self) -> Truth {
        Truth::Float {
            value: self.product,
            are_finite: !self.has_infinity && !self.has_nan,
        }
    }

    /// The product in f64: infinite or 0 where f64 is too narrow for it, and infinite, NaN or 0 where the values make it so.
    pub fn expected(&self) -> Number {
        Number::F64(self.product.to_f64())
    }

    /// How far from it a kernel's product may be; infinite where nothing is known of that.
    pub fn tolerance(&self) -> f64 {
        // One more for the final rounding on the host.
        let error = (self.rounding + 1) as f64 * T::UNIT_ROUNDOFF;
        if error >= 0.5 || self.may_leave_range() {
            return f64::INFINITY;
        }
        let magnitude = self.product.to_f64().abs();
        if magnitude == 0.0 || !magnitude.is_finite() {
            return 0.0;
        }
        // One per cent more for the oracle's own roundings.
        1.01 * error / (1.0 - error) * magnitude
    }

    /// Whether an intermediate product may be beyond the type, with half a bit of slack for roundings.
    fn may_overflow(&self) -> bool {
        self.upwards + 0.5 >= T::MAX.to_f64().log2()
    }

    /// Whether an intermediate product may be below the type's normal numbers, and so become 0.
    fn may_underflow(&self) -> bool {
        self.downwards + 0.5 >= -T::MIN_POSITIVE.to_f64().log2()
    }

    fn may_leave_range(&self) -> bool {
        self.may_overflow() || self.may_underflow()
    }

    /// NaN and the sign must be right. Infinities and zeros among the values must show. Everything else must be within the
    /// tolerance.
    pub fn accepts(&self, result: T) -> bool {
        let (expected, result) = (self.product.to_f64(), result.to_f64());
        if expected.is_nan() {
            return result.is_nan();
        }
        if result.is_nan() {
            // An infinity and a zero were multiplied.
            let infinity = self.has_infinity || self.may_overflow();
            return infinity && (self.has_zero || self.may_underflow());
        }
        if result.is_sign_negative() != expected.is_sign_negative() {
            return false;
        }
        if self.has_infinity || self.has_zero {
            return result == expected;
        }
        let tolerance = self.tolerance();
        // An infinite tolerance accepts everything, also infinities, whose difference would be NaN.
        tolerance.is_infinite() || (result - expected).abs() <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle(values: &[f32]) -> ProductOracle<f32> {
        ProductOracle::new(values)
    }

    #[test]
    fn products_are_judged_by_the_factors_that_round() {
        let exact = oracle(&[2.0, -0.5, 4.0, 1.0]);
        assert_eq!(exact.expected(), Number::F64(-4.0));
        assert!(exact.accepts(-4.0));
        assert!(!exact.accepts(4.0) && !exact.accepts(-4.000_001));
        let thirds = oracle(&[1.0 / 3.0, 3.0, 3.0]);
        assert!(thirds.accepts(3.0) && thirds.accepts(3.000_000_2));
        assert!(!thirds.accepts(3.000_002) && !thirds.accepts(f32::NAN));
        assert!(!thirds.accepts(f32::INFINITY) && !thirds.accepts(0.0));
    }

    #[test]
    fn the_product_of_nothing_is_1() {
        assert!(oracle(&[]).accepts(1.0) && !oracle(&[]).accepts(0.0));
    }

    #[test]
    fn zeros_infinities_and_nan_must_show() {
        assert!(oracle(&[3.0, -0.0]).accepts(-0.0) && !oracle(&[3.0, -0.0]).accepts(0.0));
        assert!(!oracle(&[3.0, 0.0]).accepts(f32::from_bits(1)));
        assert!(oracle(&[f32::INFINITY, -3.0]).accepts(f32::NEG_INFINITY));
        assert!(!oracle(&[f32::INFINITY, -3.0]).accepts(f32::MIN));
        for invalid in [
            &[f32::INFINITY, 0.0][..],
            &[1.0, f32::NAN],
            &[0.0, f32::NAN],
        ] {
            assert!(oracle(invalid).accepts(f32::NAN) && !oracle(invalid).accepts(0.0));
        }
    }

    #[test]
    fn where_a_product_on_the_way_can_overflow_only_the_sign_is_known() {
        let values = [1e30, 1e30, 1e-30, -1e-30];
        for possible in [-1.0, f32::NEG_INFINITY, -0.0, f32::NAN] {
            assert!(oracle(&values).accepts(possible), "{possible}");
        }
        assert!(!oracle(&values).accepts(1.0));
        assert!(
            !oracle(&[1e30, 1e30]).accepts(f32::NAN),
            "nothing to meet the infinity"
        );
        assert!(oracle(&[1e30, 1e30]).accepts(f32::INFINITY));
        let narrow = ProductOracle::<f64>::new(&[1e30, 1e30]);
        assert!(narrow.accepts(1e60) && !narrow.accepts(f64::INFINITY));
    }

    #[test]
    fn further_factors_are_factors_like_the_first() {
        let mut all = oracle(&[1.5, 2.0]);
        all.append(&oracle(&[]));
        all.append(&oracle(&[-7.0]));
        assert_eq!(all, oracle(&[1.5, 2.0, -7.0]));
        assert!(all.accepts(-21.0) && !all.accepts(-20.0));
    }
}
