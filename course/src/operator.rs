//! Operators by the names the command line uses.

use crate::element::ElementType;
use std::fmt;
use std::str::FromStr;
use warpfold_kernels::catalogue::{self, Lesson, Part, Reduction, lessons_of};
use warpfold_kernels::for_each_operator;

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

    /// The lesson that reduces values of this type by it, or, for a mean, adds them up: where there are several, the last that
    /// the course comes to.
    pub fn kernel_for(self, element_type: ElementType) -> Option<&'static Lesson> {
        let of_kernel = match self {
            Self::Mean => Self::Sum,
            operator => operator,
        };
        lessons_of(Part::Operators).iter().rfind(|lesson| {
            lesson
                .reduction()
                .is_some_and(|reduction| built_for(reduction) == (of_kernel, element_type))
        })
    }
}

/// The operator and the type that a lesson's kernel is built for.
pub fn built_for(reduction: &Reduction) -> (Operator, ElementType) {
    (reduction.operator.into(), reduction.element_type.into())
}

macro_rules! from_catalogue {
    ($($operator:ident $name:ident;)*) => {
        impl From<catalogue::Operator> for Operator {
            fn from(operator: catalogue::Operator) -> Self {
                match operator {
                    $(catalogue::Operator::$operator => Self::$operator,)*
                }
            }
        }
    };
}

for_each_operator!(from_catalogue);

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
