//! `warpfold reduce`: the numbers of a file, reduced.

mod arguments;
mod files;
mod operators;
mod place;
mod ranks;
pub mod reducer;
mod ring;
mod whole;

pub use arguments::Arguments;

use super::failure::Failure;
use super::figures::{EmulatorFigures, GpuFigures, measured_figures};
use super::output::Output;
use super::show;
use crate::reduce::reducer::{Options, ReduceError, Reduction, kernel_for};
use ring::Dealer;
use serde::Serialize;
use std::path::PathBuf;
use warpfold::DeviceChoice;
use warpfold::device::Timing;
use warpfold_course::element::ElementType;
use warpfold_course::number::Number;
use warpfold_course::operator::Operator;
use warpfold_course::oracle::Truth;
use warpfold_input::is_read_from_files;

/// Launches of the kernel that a GPU times.
const TIMING: Timing = Timing {
    repeat: 20,
    cold: false,
};

/// What the command writes as JSON.
#[derive(Serialize)]
struct Report {
    file: String,
    /// The column's cell in the header of a .csv file, where it has one.
    column: Option<String>,
    operator: &'static str,
    element_type: ElementType,
    n: u64,
    bytes: u64,
    device: String,
    /// The result in the type of the values: integers wrap, floats round. The mean of integers is in f64.
    result: Number,
    /// The sum of integers without wrapping, for a sum and a mean.
    exact_sum: Option<i128>,
    /// The sum of floats in f64 on the CPU, for a sum and a mean.
    sum_in_f64: Option<Number>,
    /// Whether the result has wrapped (integers), or is infinite or NaN though no value is (floats).
    overflowed: bool,
    is_right: bool,
    /// In how many pieces the values came.
    chunks: usize,
    /// From the first value read to the result, reading and verifying included.
    elapsed_ms: f64,
    /// The first chunk on a GPU.
    gpu: Option<GpuFigures>,
    /// All chunks on the emulator.
    emulator: Option<EmulatorFigures>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    if let Some(place) = arguments.ranks.place()? {
        return ranks::run(arguments, &place, &output);
    }
    let paths = files::expand(&arguments.files)?;
    output.check_inputs(paths.iter().map(PathBuf::as_path))?;
    let several = paths.len() > 1;
    if several {
        refuse_what_is_for_one(arguments, &paths)?;
    }
    let arguments = &Arguments {
        files: paths,
        ..arguments.clone()
    };
    let choices = arguments.choices()?;
    if let Some(axis) = arguments.axis {
        let ([] | [_]) = choices[..] else {
            return Err(Failure::Input(
                "several devices make one result; leave --axis out, or name one device".to_owned(),
            ));
        };
        return operators::run(arguments, axis, choices.first().copied(), &output);
    }
    if !several
        && arguments.group().is_none()
        && let [choice] = choices[..]
        && let Some(operator) = arguments.of_kernels()
    {
        let dealer = Dealer::new(&arguments.files, arguments.asked(), &|_, _| Ok(()))?;
        // Smaller types have no such kernels.
        if let Ok(element_type) = dealer.element_type().name().parse()
            && is_read_from_files(element_type)
        {
            return reduce_on(choice, arguments, operator, (element_type, dealer), &output);
        }
    }
    whole::run(arguments, &arguments.files, &choices, &output)
}

/// Refuses arguments that several files have no meaning for.
fn refuse_what_is_for_one(arguments: &Arguments, paths: &[PathBuf]) -> Result<(), Failure> {
    let what = if arguments.axis.is_some() {
        "--axis"
    } else if paths.iter().any(|path| path.as_os_str() == "-") {
        "-"
    } else {
        return Ok(());
    };
    Err(Failure::Input(format!(
        "{} files are reduced to one result; leave {what} out, or give one file",
        paths.len()
    )))
}

/// Reduces by a kernel of the course, chunk by chunk, and verifies the result.
fn reduce_on(
    choice: DeviceChoice,
    arguments: &Arguments,
    operator: Operator,
    (element_type, dealer): (ElementType, Dealer<'_>),
    output: &Output,
) -> Result<(), Failure> {
    // Checked before a device is opened.
    kernel_for(operator, element_type).map_err(|error| arguments.failure(error))?;
    let device = arguments.kernels.on(choice)?;
    let options = Options {
        operator,
        chunk: arguments.chunk,
        timing: TIMING,
    };
    let header = dealer.name().map(str::to_owned);
    let progress = whole::progress_bar(&arguments.files)?;
    let reduction = reducer::reduce(&device, (element_type, dealer), &options, &|bytes| {
        progress.inc(bytes);
    });
    progress.finish_and_clear();
    let reduction = reduction.map_err(|error| arguments.failure(error))?;
    let measured_bytes = reduction.measured_n * element_type.bytes() as u64;
    let (gpu, emulator) = measured_figures(&reduction.measured, measured_bytes);
    let (exact_sum, sum_in_f64) = sums(operator, reduction.truth);
    let report = Report {
        file: arguments.file().display().to_string(),
        column: header,
        operator: operator.name(),
        element_type,
        n: reduction.n,
        bytes: reduction.n * element_type.bytes() as u64,
        device: device.describe(),
        result: reduction.result,
        exact_sum,
        sum_in_f64,
        overflowed: reduction.has_overflowed(),
        is_right: reduction.is_right,
        chunks: reduction.chunks,
        elapsed_ms: reduction.elapsed.as_secs_f64() * 1e3,
        gpu,
        emulator,
    };
    print(&report, &reduction, output)?;
    output.write_json(&report)?;
    judge(arguments, operator, &reduction)
}

impl Arguments {
    /// An error with the file that it is about.
    fn failure(&self, error: ReduceError) -> Failure {
        match error {
            ReduceError::Unsupported { .. } | ReduceError::Nothing { .. } => {
                Failure::Input(format!("{}: {error}", self.file().display()))
            }
            error => error.into(),
        }
    }
}

/// The true sum, of integers and of floats, where a sum was asked for.
fn sums(operator: Operator, truth: Truth) -> (Option<i128>, Option<Number>) {
    match (operator, truth) {
        (Operator::Sum | Operator::Mean, Truth::Integer(exact)) => (Some(exact), None),
        (Operator::Sum | Operator::Mean, Truth::Float { value, .. }) => {
            (None, Some(value.to_f64().into()))
        }
        _ => (None, None),
    }
}

fn print(report: &Report, reduction: &Reduction, output: &Output) -> Result<(), Failure> {
    output.print(&report.device)?;
    output.print(format!(
        "{}{}: {} × {} ({})\n",
        report.file,
        report
            .column
            .as_ref()
            .map_or_else(String::new, |column| format!(", column '{column}'")),
        show::count(report.n),
        report.element_type,
        show::bytes(report.bytes)
    ))?;
    output.print(format!("{} = {}", report.operator, report.result))?;
    if let Some(warning) = warning(report, reduction) {
        output.print(warning)?;
    }
    if let Some(gpu) = &report.gpu {
        let of_chunk = match report.chunks {
            1 => String::new(),
            _ => format!(
                " over the first {} values",
                show::count(reduction.measured_n)
            ),
        };
        output.print(format!(
            "{} · {} GB/s (the kernel alone, median of {} launches{of_chunk})",
            show::milliseconds(gpu.elapsed_ms),
            show::significant(gpu.gigabytes_per_second),
            TIMING.repeat
        ))?;
    }
    if let Some(emulator) = &report.emulator {
        output.print(format!(
            "emulated in {} · {} elements per second, which says nothing about a GPU",
            show::milliseconds(emulator.emulated_in_ms),
            show::count((report.n as f64 / (emulator.emulated_in_ms / 1e3)) as u64)
        ))?;
    }
    if report.chunks > 1 {
        output.print(format!(
            "{} in {} chunks · {} GB/s with reading and verifying",
            show::milliseconds(report.elapsed_ms),
            show::count(report.chunks as u64),
            show::significant(report.bytes as f64 / (report.elapsed_ms * 1e6))
        ))?;
    }
    Ok(())
}

/// A warning about a result that its type cannot hold.
fn warning(report: &Report, reduction: &Reduction) -> Option<String> {
    let (operator, element_type) = (report.operator, report.element_type);
    let bits = 8 * element_type.bytes();
    // The kernel's operator: for a mean, the sum.
    let kernels = if operator == "product" {
        "product"
    } else {
        "sum"
    };
    if reduction.has_vanished() {
        return Some(format!(
            "underflow: no value is 0, but an intermediate product is too small for {element_type}; the true product is {}",
            true_result(reduction.truth)
        ));
    }
    if !report.overflowed {
        return None;
    }
    Some(match reduction.truth {
        Truth::Integer(_) | Truth::LargeInteger(_) => format!(
            "overflow: the true {operator} is {}, which {element_type} cannot hold; the result is its value modulo 2^{bits}",
            true_result(reduction.truth)
        ),
        Truth::Float { .. } => format!(
            "overflow: all values are finite, but an intermediate {kernels} is too large for {element_type}; in f64 the {kernels} is {}",
            true_result(reduction.truth)
        ),
    })
}

fn true_result(truth: Truth) -> String {
    match truth {
        Truth::Integer(exact) => exact.to_string(),
        Truth::LargeInteger(value) => format!("about {value}"),
        Truth::Float { value, .. } => {
            let in_f64 = value.to_f64();
            if value.is_zero() || in_f64.is_normal() {
                Number::F64(in_f64).to_string()
            } else {
                format!("about {value}")
            }
        }
    }
}

fn judge(arguments: &Arguments, operator: Operator, reduction: &Reduction) -> Result<(), Failure> {
    if reduction.is_right {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "{}: the {} on the device does not agree with the CPU's",
            arguments.file().display(),
            operator
        )))
    }
}
