//! Results that no type wraps or rounds.

use super::Scaled;

/// What a reduction would come to if its type had no bounds, as exactly as the CPU knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truth {
    /// Of integers.
    Integer(i128),
    /// Of integers, where it is beyond 128 bits.
    LargeInteger(Scaled),
    /// Of floats.
    Float {
        /// The number; of a sum no more exact than f64.
        value: Scaled,
        /// Whether no value was infinite or NaN.
        are_finite: bool,
    },
}

impl Truth {
    /// Of floats, a number that f64 holds.
    pub fn of_float(number: f64, are_finite: bool) -> Self {
        Self::Float {
            value: Scaled::new(number),
            are_finite,
        }
    }
}
