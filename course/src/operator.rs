//! Operators by the names the command line uses.

use crate::element::ElementType;
use std::fmt;
use std::str::FromStr;
use warpfold_kernels::catalogue::{self, Lesson, Part, Reduction, lessons_of};
use warpfold_kernels::for_each_operator;

macro_rules! operator {
    ($($operator:ident $name:ident;)*) => {
        /// How values are combined into one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operator {
            $(
                #[doc = concat!("As [`", stringify!($operator), "`](warpfold_kernels::operators::o01_operators::", stringify!($operator), ").")]
                $operator,
            )*
            /// The sum divided by the number of values. The kernel makes the sum; the host divides.
            Mean,
        }

        impl Operator {
            /// All operators.
            pub const ALL: &[Self] = &[$(Self::$operator,)* Self::Mean];

            /// Their names, as lists in messages show them.
            pub const NAMES: &str = concat!($(stringify!($name), " ",)* "mean");

            /// Its name on the command line: `sum`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$operator => stringify!($name),)*
                    Self::Mean => "mean",
                }
            }
        }

        impl From<catalogue::Operator> for Operator {
            fn from(operator: catalogue::Operator) -> Self {
                match operator {
                    $(catalogue::Operator::$operator => Self::$operator,)*
                }
            }
        }
    };
}

for_each_operator!(operator);

impl Operator {
    /// The last lesson of the course that reduces values of this type by this operator; for a mean, the one that adds them up.
    pub fn kernel_for(self, element_type: ElementType) -> Option<&'static Lesson> {
        let of_kernel = match self {
            Self::Mean => Self::Sum,
            operator => operator,
        };
        lessons_of(Part::Operators).iter().rfind(|lesson| {
            lesson.reduction().is_some_and(|reduction| {
                let is_plain = reduction.result_type == reduction.element_type;
                is_plain && built_for(reduction) == (of_kernel, element_type)
            })
        })
    }
}

/// The operator and the type that a lesson's kernel is built for.
pub fn built_for(reduction: &Reduction) -> (Operator, ElementType) {
    (reduction.operator.into(), reduction.element_type.into())
}

impl fmt::Display for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an operator; use one of {names}", names = Operator::NAMES)]
pub struct UnknownOperator(String);

impl FromStr for Operator {
    type Err = UnknownOperator;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|operator| operator.name() == name);
        found
            .copied()
            .ok_or_else(|| UnknownOperator(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &operator in Operator::ALL {
            assert_eq!(operator.name().parse(), Ok(operator));
        }
        assert_eq!(
            "median".parse::<Operator>().unwrap_err().to_string(),
            "'median' is not an operator; use one of sum product min max mean"
        );
    }
}
