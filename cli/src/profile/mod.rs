//! `warpfold profile`: what a kernel does, counted on the emulator under the names of NVIDIA's profiler.

mod arguments;
mod help;
mod measure;
mod report;
mod table;

use super::failure::Failure;
use super::output::Output;
pub use arguments::Arguments;

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
    output.print(format!("\n{}", table::metrics(&profiles)))?;
    if arguments.by.is_some() {
        for profile in &profiles {
            output.print(format!(
                "\n{}",
                table::lines(profile, arguments.sort, arguments.top)
            ))?;
        }
    }
    output.print(
        "\nCounted on PTX instructions; a GPU's profiler counts the machine instructions made from them. --help explains every metric.",
    )?;
    output.write_json(&report::Report::new(&profiles, arguments.by.is_some()))?;
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
