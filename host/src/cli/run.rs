//! `warpfold run`: one lesson or one CPU reference, verified and measured.

use super::failure::Failure;
use super::figures::{LessonFigures, ReferenceFigures};
use super::machine::Machine;
use super::output::{JsonArguments, Output};
use super::suggest::did_you_mean;
use super::workload::{Workload, WorkloadArguments};
use super::{footnotes, show};
use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;
use warpfold::device::DeviceChoice;
use warpfold::element::ElementType;
use warpfold::lesson;
use warpfold::oracle::{CPU_REFERENCES, CpuReference, cpu_sequential};
use warpfold::reducer::Operator;
use warpfold_kernels::catalogue::{self, LESSONS, Lesson};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold run unroll8 -n 2^22 --block 256 --device emulator\n  warpfold run cpu_parallel -n 2^26"
)]
pub struct Arguments {
    /// The lesson or CPU reference, as `warpfold lessons` lists it
    id: String,
    /// Type of the elements; the lessons are built for i32
    #[arg(long = "type", value_name = "TYPE", default_value_t = ElementType::I32)]
    element_type: ElementType,
    /// Operator; the lessons are built for sum
    #[arg(long = "op", value_name = "OPERATOR", default_value_t = Operator::Sum)]
    operator: Operator,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if (arguments.operator, arguments.element_type) != (Operator::Sum, ElementType::I32) {
        return Err(Failure::Input(format!(
            "no lesson is built for the {} of {} values; use --op sum --type i32",
            arguments.operator, arguments.element_type
        )));
    }
    let output = Output::new(&arguments.json)?;
    if let Some(lesson) = catalogue::find(&arguments.id) {
        return run_lesson(lesson, arguments, &output);
    }
    if let Some(reference) = CPU_REFERENCES
        .iter()
        .find(|reference| reference.id == arguments.id)
    {
        return run_reference(reference, arguments, &output);
    }
    let known = CPU_REFERENCES
        .iter()
        .map(|reference| reference.id)
        .chain(LESSONS.iter().map(|lesson| lesson.id));
    Err(Failure::Input(format!(
        "there is no lesson '{}'{}",
        arguments.id,
        did_you_mean(&arguments.id, known)
    )))
}

/// What the command writes as JSON.
#[derive(Serialize)]
struct Report<'a, Figures> {
    #[serde(flatten)]
    workload: &'a Workload,
    #[serde(flatten)]
    figures: &'a Figures,
}

fn run_lesson(lesson: &Lesson, arguments: &Arguments, output: &Output) -> Result<(), Failure> {
    let machine = Machine::open(arguments.workload.device)?;
    let workload = arguments.workload.on(&machine.device);
    let values = workload.values()?;
    let run = lesson::run(
        &machine.device,
        &machine.module,
        lesson,
        arguments.workload.block,
        &values,
        Some(arguments.workload.timing()),
    )?;
    let figures = LessonFigures::new(lesson, &run, workload.bytes());

    output.print(&workload.device)?;
    output.print(workload.describe())?;
    output.print(format!(
        "\nstep {}{} · {}: {}\n",
        lesson.step,
        footnotes::mark(lesson.exhibit),
        lesson.id,
        lesson.change
    ))?;
    let mut table = show::table(&[("", Left), ("value", Right)]);
    table.add_row(["sum", &figures.sum.to_string()]);
    table.add_row(["sum on the CPU", &figures.expected.to_string()]);
    table.add_row(["blocks", &show::count(figures.grid.into())]);
    if let Some(gpu) = &figures.gpu {
        table.add_row(["median time", &show::milliseconds(gpu.elapsed_ms)]);
        table.add_row(["shortest time", &show::milliseconds(gpu.fastest_ms)]);
        table.add_row(["GB/s", &show::significant(gpu.gigabytes_per_second)]);
    }
    if let Some(emulator) = &figures.emulator {
        for (name, value) in emulator.counters.rows() {
            table.add_row([name, &value]);
        }
        table.add_row(["emulated in", &show::milliseconds(emulator.emulated_in_ms)]);
    }
    output.print(show::text(&table))?;
    for note in footnotes::exhibits([lesson]) {
        output.print(format!("\n{note}"))?;
    }
    output.write_json(&Report {
        workload: &workload,
        figures: &figures,
    })?;
    judge(lesson.id, figures.sum, figures.expected)
}

fn run_reference(
    reference: &CpuReference,
    arguments: &Arguments,
    output: &Output,
) -> Result<(), Failure> {
    if arguments.workload.device != DeviceChoice::Auto {
        return Err(Failure::Input(format!(
            "{} runs on this computer's processor; leave --device out",
            reference.id
        )));
    }
    let workload = arguments.workload.on_processor();
    let mut values = workload.values()?;
    let expected = cpu_sequential(&values);
    let figures = ReferenceFigures::measure(reference, &mut values);

    output.print(&workload.device)?;
    output.print(workload.describe())?;
    output.print(format!("\n{}: {}\n", reference.id, reference.title))?;
    let mut table = show::table(&[("", Left), ("value", Right)]);
    table.add_row(["sum", &figures.sum.to_string()]);
    table.add_row(["sum of cpu_sequential", &expected.to_string()]);
    table.add_row(["median time", &show::milliseconds(figures.elapsed_ms)]);
    table.add_row(["GB/s", &show::significant(figures.gigabytes_per_second)]);
    output.print(show::text(&table))?;
    output.write_json(&Report {
        workload: &workload,
        figures: &figures,
    })?;
    judge(reference.id, figures.sum, expected)
}

fn judge(id: &str, sum: i32, expected: i32) -> Result<(), Failure> {
    if sum == expected {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "{id} gives the sum {sum}, which should be {expected}"
        )))
    }
}
