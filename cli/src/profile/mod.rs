//! `warpfold profile`: what a kernel does, counted on the emulator under the names of NVIDIA's profiler.

mod arguments;
mod help;
mod measure;
mod report;
mod residency;
mod steps;
mod table;

use super::failure::Failure;
use super::output::Output;
pub use arguments::Arguments;
use arguments::By;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.n == Some(0) {
        return Err(Failure::input(
            "nothing to profile: -n is 0; give it at least one element",
        ));
    }
    let output = Output::new(&arguments.json)?;
    let profiles = measure::profiles(arguments)?;
    for profile in &profiles {
        output.print(profile.describe())?;
    }
    let metrics = arguments.metrics();
    output.print(format!("\n{}", table::metrics(&profiles, &metrics)))?;
    if !arguments.chooses_metrics() {
        output.print(format!("\n{}", table::occupancies(&profiles)))?;
    }
    for profile in &profiles {
        if let Some(By::Line) = arguments.by {
            let lines = table::lines(profile, arguments.sort, arguments.top);
            output.print(format!("\n{lines}"))?;
        }
        if let Some(steps) = &profile.steps {
            output.print(format!("\n{}", steps::text(profile, steps)))?;
        }
    }
    output.print(
        "\nCounted on PTX instructions; a GPU's profiler counts the machine instructions made from them. --help explains every metric.",
    )?;
    output.write_json(&report::Report::new(&profiles, arguments.by))?;
    let wrong: Vec<&str> = profiles
        .iter()
        .filter(|profile| profile.is_right == Some(false))
        .map(|profile| profile.kernel.name())
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "not the right result: {}",
            wrong.join(", ")
        )))
    }
}
