//! Reductions of real data, which may be larger than memory: which kernel reduces which type, and what the result is worth.

use crate::failure::Failure;
use crate::reduce::ring::{Cold, Dealer, Size, in_turn};
use crate::show;
use std::sync::Mutex;
use std::time::Duration;
use warpfold::Device;
use warpfold::device::{DeviceError, Timing};
use warpfold_course::case::Measured;
use warpfold_course::element::ElementType;
use warpfold_course::lesson::{self, LessonError};
use warpfold_course::number::Number;
use warpfold_course::operator::Operator;
use warpfold_course::oracle::{Oracle, Truth};
use warpfold_course::reducible::{Plain, with_reducible};
use warpfold_input::FileNumber;
use warpfold_kernels::catalogue::{self, Lesson};

/// Threads of a block: the size that the ladder is taught with.
const BLOCK: u32 = 512;

/// How to reduce.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How values are combined.
    pub operator: Operator,
    /// The most values that are on the device at once; by default what [`usual_chunk_bytes`] has room for.
    pub chunk: Option<usize>,
    /// How a GPU times the first chunk.
    pub timing: Timing,
}

/// One value from many.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// How many values.
    pub n: u64,
    /// The result in the type of the values: integers wrap, floats round. The mean of integers is in f64.
    pub result: Number,
    /// The result without wrapping and rounding; of a mean, that of the sum.
    pub truth: Truth,
    /// Whether the result agrees with the CPU.
    pub is_right: bool,
    /// How many chunks the values came in.
    pub chunks: usize,
    /// What was measured: on a GPU of the first chunk, on the emulator of all.
    pub measured: Measured,
    /// How many values that was measured on.
    pub measured_n: u64,
    /// From the first value read to the result, reading and verifying included.
    pub elapsed: Duration,
}

impl Reduction {
    /// Whether the type was too small: an integer result has wrapped, or a float result is infinite or NaN although no value is.
    pub fn has_overflowed(&self) -> bool {
        match self.truth {
            Truth::LargeInteger(_) => true,
            // The mean of integers is a float, made from the true sum.
            Truth::Integer(exact) => {
                let result = self.result.to_integer();
                result.is_some_and(|result| result != exact)
            }
            Truth::Float { are_finite, .. } => {
                let result = self.result.to_float();
                are_finite && !result.is_some_and(f64::is_finite)
            }
        }
    }

    /// Whether a product of floats is 0 although no value is 0: it is too small for the type.
    pub fn has_vanished(&self) -> bool {
        let is_zero = self.result.to_float() == Some(0.0);
        is_zero && matches!(self.truth, Truth::Float { value, .. } if !value.is_zero())
    }
}

/// Why a reduction could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// There is no kernel for it.
    #[error("there is no kernel for the {operator} of {element_type} values")]
    Unsupported {
        /// The operator asked for.
        operator: Operator,
        /// The type of the values.
        element_type: ElementType,
    },
    /// An operator without a result for no values.
    #[error(
        "there are no values, and the {operator} of nothing is not defined; the sum would be 0"
    )]
    Nothing {
        /// The operator asked for.
        operator: Operator,
    },
    /// The values cannot be read; the sentence has the result of those before, if there are any.
    #[error("{0}")]
    Input(String),
    /// The kernel does not take this many values.
    #[error(transparent)]
    Lesson(LessonError),
    /// The device has too little memory or refuses the launch, or the kernel faults.
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

/// The lesson whose kernel does it.
///
/// # Errors
/// There is none.
pub fn kernel_for(
    operator: Operator,
    element_type: ElementType,
) -> Result<&'static Lesson, ReduceError> {
    operator
        .kernel_for(element_type)
        .ok_or(ReduceError::Unsupported {
            operator,
            element_type,
        })
}

/// How much of the data is on a device at once by default: an eighth of a GPU's memory, but no more than keeps it busy; less on the
/// emulator, which uses this computer's memory.
pub fn usual_chunk_bytes(device: &Device) -> u64 {
    match device.gpu_information() {
        Some(gpu) => (gpu.memory_bytes / 8).min(1 << 28),
        None => 1 << 26,
    }
}

/// Reduces the values of a file on a device, chunk by chunk, and verifies the result on the CPU. While one chunk is reduced, the
/// next one is read. `progress` is told the bytes of each chunk that has been reduced.
///
/// The host combines the results of the chunks as it combines the partials of blocks: integers wrap, floats have more digits and
/// range until the end. A mean is a sum divided by the number of values. For integers this is the true sum from the CPU, in f64,
/// because the device has only its lower bits; for floats it is the device's sum, in their type.
///
/// On a GPU the first chunk is reduced repeatedly and timed, if its result is right. The sum of no values is 0 and their product 1;
/// nothing is launched for these.
///
/// # Errors
/// There is no kernel for the operator and the type; there are no values, and no result for that; the values cannot be read; the
/// device has too little memory; the kernel faults. A wrong result is not an error: the reduction says so.
pub fn reduce(
    device: &Device,
    (element_type, dealer): (ElementType, Dealer<'_>),
    options: &Options,
    progress: &dyn Fn(u64),
) -> Result<Reduction, ReduceError> {
    let unsupported = ReduceError::Unsupported {
        operator: options.operator,
        element_type,
    };
    let lesson = kernel_for(options.operator, element_type)?;
    let reduction = lesson.reduction().ok_or(unsupported)?;
    with_reducible!(reduction.element_type, T => {
        Chunks::<T>::new(lesson, reduction.operator).reduce(device, dealer, options, progress)
    })
}

/// The results of the chunks so far.
struct Chunks<T: Plain> {
    lesson: &'static Lesson,
    /// The kernel's operator: for a mean, the sum.
    operator: catalogue::Operator,
    n: u64,
    results: Vec<T>,
    oracle: T::Oracle,
    /// The most roundings that one value goes through within its chunk.
    roundings: u32,
    are_right: bool,
    measured: Measured,
    measured_n: u64,
}

impl<T: Plain + FileNumber> Chunks<T> {
    fn new(lesson: &'static Lesson, operator: catalogue::Operator) -> Self {
        Self {
            lesson,
            operator,
            n: 0,
            results: Vec::new(),
            oracle: T::Oracle::new(operator, &[]),
            roundings: 0,
            are_right: true,
            measured: Measured::Nothing,
            measured_n: 0,
        }
    }

    fn reduce(
        mut self,
        device: &Device,
        mut dealer: Dealer<'_>,
        options: &Options,
        progress: &dyn Fn(u64),
    ) -> Result<Reduction, ReduceError> {
        let usual = usual_chunk_bytes(device) as usize / size_of::<T>();
        let most = options.chunk.unwrap_or(usual).max(1);
        let bytes = most.saturating_mul(size_of::<T>());
        let size = Size::of_chunks(bytes, dealer.most_bytes(), size_of::<T>());
        let mut memory = size
            .memory()
            .map_err(|failure| ReduceError::Input(failure.to_string()))?;
        dealer.set_out(size.piece, Cold::Through);
        let dealer = Mutex::new(dealer);
        let take = |values: &[u8]| self.take(device, bytemuck::cast_slice(values), options.timing);
        let outcome = in_turn(size, &mut memory, &dealer, take, progress)?;
        let has_none = self.n == 0;
        let reduction = self.finish(options.operator, outcome.elapsed);
        if let Some(failure) = outcome.failure {
            let of = reduction.ok().filter(|_| !has_none);
            let before = of.map_or_else(String::new, |partial| {
                format!(
                    "; a partial result, of the {} values before: {} = {}",
                    show::count(partial.n),
                    options.operator.name(),
                    partial.result
                )
            });
            return Err(ReduceError::Input(format!("{failure}{before}")));
        }
        reduction
    }

    /// Reduces one more chunk.
    fn take(&mut self, device: &Device, values: &[T], timing: Timing) -> Result<(), ReduceError> {
        if values.is_empty() {
            return Ok(());
        }
        let is_first = self.n == 0;
        let variant = self.lesson.usual(BLOCK);
        let run = lesson::run(
            device,
            self.lesson,
            variant,
            values,
            is_first.then_some(timing),
        )?;
        self.n += values.len() as u64;
        self.results.push(run.result);
        self.are_right &= run.is_right();
        self.roundings = self.roundings.max(run.roundings);
        self.oracle.append(&run.oracle);
        match (&mut self.measured, run.measured) {
            (
                Measured::Counters {
                    counters,
                    grids,
                    emulated_in_ms,
                },
                Measured::Counters {
                    counters: further,
                    grids: further_grids,
                    emulated_in_ms: further_ms,
                },
            ) => {
                *counters += further;
                *grids += further_grids;
                *emulated_in_ms += further_ms;
                self.measured_n = self.n;
            }
            (measured, first) if is_first => {
                *measured = first;
                self.measured_n = self.n;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, operator: Operator, elapsed: Duration) -> Result<Reduction, ReduceError> {
        let has_no_result = matches!(operator, Operator::Min | Operator::Max | Operator::Mean);
        if self.n == 0 && has_no_result {
            return Err(ReduceError::Nothing { operator });
        }
        let result = T::finish(self.operator, &self.results);
        let truth = self.oracle.truth();
        // One rounding more, for combining the chunks.
        let is_right = self.are_right && self.oracle.accepts(result, self.roundings + 1);
        let result = match operator {
            Operator::Mean => mean(result.into(), truth, self.n),
            _ => result.into(),
        };
        Ok(Reduction {
            n: self.n,
            result,
            truth,
            is_right,
            chunks: self.results.len(),
            measured: self.measured,
            measured_n: self.measured_n,
            elapsed,
        })
    }
}

/// The mean of n values with this sum.
fn mean(sum: Number, truth: Truth, n: u64) -> Number {
    match (sum, truth) {
        (Number::F32(sum), _) => Number::F32((f64::from(sum) / n as f64) as f32),
        (Number::F64(sum), _) => Number::F64(sum / n as f64),
        (_, Truth::Integer(exact)) => Number::F64(exact as f64 / n as f64),
        (_, Truth::LargeInteger(value) | Truth::Float { value, .. }) => {
            Number::F64(value.to_f64() / n as f64)
        }
    }
}

impl From<ReduceError> for Failure {
    fn from(error: ReduceError) -> Self {
        match error {
            ReduceError::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_kernel_for_every_operator_and_every_type_of_files() {
        for &operator in Operator::ALL {
            for &element_type in ElementType::ALL {
                let kernel = kernel_for(operator, element_type);
                assert_eq!(
                    kernel.is_ok(),
                    element_type.bytes() >= 4,
                    "the {operator} of {element_type}"
                );
            }
        }
    }

    #[test]
    fn the_kernel_is_the_last_of_the_course() {
        let id = |operator, element_type| kernel_for(operator, element_type).unwrap().id;
        assert_eq!(id(Operator::Sum, ElementType::I32), "single_pass_sum_i32");
        assert_eq!(id(Operator::Mean, ElementType::F64), "single_pass_sum_f64");
        assert_eq!(id(Operator::Max, ElementType::U64), "single_pass_max_u64");
    }

    #[test]
    fn what_has_no_kernel_is_refused_by_name() {
        let error = kernel_for(Operator::Max, ElementType::I8).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no kernel for the max of i8 values"
        );
    }

    fn reduction(result: Number, truth: Truth) -> Reduction {
        Reduction {
            n: 3,
            result,
            truth,
            is_right: true,
            chunks: 1,
            measured: Measured::Nothing,
            measured_n: 0,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn overflow_is_told_from_infinities_among_the_values() {
        let float = |result: f32, in_f64: f64, are_finite| {
            let truth = Truth::of_float(in_f64, are_finite);
            reduction(Number::F32(result), truth).has_overflowed()
        };
        assert!(float(f32::INFINITY, 4e38, true) && float(f32::NAN, 0.0, true));
        assert!(!float(f32::INFINITY, f64::INFINITY, false));
        assert!(!float(f32::NAN, f64::NAN, false) && !float(1.0, 1.0, true));
        let integer = |result, exact| reduction(result, Truth::Integer(exact)).has_overflowed();
        assert!(integer(Number::I32(0), 1 << 32) && !integer(Number::U64(7), 7));
        assert!(!integer(Number::F64(0.5), 1), "a mean");
    }

    #[test]
    fn a_product_that_vanishes_is_told_from_one_with_a_zero() {
        let vanished = |in_f64| {
            let truth = Truth::of_float(in_f64, true);
            reduction(Number::F32(0.0), truth).has_vanished()
        };
        assert!(vanished(1e-60) && !vanished(0.0));
    }

    #[test]
    fn means_are_those_of_the_true_sum() {
        let wrapped = Number::I32(-2);
        assert_eq!(
            mean(wrapped, Truth::Integer(4_294_967_294), 4),
            Number::F64(1_073_741_823.5)
        );
        let truth = Truth::of_float(1.0, true);
        assert_eq!(mean(Number::F32(1.0), truth, 3), Number::F32(1.0 / 3.0));
    }
}
