//! Sums of real data: which kernel adds up which type, and what its sum is worth.

use crate::device::{Device, DeviceError, Module, Pod, Shape, Timing};
use crate::element::ElementType;
use crate::input::Values;
use crate::oracle::{FloatOracle, cpu_sequential};
use crate::partials::{Measured, PartialsLaunch};
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;
use warpfold_kernels::catalogue::{self, Geometry, Lesson};

/// The lesson that reduces each type by each operator. What is not in this table is not supported.
const KERNELS: &[(Operator, ElementType, &str)] = &[(Operator::Sum, ElementType::I32, "shuffle")];

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
        /// Whether it is infinite or NaN although no value is.
        overflowed: bool,
    },
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
    /// More elements than a grid has blocks for.
    #[error("{n} values are more than one launch takes; split the file")]
    TooManyValues {
        /// The number of values.
        n: usize,
    },
    /// The device has not the memory, refuses the launch, or the kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn supported() -> String {
    let kernels: Vec<String> = KERNELS
        .iter()
        .map(|(operator, element_type, _)| format!("the {operator} of {element_type}"))
        .collect();
    kernels.join(", ")
}

/// The lesson that reduces values of this type by this operator.
///
/// # Errors
/// There is none.
pub fn kernel_for(
    operator: Operator,
    element_type: ElementType,
) -> Result<&'static Lesson, ReduceError> {
    KERNELS
        .iter()
        .find(|kernel| (kernel.0, kernel.1) == (operator, element_type))
        .and_then(|(_, _, id)| catalogue::find(id))
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
/// An operator and a type that no kernel is for; a device without the memory; a kernel that faults. A wrong result is
/// no error: it is in the reduction.
pub fn reduce(
    device: &Device,
    module: &Module,
    operator: Operator,
    values: &Values,
    timing: Timing,
) -> Result<Reduction, ReduceError> {
    let lesson = kernel_for(operator, values.element_type())?;
    let launch = Launch {
        device,
        module,
        lesson,
        timing,
    };
    match values {
        Values::I32(values) => {
            let (partials, measured) = launch.partials(values, 0x5eed_bad0)?;
            let wrapped = cpu_sequential(&partials);
            let exact: i128 = values.par_iter().map(|&value| i128::from(value)).sum();
            Ok(Reduction {
                value: ReducedValue::I32 { wrapped, exact },
                // Wrapping is arithmetic modulo 2^32, which is what the truncation does to the exact sum.
                is_right: wrapped == exact as i32,
                measured,
            })
        }
        Values::F32(values) => {
            let (partials, measured) = launch.partials(values, f32::NAN)?;
            let sum = partials
                .iter()
                .fold(0.0, |sum, &partial| sum + f64::from(partial)) as f32;
            let oracle = FloatOracle::new(values);
            Ok(Reduction {
                value: ReducedValue::F32 {
                    sum,
                    overflowed: !sum.is_finite() && oracle.sum.is_finite(),
                },
                is_right: oracle.accepts(sum, launch.roundings()),
                measured,
            })
        }
        Values::U32(_) | Values::I64(_) | Values::U64(_) | Values::F64(_) => {
            Err(ReduceError::Unsupported {
                operator,
                element_type: values.element_type(),
            })
        }
    }
}

/// What every launch of a reduction needs, whatever the type.
struct Launch<'a> {
    device: &'a Device,
    module: &'a Module,
    lesson: &'static Lesson,
    timing: Timing,
}

impl Launch<'_> {
    /// One partial result per block; none for no values.
    fn partials<T: Pod>(
        &self,
        values: &[T],
        no_partial: T,
    ) -> Result<(Vec<T>, Measured), ReduceError> {
        if values.is_empty() {
            return Ok((Vec::new(), Measured::Nothing));
        }
        let n = values.len();
        let blocks = u32::try_from(self.lesson.grid(n as u64, BLOCK))
            .map_err(|_| ReduceError::TooManyValues { n })?;
        let entry = self
            .lesson
            .entry(BLOCK)
            .ok_or_else(|| DeviceError::NoEntry {
                entry: format!("{} for blocks of {BLOCK} threads", self.lesson.id),
            })?;
        let kernel = self.module.kernel(entry)?;
        let shape = Shape::linear(blocks, BLOCK);
        // SAFETY: the table of kernels names lessons that take (input, partials, n) over the type of the values and,
        // launched with the catalogue's geometry, keep to n elements and one partial per block.
        let mut launch = unsafe {
            PartialsLaunch::new(
                self.device,
                kernel,
                shape,
                values,
                self.lesson.in_place,
                no_partial,
            )?
        };
        let measured = match self.device {
            Device::Gpu(_) => Measured::Times(launch.time(&self.timing)?),
            Device::Emulator(_) => launch.first()?,
        };
        Ok((launch.partials()?, measured))
    }

    /// The most roundings that one value goes through: the additions of its thread, those of the tree, and the last
    /// one to f32, after the partials were added up in f64.
    fn roundings(&self) -> u32 {
        let Geometry::Tiles {
            elements_per_thread,
        } = self.lesson.geometry;
        elements_per_thread + BLOCK.ilog2() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_the_table_is_in_the_catalogue() {
        for &(operator, element_type, id) in KERNELS {
            let lesson = kernel_for(operator, element_type).unwrap();
            assert_eq!(lesson.id, id);
            assert!(lesson.entry(BLOCK).is_some(), "{id}");
        }
    }

    #[test]
    fn what_has_no_kernel_is_refused_by_name() {
        let error = kernel_for(Operator::Max, ElementType::I32).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no kernel for the max of i32 values; there is one for the sum of i32"
        );
    }
}
