//! `warpfold run`: one lesson or one CPU reference, verified and measured.

use super::device::{Machines, Place};
use super::failure::Failure;
use super::figures::{
    EmulatorFigures, GpuFigures, LessonFigures, ReferenceFigures, measured_figures,
};
use super::lookup::{self, ParameterArguments};
use super::names::Kind;
use super::output::{JsonArguments, Output};
use super::workload::{Workload, WorkloadArguments};
use super::{footnotes, progress, show};
use crate::reduce::reducer::kernel_for;
use comfy_table::CellAlignment::{Left, Right};
use comfy_table::Table;
use serde::Serialize;
use warpfold::Device;
use warpfold::device::DeviceChoice;
use warpfold_course::element::ElementType;
use warpfold_course::operator::Operator;
use warpfold_course::operator::built_for;
use warpfold_course::oracle::{CPU_REFERENCES, CpuReference, cpu_sequential};
use warpfold_course::prepared::PreparedLesson;
use warpfold_course::reducible::Reducible;
use warpfold_course::wide::with_reduction;
use warpfold_kernels::catalogue::{self, Lesson, Reduction, Task, Variant};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold run unroll8 -n 2^22 --block 256 --device emulator\n  warpfold run shuffle_sum_f32\n  warpfold run wide_sum_i32 -n 3*2^20 --data ones\n  warpfold run cpu_parallel -n 2^26\n  warpfold run flagship --device emulator:4"
)]
pub struct Arguments {
    /// The lesson or CPU reference, as `warpfold lessons` lists it
    id: String,
    /// Type of the elements, refused if the lesson is built for another [default: the lesson's]
    #[arg(long = "type", value_name = "TYPE")]
    element_type: Option<ElementType>,
    /// Operator, refused if the lesson is built for another [default: the lesson's]
    #[arg(long = "op", value_name = "OPERATOR")]
    operator: Option<Operator>,
    #[command(flatten)]
    parameter: ParameterArguments,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    if let Some(lesson) = catalogue::find(&arguments.id) {
        let variant = arguments
            .parameter
            .variant(lesson, arguments.workload.measuring.block)?;
        return match &lesson.task {
            Task::Reduction(reduction) => {
                arguments.check_built_for(built_for(reduction))?;
                let machines = arguments.workload.measuring.device.open_all()?;
                with_reduction!(reduction, T => {
                    run_reduction::<T>(lesson, reduction, variant, &machines, arguments, &output)
                })
            }
            Task::Demonstration(_) => {
                arguments.check_no_reduction()?;
                let what = format!("`{}` shows what a kernel does", lesson.id);
                let device = arguments.workload.measuring.device.open(&what)?;
                run_demonstration(lesson, variant, &device, arguments, &output)
            }
        };
    }
    let reference = CPU_REFERENCES
        .iter()
        .find(|reference| reference.id == arguments.id);
    match reference {
        Some(reference) => {
            arguments.check_built_for((Operator::Sum, ElementType::I32))?;
            run_reference(reference, arguments, &output)
        }
        None => {
            let wanted = [Kind::Lesson, Kind::CpuReference];
            Err(lookup::no_such(&arguments.id, &wanted, &[]))
        }
    }
}

impl Arguments {
    /// Checks that `--op` and `--type`, if they are given, are what the lesson is built for.
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

impl Arguments {
    /// Checks that `--op` and `--type` are left out, for a lesson that is no reduction.
    fn check_no_reduction(&self) -> Result<(), Failure> {
        if self.operator.is_none() && self.element_type.is_none() {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "`{}` reduces nothing; leave --op and --type out",
            self.id
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

fn run_reduction<T: Reducible + Sync>(
    lesson: &Lesson,
    reduction: &Reduction,
    variant: Variant,
    machines: &Machines,
    arguments: &Arguments,
    output: &Output,
) -> Result<(), Failure> {
    let workload = arguments
        .workload
        .of_lesson(lesson, variant, machines.first())?;
    let workload = workload.on_machines(machines);
    let values = workload.values::<T>(reduction.operator)?;
    let timing = arguments.workload.measuring.timing();
    let run = progress::during(lesson.id, || {
        machines.reduce::<T>(lesson, variant, &values, timing)
    })??;
    let figures = LessonFigures::new(lesson, &run, size_of_val(&values[..]) as u64);

    print_heading(lesson, variant, &workload, output)?;
    let mut table = show::table(&[("", Left), ("value", Right)]);
    let (operator, _) = built_for(reduction);
    table.add_row([operator.name(), &figures.result.to_string()]);
    table.add_row([
        &format!("{operator} on the CPU"),
        &figures.expected.to_string(),
    ]);
    if let Some(tolerance) = figures.tolerance {
        table.add_row(["rounding allowed", &show::significant(tolerance)]);
    }
    table.add_row(["blocks", &show::count(figures.grid.into())]);
    add_measured(&mut table, figures.gpu.as_ref(), figures.emulator.as_ref());
    output.print(show::text(&table))?;
    print_footnotes(lesson, output)?;
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

/// The results of a demonstration, as JSON.
#[derive(Serialize)]
struct DemonstrationFigures {
    id: &'static str,
    parameter: Option<u32>,
    grid: Option<[u32; 3]>,
    facts: serde_json::Map<String, serde_json::Value>,
    is_right: bool,
    mistake: Option<String>,
    gpu: Option<TimeFigures>,
    emulator: Option<EmulatorFigures>,
}

/// The times of a demonstration on a GPU. There is no bandwidth, because a demonstration need not read every buffer exactly once.
#[derive(Serialize)]
struct TimeFigures {
    elapsed_ms: f64,
    fastest_ms: f64,
}

fn run_demonstration(
    lesson: &'static Lesson,
    variant: Variant,
    device: &Device,
    arguments: &Arguments,
    output: &Output,
) -> Result<(), Failure> {
    let workload = arguments.workload.of_lesson(lesson, variant, device)?;
    let multiprocessors = device.multiprocessors();
    let prepared =
        PreparedLesson::new(lesson, variant, workload.n, workload.data, multiprocessors)?;
    let timing = Some(arguments.workload.measuring.timing());
    let run = progress::during(lesson.id, || prepared.run(device, timing))??;
    let (gpu, emulator) = measured_figures(&run.measured, 0);
    let gpu = gpu.map(|gpu| TimeFigures {
        elapsed_ms: gpu.elapsed_ms,
        fastest_ms: gpu.fastest_ms,
    });

    print_heading(lesson, variant, &workload, output)?;
    // The lines of a drawing are aligned on the left.
    let facts = &run.verdict.facts;
    let has_drawing = facts.iter().any(|(_, value)| value.contains('\n'));
    let mut table = show::table(&[
        ("", Left),
        ("value", if has_drawing { Left } else { Right }),
    ]);
    for (name, value) in &run.verdict.facts {
        table.add_row([*name, value]);
    }
    let grid = prepared.case().map(|case| case.shape.grid);
    if let Some(grid) = grid {
        let blocks = grid.iter().map(|&extent| u64::from(extent)).product();
        table.add_row(["blocks", &show::count(blocks)]);
    }
    if let Some(gpu) = &gpu {
        add_times(&mut table, gpu.elapsed_ms, gpu.fastest_ms);
    }
    add_counters(&mut table, emulator.as_ref());
    output.print(show::text(&table))?;
    print_footnotes(lesson, output)?;
    let facts = run.verdict.facts.into_iter();
    output.write_json(&Report {
        workload: &workload,
        figures: &DemonstrationFigures {
            id: lesson.id,
            parameter: variant.parameter,
            grid,
            facts: facts
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
            is_right: run.verdict.mistake.is_none(),
            mistake: run.verdict.mistake.clone(),
            gpu,
            emulator,
        },
    })?;
    match run.verdict.mistake {
        None => Ok(()),
        Some(mistake) => Err(Failure::Finding(format!("`{}` {mistake}", lesson.id))),
    }
}

fn print_heading(
    lesson: &Lesson,
    variant: Variant,
    workload: &Workload,
    output: &Output,
) -> Result<(), Failure> {
    output.print(&workload.device)?;
    let setting = match (lesson.parameter, variant.parameter) {
        (Some(parameter), Some(value)) => format!(" · {} {value}", parameter.name),
        _ => String::new(),
    };
    output.print(format!("{}{setting}", workload.describe()))?;
    output.print(format!(
        "\n{}, step {}{} · {}: {}\n",
        lesson.part.title(),
        lesson.step,
        footnotes::mark(lesson.exhibit),
        lesson.id,
        lesson.change
    ))
}

fn print_footnotes(lesson: &Lesson, output: &Output) -> Result<(), Failure> {
    for note in footnotes::exhibits([lesson]) {
        output.print(format!("\n{note}"))?;
    }
    Ok(())
}

/// Rows of what a GPU's times or the emulator's counters say.
fn add_measured(table: &mut Table, gpu: Option<&GpuFigures>, emulator: Option<&EmulatorFigures>) {
    if let Some(gpu) = gpu {
        add_times(table, gpu.elapsed_ms, gpu.fastest_ms);
        table.add_row(["GB/s", &show::significant(gpu.gigabytes_per_second)]);
    }
    add_counters(table, emulator);
}

fn add_times(table: &mut Table, elapsed_ms: f64, fastest_ms: f64) {
    table.add_row(["median time", &show::milliseconds(elapsed_ms)]);
    table.add_row(["shortest time", &show::milliseconds(fastest_ms)]);
}

fn add_counters(table: &mut Table, emulator: Option<&EmulatorFigures>) {
    if let Some(emulator) = emulator {
        for (name, value) in emulator.counters.rows() {
            table.add_row([name, &value]);
        }
        table.add_row(["emulated in", &show::milliseconds(emulator.emulated_in_ms)]);
    }
}

fn run_reference(
    reference: &CpuReference,
    arguments: &Arguments,
    output: &Output,
) -> Result<(), Failure> {
    if arguments.workload.measuring.device.place != Place::One(DeviceChoice::Auto) {
        return Err(Failure::Input(format!(
            "`{}` runs on this computer's processor; leave --device out",
            reference.id
        )));
    }
    let workload = arguments.workload.on_processor()?;
    let mut values = workload.values::<i32>(catalogue::Operator::Sum)?;
    let expected = cpu_sequential(&values);
    let figures = progress::during(reference.id, || {
        ReferenceFigures::measure(reference, &mut values)
    })?;

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
