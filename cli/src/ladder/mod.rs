//! `warpfold ladder`: every step of the reduction ladder, verified and measured.

mod climb;
mod table;

use super::failure::Failure;
use super::footnotes;
use super::output::{JsonArguments, Output};
use super::recorded;
use super::workload::WorkloadArguments;
use climb::{Climb, climb};
use warpfold_course::element::ElementType;
use warpfold_kernels::catalogue::Operator;

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  warpfold ladder -n 2^26 --block 512 --device gpu:1 --cold --json ladder.json"
)]
pub struct Arguments {
    #[command(flatten)]
    workload: WorkloadArguments,
    /// Show the times that a GPU took once, and run nothing
    #[arg(long)]
    recorded: bool,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.workload.n_asked() == Some(0) {
        return Err(Failure::input(
            "nothing to climb: -n is 0; give it at least one element",
        ));
    }
    let output = Output::new(&arguments.json)?;
    if arguments.recorded {
        return output.print(recorded::ladder());
    }
    let machines = arguments.workload.measuring.device.open_all()?;
    // What every step of the ladder adds up.
    let workload = arguments
        .workload
        .on(machines.first(), Some(ElementType::I32))?;
    let workload = workload.on_machines(&machines);
    let values = workload.values(Operator::Sum)?;
    output.print(&workload.device)?;
    output.print(workload.describe())?;
    output.print("")?;
    let climb = climb(
        &machines,
        workload,
        values,
        arguments.workload.measuring.block,
        arguments.workload.measuring.timing(),
    )?;
    print(&climb, &output)?;
    output.write_json(&climb)?;
    let wrong: Vec<String> = climb
        .steps
        .iter()
        .filter(|step| !step.is_right())
        .map(|step| format!("`{}`", step.lesson.id))
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "{} of {} steps did not give the right sum: {}",
            wrong.len(),
            climb.steps.len(),
            wrong.join(", ")
        )))
    }
}

fn print(climb: &Climb, output: &Output) -> Result<(), Failure> {
    output.print(table::text(climb))?;
    output.print("")?;
    for step in &climb.steps {
        if let Some(fault) = &step.fault {
            output.print(format!("`{}`: {fault}", step.lesson.id))?;
        } else if let Some(figures) = step.figures.as_ref().filter(|figures| !figures.is_right) {
            output.print(format!("`{}` {}", figures.id, figures.wrong_result()))?;
        }
    }
    if let Some(sentence) = climb.recorded() {
        output.print(sentence)?;
    }
    for sentence in &climb.left_out {
        output.print(sentence)?;
    }
    for note in footnotes::exhibits(climb.steps.iter().map(|step| step.lesson)) {
        output.print(note)?;
    }
    output.print(match climb.workload.describe_timing() {
        Some(timing) => timing,
        None => format!(
            "Branches: those that a GPU's assembler is expected to leave. {}",
            footnotes::NO_TIMES
        ),
    })
}
