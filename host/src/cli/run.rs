//! `warpfold run`: one lesson or one CPU reference, verified and measured.

use super::failure::Failure;
use super::figures::{LessonFigures, ReferenceFigures};
use super::machine::{KernelsArguments, Machine};
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
use warpfold::reducer::{Operator, built_for, kernel_for};
use warpfold::reducible::Reducible;
use warpfold_kernels::catalogue::{self, LESSONS, Lesson};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold run unroll8 -n 2^22 --block 256 --device emulator\n  warpfold run shuffle_sum_f32\n  warpfold run cpu_parallel -n 2^26"
)]
pub struct Arguments {
    /// The lesson or CPU reference, as `warpfold lessons` lists it
    id: String,
    /// Type of the elements, to be sure of it: a lesson is built for one, which is the default
    #[arg(long = "type", value_name = "TYPE")]
    element_type: Option<ElementType>,
    /// Operator, to be sure of it: a lesson is built for one, which is the default
    #[arg(long = "op", value_name = "OPERATOR")]
    operator: Option<Operator>,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    if let Some(lesson) = catalogue::find(&arguments.id) {
        arguments.check_built_for(built_for(lesson))?;
        return match lesson.element_type {
            catalogue::ElementType::I32 => run_lesson::<i32>(lesson, arguments, &output),
            catalogue::ElementType::F32 => run_lesson::<f32>(lesson, arguments, &output),
        };
    }
    if let Some(reference) = CPU_REFERENCES
        .iter()
        .find(|reference| reference.id == arguments.id)
    {
        arguments.check_built_for((Operator::Sum, ElementType::I32))?;
        return run_reference(reference, arguments, &output);
    }
    let known = CPU_REFERENCES
        .iter()
        .map(|reference| reference.id)
        .chain(LESSONS.iter().map(|lesson| lesson.id));
    Err(Failure::Input(format!(
        "there is no lesson `{}`{}",
        arguments.id,
        did_you_mean(&arguments.id, known)
    )))
}

impl Arguments {
    /// Whether `--op` and `--type`, where they are given, are what the lesson is built for.
    fn check_built_for(&self, built_for: (Operator, ElementType)) -> Result<(), Failure> {
        let (operator, element_type) = built_for;
        let asked = (
            self.operator.unwrap_or(operator),
            self.element_type.unwrap_or(element_type),
        );
        if asked == built_for {
            return Ok(());
        }
        let instead = match kernel_for(asked.0, asked.1) {
            Ok(lesson) => format!("`{}` is", lesson.id),
            Err(_) => "no lesson is".to_owned(),
        };
        Err(Failure::Input(format!(
            "`{}` is built for the {operator} of {element_type} values, not for the {} of {} values; {instead}",
            self.id, asked.0, asked.1
        )))
    }
}

/// What the command writes as JSON.
#[derive(Serialize)]
struct Report<'a, Figures> {
    #[serde(flatten)]
    workload: &'a Workload,
    #[serde(flatten)]
    figures: &'a Figures,
}

fn run_lesson<T: Reducible>(
    lesson: &Lesson,
    arguments: &Arguments,
    output: &Output,
) -> Result<(), Failure> {
    let machine = Machine::open(arguments.workload.device, &arguments.kernels)?;
    let workload = arguments
        .workload
        .on(&machine.device, T::ELEMENT_TYPE.into());
    let values = workload.values::<T>()?;
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
        "\n{}, step {}{} · {}: {}\n",
        lesson.part.title(),
        lesson.step,
        footnotes::mark(lesson.exhibit),
        lesson.id,
        lesson.change
    ))?;
    let mut table = show::table(&[("", Left), ("value", Right)]);
    let (operator, _) = built_for(lesson);
    table.add_row([operator.name(), &figures.result.to_string()]);
    table.add_row([
        &format!("{operator} on the CPU"),
        &figures.expected.to_string(),
    ]);
    if let Some(tolerance) = figures.tolerance {
        table.add_row(["rounding allowed", &show::significant(tolerance)]);
    }
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
    if figures.is_right {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "`{}` {}",
            lesson.id,
            figures.wrong_result()
        )))
    }
}

fn run_reference(
    reference: &CpuReference,
    arguments: &Arguments,
    output: &Output,
) -> Result<(), Failure> {
    if arguments.workload.device != DeviceChoice::Auto {
        return Err(Failure::Input(format!(
            "`{}` runs on this computer's processor; leave --device out",
            reference.id
        )));
    }
    let workload = arguments.workload.on_processor();
    let mut values = workload.values::<i32>()?;
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
    if figures.sum == expected {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "`{}` gives {}, which should be {expected}",
            reference.id, figures.sum
        )))
    }
}
