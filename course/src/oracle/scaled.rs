//! Products of f64 values that neither overflow nor lose their digits.

use std::fmt;

/// A number m·2^e with about 100 bits in m and 64 in e: the product of any number of finite f64 values fits.
///
/// The mantissa is the unevaluated sum of two f64 values, of which the second holds what the first rounds away (T. Dekker, *A
/// Floating-Point Technique for Extending the Available Precision*, 1971).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// 1 to 2 in magnitude, or 0, an infinity or NaN.
    high: f64,
    low: f64,
    exponent: i64,
}

impl Scaled {
    /// The product of no factors: 1.
    pub const ONE: Self = Self {
        high: 1.0,
        low: 0.0,
        exponent: 0,
    };

    /// A number in this form.
    pub fn new(number: f64) -> Self {
        Self {
            high: number,
            low: 0.0,
            exponent: 0,
        }
        .normalised()
    }

    /// The mantissa's first part is brought to between 1 and 2.
    fn normalised(self) -> Self {
        const EXPONENT_BITS: u64 = 0x7ff << 52;
        if self.high == 0.0 || !self.high.is_finite() {
            return Self {
                low: 0.0,
                exponent: 0,
                ..self
            };
        }
        if self.high.is_subnormal() {
            let up = Self {
                high: self.high * power_of_two(64),
                low: self.low * power_of_two(64),
                exponent: self.exponent - 64,
            };
            return up.normalised();
        }
        let exponent = ((self.high.to_bits() & EXPONENT_BITS) >> 52) as i64 - 1023;
        // In two steps: 2^-1023 would be subnormal.
        let down = |part: f64| {
            let half = exponent / 2;
            part * power_of_two(-half) * power_of_two(half - exponent)
        };
        Self {
            high: down(self.high),
            low: down(self.low),
            exponent: self.exponent + exponent,
        }
    }

    /// The product of both.
    pub fn times(self, other: Self) -> Self {
        let product = self.high * other.high;
        if product == 0.0 || !product.is_finite() {
            return Self::new(product);
        }
        let rounded_away = libm::fma(self.high, other.high, -product)
            + (self.high * other.low + self.low * other.high);
        let high = product + rounded_away;
        Self {
            high,
            low: rounded_away - (high - product),
            exponent: self.exponent + other.exponent,
        }
        .normalised()
    }

    /// As an f64: infinite where it is too large, and 0 where it is too small.
    pub fn to_f64(self) -> f64 {
        if self.exponent > 1100 {
            return self.high * f64::INFINITY;
        }
        if self.exponent < -1200 {
            return self.high * 0.0;
        }
        // The first step is exact, and so only the second rounds. Adding 0.0 would turn −0.0 into 0.0.
        let mantissa = if self.low == 0.0 {
            self.high
        } else {
            self.high + self.low
        };
        let first = self.exponent.clamp(-1000, 1000);
        mantissa * power_of_two(first) * power_of_two(self.exponent - first)
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.high == 0.0
    }

    /// Whether its magnitude is a power of two.
    pub fn is_power_of_two(self) -> bool {
        self.high.abs() == 1.0 && self.low == 0.0
    }

    /// log₂ of its magnitude.
    pub fn log2(self) -> f64 {
        self.high.abs().log2() + self.exponent as f64
    }
}

/// 2 to the power of an exponent of a normal f64.
fn power_of_two(exponent: i64) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent), "2^{exponent}");
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Six digits and a power of ten, also where that is beyond f64.
impl fmt::Display for Scaled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.to_f64();
        if self.high == 0.0 || !self.high.is_finite() || number.is_normal() {
            return write!(formatter, "{number:.5e}");
        }
        let log10 = self.log2() * std::f64::consts::LOG10_2;
        let sign = if self.high < 0.0 { "-" } else { "" };
        let (power, digits) = (log10.floor(), 10_f64.powf(log10 - log10.floor()));
        write!(formatter, "{sign}{digits:.5}e{power}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(factors: &[f64]) -> Scaled {
        factors.iter().fold(Scaled::ONE, |product, &factor| {
            product.times(Scaled::new(factor))
        })
    }

    #[test]
    fn numbers_survive() {
        for number in [
            0.0,
            -0.0,
            1.0,
            -3.5,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(12345),
        ] {
            assert_eq!(
                Scaled::new(number).to_f64().to_bits(),
                number.to_bits(),
                "{number}"
            );
        }
        assert_eq!(Scaled::new(f64::NEG_INFINITY).to_f64(), f64::NEG_INFINITY);
        assert!(Scaled::new(f64::NAN).to_f64().is_nan());
    }

    #[test]
    fn a_product_leaves_the_range_of_f64_and_comes_back() {
        let (large, small) = (2_f64.powi(1000), 2_f64.powi(-1000));
        assert_eq!(product(&[large, large, small, small]).to_f64(), 1.0);
        assert_eq!(product(&[small, small, -large, large]).to_f64(), -1.0);
        assert_eq!(product(&[-1e300, 1e300]).to_f64(), f64::NEG_INFINITY);
        assert_eq!(
            product(&[-1e-300, 1e-300]).to_f64().to_bits(),
            (-0.0_f64).to_bits()
        );
        assert_eq!(product(&[2.0; 5000]).log2(), 5000.0);
    }

    #[test]
    fn digits_are_kept_beyond_those_of_f64() {
        // (1 + 2^-30)^2 (1 - 2^-30)^2 = 1 - 2^-59 + 2^-120.
        let step = 2_f64.powi(-30);
        let product = product(&[1.0 + step, 1.0 + step, 1.0 - step, 1.0 - step]);
        assert_eq!((product.high, product.exponent), (1.0, 0));
        assert_eq!(product.low, -(2_f64.powi(-59)));
    }

    #[test]
    fn special_numbers_multiply_as_ieee_says() {
        assert_eq!(
            product(&[2.0, f64::INFINITY, -1.0]).to_f64(),
            f64::NEG_INFINITY
        );
        assert!(product(&[0.0, f64::INFINITY]).to_f64().is_nan());
        assert!(product(&[0.0, f64::NAN]).to_f64().is_nan());
        assert_eq!(
            product(&[-1.0, 0.0, 1e300, 1e300]).to_f64().to_bits(),
            (-0.0_f64).to_bits()
        );
    }

    #[test]
    fn any_of_them_can_be_shown() {
        let shown = |factors: &[f64]| product(factors).to_string();
        assert_eq!(shown(&[1e300, -1e300]), "-1.00000e600");
        assert_eq!(shown(&[2.5e-300, 1e-300]), "2.50000e-600");
        assert_eq!(shown(&[1.5]), "1.50000e0");
        assert_eq!(shown(&[f64::INFINITY]), "inf");
    }
}
