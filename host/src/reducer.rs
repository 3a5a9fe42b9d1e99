//! Sums of real data: which kernel adds up which type, and what its sum is worth.

use crate::case::Measured;
use crate::device::{DeviceError, Timing};
use crate::element::ElementType;
use crate::input::Values;
use crate::lesson::{self, LessonError};
use crate::machine::Machine;
use std::fmt;
use std::str::FromStr;
use warpfold_kernels::catalogue::{self, Lesson, Part, lessons_of};

/// Threads of a block: the size that the ladder is taught with.
const BLOCK: u32 = 512;

/// How values are put together into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the operator of that name")]
pub enum Operator {
    Sum,
    Product,
    Min,
    Max,
    Mean,
}

impl Operator {
    const ALL: [Self; 5] = [Self::Sum, Self::Product, Self::Min, Self::Max, Self::Mean];

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

/// One value from many.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The value.
    pub value: ReducedValue,
    /// Whether it agrees with the CPU.
    pub is_right: bool,
    /// What was measured on the way.
    pub measured: Measured,
}

/// A reduced value of the type of its input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReducedValue {
    /// A sum of integers.
    I32 {
        /// The sum modulo 2^32, as the kernel adds.
        wrapped: i32,
        /// The sum without any wrapping; another number where `wrapped` has overflowed.
        exact: i128,
    },
    /// A sum of floats.
    F32 {
        /// The sum, rounded on the way.
        sum: f32,
        /// The sum in f64 on the CPU.
        in_f64: f64,
    },
}

impl ReducedValue {
    /// Whether the type was too small: the sum of integers has wrapped, or that of floats is not finite although no value
    /// is infinite or NaN.
    pub fn has_overflowed(&self) -> bool {
        match *self {
            Self::I32 { wrapped, exact } => i128::from(wrapped) != exact,
            Self::F32 { sum, in_f64 } => !sum.is_finite() && in_f64.is_finite(),
        }
    }
}

/// Why a reduction could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// There is no kernel for it.
    #[error(
        "there is no kernel for the {operator} of {element_type} values; there is one for {}",
        supported()
    )]
    Unsupported {
        /// The operator asked for.
        operator: Operator,
        /// The type of the values.
        element_type: ElementType,
    },
    /// The kernel does not take so many values.
    #[error(transparent)]
    Lesson(LessonError),
    /// The device has not the memory, refuses the launch, or the kernel faults.
    #[error(transparent)]
    Device(DeviceError),
}

impl From<LessonError> for ReduceError {
    fn from(error: LessonError) -> Self {
        match error {
            LessonError::Device(error) => Self::Device(error),
            error => Self::Lesson(error),
        }
    }
}

/// The lessons that reductions take their kernels from.
fn kernels() -> impl DoubleEndedIterator<Item = (&'static Lesson, &'static catalogue::Reduction)> {
    lessons_of(Part::Operators)
        .iter()
        .filter_map(|lesson| Some((lesson, lesson.reduction()?)))
}

fn supported() -> String {
    let mut names: Vec<String> = kernels()
        .map(|(_, reduction)| {
            let (operator, element_type) = built_for(reduction);
            format!("the {operator} of {element_type}")
        })
        .collect();
    names.dedup();
    names.join(", ")
}

/// The operator and the type that a lesson's kernel is built for.
pub fn built_for(reduction: &catalogue::Reduction) -> (Operator, ElementType) {
    (reduction.operator.into(), reduction.element_type.into())
}

/// The lesson that reduces values of this type by this operator: where there are several, the last that the course comes to.
///
/// # Errors
/// There is none.
pub fn kernel_for(
    operator: Operator,
    element_type: ElementType,
) -> Result<&'static Lesson, ReduceError> {
    kernels()
        .rfind(|(_, reduction)| built_for(reduction) == (operator, element_type))
        .map(|(lesson, _)| lesson)
        .ok_or(ReduceError::Unsupported {
            operator,
            element_type,
        })
}

/// Reduces values on a device and verifies the result on the CPU.
///
/// On a GPU a right kernel is launched again and timed; on the emulator it is launched once and counted. The sum of
/// nothing is 0, for which nothing is launched.
///
/// # Errors
/// An operator and a type that no kernel is for; more values than one launch takes; a device without the memory; a kernel
/// that faults. A wrong result is no error: it is in the reduction.
pub fn reduce(
    machine: &Machine,
    operator: Operator,
    values: &Values,
    timing: Timing,
) -> Result<Reduction, ReduceError> {
    let element_type = values.element_type();
    let lesson = kernel_for(operator, element_type)?;
    let variant = lesson.usual(BLOCK);
    match values {
        Values::I32(values) => {
            let run = lesson::run(machine, lesson, variant, values, Some(timing))?;
            Ok(Reduction {
                value: ReducedValue::I32 {
                    wrapped: run.result,
                    exact: run.oracle.exact,
                },
                is_right: run.is_right(),
                measured: run.measured,
            })
        }
        Values::F32(values) => {
            let run = lesson::run(machine, lesson, variant, values, Some(timing))?;
            Ok(Reduction {
                value: ReducedValue::F32 {
                    sum: run.result,
                    in_f64: run.oracle.sum,
                },
                is_right: run.is_right(),
                measured: run.measured,
            })
        }
        Values::U32(_) | Values::I64(_) | Values::U64(_) | Values::F64(_) => {
            Err(ReduceError::Unsupported {
                operator,
                element_type,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_is_that_of_the_catalogue() {
        let id = |element_type| kernel_for(Operator::Sum, element_type).unwrap().id;
        assert_eq!(id(ElementType::I32), "shuffle_sum_i32");
        assert_eq!(id(ElementType::F32), "shuffle_sum_f32");
        for (lesson, _) in kernels() {
            let variant = lesson.usual(BLOCK);
            assert!(lesson.entry(variant).is_some(), "{}", lesson.id);
        }
    }

    #[test]
    fn what_has_no_kernel_is_refused_by_name() {
        let error = kernel_for(Operator::Max, ElementType::I32).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no kernel for the max of i32 values; there is one for the sum of i32, the sum of f32"
        );
    }

    #[test]
    fn overflow_is_told_from_infinities_among_the_values() {
        let float = |sum, in_f64| ReducedValue::F32 { sum, in_f64 }.has_overflowed();
        assert!(float(f32::INFINITY, 4e38) && float(f32::NAN, 0.0));
        assert!(!float(f32::INFINITY, f64::INFINITY) && !float(f32::NAN, f64::NAN));
        assert!(!float(1.0, 1.0));
        let (wrapped, exact) = (0, 1 << 32);
        assert!(ReducedValue::I32 { wrapped, exact }.has_overflowed());
    }
}
