//! The judges of floats, one for each operator.

use super::{ExtremeOracle, Float, Oracle, ProductOracle, SumOracle, Truth};
use crate::number::Number;
use warpfold_kernels::catalogue::Operator;

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
