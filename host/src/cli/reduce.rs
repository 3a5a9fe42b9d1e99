//! `warpfold reduce`: the numbers of a file, reduced.

use super::failure::Failure;
use super::figures::{EmulatorFigures, GpuFigures, measured_figures};
use super::machine::{self, KernelsArguments};
use super::output::{JsonArguments, Output};
use super::show;
use serde::Serialize;
use std::path::PathBuf;
use warpfold::device::{DeviceChoice, Timing};
use warpfold::element::ElementType;
use warpfold::input;
use warpfold::number::Number;
use warpfold::reducer::{self, Operator, ReducedValue, Reduction, kernel_for};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The numbers: .npy (any shape), .csv, or raw little-endian values (.bin, or anything with --type)
    file: PathBuf,
    /// sum, product, min, max or mean; what has a kernel is the sum
    #[arg(long = "op", value_name = "OPERATOR", default_value_t = Operator::Sum)]
    operator: Operator,
    /// Type of the values: i32 u32 i64 u64 f32 f64 [default: the file's own; in a .csv i32, or f32 where not all are integers]
    #[arg(long = "type", value_name = "TYPE")]
    element_type: Option<ElementType>,
    /// Column of a .csv file: its name in the first row, or its number from 0
    #[arg(long)]
    column: Option<String>,
    /// Where to run: auto, gpu, gpu:1, emulator
    #[arg(long, default_value_t)]
    device: DeviceChoice,
    #[command(flatten)]
    kernels: KernelsArguments,
    #[command(flatten)]
    json: JsonArguments,
}

const EXAMPLES: &str = "\
Examples:
  warpfold reduce measurements.npy
  warpfold reduce flow.csv --column volume --device emulator
  warpfold reduce raw.bin --type i32 --json -";

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
    n: usize,
    bytes: u64,
    device: String,
    /// The result in the type of the values: integers wrap, floats round.
    result: Number,
    /// The sum of integers without wrapping.
    exact_sum: Option<i128>,
    /// The sum of floats in f64 on the CPU.
    sum_in_f64: Option<Number>,
    /// Whether the result has wrapped (integers), or is infinite or NaN though no value is (floats).
    overflowed: bool,
    is_right: bool,
    gpu: Option<GpuFigures>,
    emulator: Option<EmulatorFigures>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    let input::Input { values, header } = input::read(
        &arguments.file,
        arguments.element_type,
        arguments.column.as_deref(),
    )
    .map_err(Failure::input)?;
    // Before a device is opened: what no kernel is for needs none.
    kernel_for(arguments.operator, values.element_type())
        .map_err(|error| Failure::Input(format!("{}: {error}", arguments.file.display())))?;
    let machine = machine::open(arguments.device, &arguments.kernels)?;
    let reduction = reducer::reduce(&machine, arguments.operator, &values, TIMING)?;
    let bytes = values.bytes() as u64;
    let (gpu, emulator) = measured_figures(&reduction.measured, bytes);
    let (result, exact_sum, sum_in_f64) = match reduction.value {
        ReducedValue::I32 { wrapped, exact } => (wrapped.into(), Some(exact), None),
        ReducedValue::F32 { sum, in_f64 } => (sum.into(), None, Some(in_f64.into())),
    };
    let report = Report {
        file: arguments.file.display().to_string(),
        column: header,
        operator: arguments.operator.name(),
        element_type: values.element_type(),
        n: values.len(),
        bytes,
        device: machine.device().describe(),
        result,
        exact_sum,
        sum_in_f64,
        overflowed: reduction.value.has_overflowed(),
        is_right: reduction.is_right,
        gpu,
        emulator,
    };
    print(&report, &reduction, &output)?;
    output.write_json(&report)?;
    judge(arguments, &reduction)
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
        show::count(report.n as u64),
        report.element_type,
        show::bytes(report.bytes)
    ))?;
    output.print(format!("{} = {}", report.operator, report.result))?;
    if report.overflowed {
        output.print(overflow(&reduction.value))?;
    }
    if let Some(gpu) = &report.gpu {
        output.print(format!(
            "{} · {} GB/s (the kernel alone, median of {} launches)",
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
    Ok(())
}

fn overflow(value: &ReducedValue) -> String {
    match value {
        ReducedValue::I32 { exact, .. } => format!(
            "overflow: the true sum is {exact}, which i32 cannot hold; the result is what is left of it modulo 2^32"
        ),
        ReducedValue::F32 { in_f64, .. } => format!(
            "overflow: all values are finite, but a sum on the way is beyond f32; in f64 the sum is {}",
            Number::F64(*in_f64)
        ),
    }
}

fn judge(arguments: &Arguments, reduction: &Reduction) -> Result<(), Failure> {
    if reduction.is_right {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "{}: the {} on the device does not agree with the CPU's",
            arguments.file.display(),
            arguments.operator
        )))
    }
}
