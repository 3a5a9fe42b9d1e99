//! `warpfold ptx`: the PTX of one lesson.

use super::device::KernelsArguments;
use super::failure::Failure;
use super::lookup::{self, ParameterArguments};
use super::output::print;
use super::workload::parse_block;
use warpfold_emulator::Module;

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  warpfold ptx shuffle --sm 90 --block 256")]
pub struct Arguments {
    /// The lesson, as `warpfold lessons` lists it
    id: String,
    /// Compute capability that the PTX is built for
    #[arg(long, default_value_t = 80)]
    sm: u32,
    /// Block size, where the lesson has an entry for each
    #[arg(long, default_value = "512", value_parser = parse_block)]
    block: u32,
    #[command(flatten)]
    parameter: ParameterArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lesson = lookup::lesson(&arguments.id)?;
    let variant = arguments.parameter.variant(lesson, arguments.block)?;
    let module = lesson.part.module();
    let ptx = arguments.kernels.read()?;
    let text = ptx.built_for(module, arguments.sm).ok_or_else(|| {
        let built: Vec<String> = ptx.architectures(module).map(|sm| sm.to_string()).collect();
        Failure::Input(format!(
            "there is no PTX for sm_{}; it is built for --sm {}",
            arguments.sm,
            built.join(", ")
        ))
    })?;
    let module = Module::parse(text).map_err(Failure::input)?;
    let source = lesson
        .entry(variant)
        .and_then(|entry| module.function_source(entry))
        .ok_or_else(|| {
            Failure::Input(format!(
                "the PTX for sm_{} has no entry of {} for blocks of {} threads; it needs sm_{} or later",
                arguments.sm, lesson.id, arguments.block, lesson.least_sm
            ))
        })?;
    print(source.trim_end())
}
