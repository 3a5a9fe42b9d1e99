//! Operators by the names the command line uses.

use std::fmt;
use std::str::FromStr;
use warpfold_kernels::catalogue;

/// How values are put together into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Addition.
    Sum,
    /// Multiplication.
    Product,
    /// The least; of floats NaN if one is NaN, and −0.0 is less than 0.0.
    Min,
    /// The greatest; of floats NaN if one is NaN, and 0.0 is greater than −0.0.
    Max,
    /// The sum by the number of values: no kernel's work, but the host's after a sum.
    Mean,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Product, Self::Min, Self::Max, Self::Mean];

    /// Its name on the command line: `sum`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }
}

impl From<catalogue::Operator> for Operator {
    fn from(operator: catalogue::Operator) -> Self {
        match operator {
            catalogue::Operator::Sum => Self::Sum,
            catalogue::Operator::Product => Self::Product,
            catalogue::Operator::Min => Self::Min,
            catalogue::Operator::Max => Self::Max,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an operator; it is one of sum product min max mean")]
pub struct UnknownOperator(String);

impl FromStr for Operator {
    type Err = UnknownOperator;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|operator| operator.name() == name)
            .ok_or_else(|| UnknownOperator(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for operator in Operator::ALL {
            assert_eq!(operator.name().parse(), Ok(operator));
        }
        assert!("median".parse::<Operator>().is_err());
    }
}
