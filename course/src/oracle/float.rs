//! The judge of floats: of each operator its own.

use super::{ExtremeOracle, Oracle, ProductOracle, SumOracle, Truth};
use crate::number::Number;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Neg;
use warpfold_kernels::catalogue::Operator;

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
    ($($float:ident: $unit_roundoff:expr;)*) => {$(
        impl Float for $float {
            const UNIT_ROUNDOFF: f64 = $unit_roundoff;
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
    )*};
}

floats! {
    f32: f32::EPSILON as f64 / 2.0;
    f64: f64::EPSILON / 2.0;
}

/// What the CPU knows of floats that a kernel reduces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FloatOracle<T> {
    /// Of a sum.
    Sum(SumOracle<T>),
    /// Of a product.
    Product(ProductOracle<T>),
    /// Of the least or the greatest.
    Extreme(ExtremeOracle<T>),
}

impl<T: Float> Oracle<T> for FloatOracle<T> {
    fn new(operator: Operator, values: &[T]) -> Self {
        match operator {
            Operator::Sum => Self::Sum(SumOracle::new(values)),
            Operator::Product => Self::Product(ProductOracle::new(values)),
            Operator::Min | Operator::Max => Self::Extreme(ExtremeOracle::new(operator, values)),
        }
    }

    fn append(&mut self, further: &Self) {
        match (self, further) {
            (Self::Sum(sum), Self::Sum(further)) => sum.append(further),
            (Self::Product(product), Self::Product(further)) => product.append(further),
            (Self::Extreme(extreme), Self::Extreme(further)) => extreme.append(further),
            (this, further) => unreachable!("{further:?} is of another operator than {this:?}"),
        }
    }

    fn expected(&self) -> Number {
        match self {
            Self::Sum(sum) => sum.expected(),
            Self::Product(product) => product.expected(),
            Self::Extreme(extreme) => extreme.expected(),
        }
    }

    fn truth(&self) -> Truth {
        match self {
            Self::Sum(sum) => sum.truth(),
            Self::Product(product) => product.truth(),
            Self::Extreme(extreme) => {
                let value = extreme.value.to_f64();
                Truth::of_float(value, value.is_finite())
            }
        }
    }

    fn tolerance(&self, roundings: u32) -> Option<f64> {
        match self {
            Self::Sum(sum) => Some(sum.tolerance(roundings)),
            Self::Product(product) => Some(product.tolerance()),
            Self::Extreme(_) => None,
        }
    }

    fn accepts(&self, result: T, roundings: u32) -> bool {
        match self {
            Self::Sum(sum) => sum.accepts(result, roundings),
            Self::Product(product) => product.accepts(result),
            Self::Extreme(extreme) => extreme.accepts(result),
        }
    }
}
