//! The types of floats.

use crate::number::Number;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Neg;
use warpfold_kernels::for_each_element;

/// A type of floats.
pub trait Float: Copy + fmt::Debug + Send + Sync + Neg<Output = Self> + Into<Number> {
    /// What an operation rounds by at most, of its result.
    const UNIT_ROUNDOFF: f64;
    /// The greatest finite value.
    const MAX: Self;
    /// The least normal value above 0.
    const MIN_POSITIVE: Self;
    /// Beyond all of them.
    const INFINITY: Self;

    /// The same number.
    fn to_f64(self) -> f64;
    /// The nearest to that number.
    fn from_f64(number: f64) -> Self;
    /// Whether it is no number.
    fn is_nan(self) -> bool;
    /// IEEE 754's total order.
    fn total_cmp(&self, other: &Self) -> Ordering;
}

macro_rules! floats {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(floats!(@$kind $value);)* };
    (@integer $integer:ident) => {};
    (@float $float:ident) => {
        impl Float for $float {
            const UNIT_ROUNDOFF: f64 = Self::EPSILON as f64 / 2.0;
            const MAX: Self = Self::MAX;
            const MIN_POSITIVE: Self = Self::MIN_POSITIVE;
            const INFINITY: Self = Self::INFINITY;

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn from_f64(number: f64) -> Self {
                number as Self
            }

            fn is_nan(self) -> bool {
                self.is_nan()
            }

            fn total_cmp(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
        }
    };
}

for_each_element!(floats);
