//! `warpfold ptx`: the PTX of one lesson, with the numbers that messages call its lines by.

use super::device::KernelsArguments;
use super::failure::Failure;
use super::lookup::{self, ParameterArguments};
use super::output::print;
use super::sources;
use super::workload::parse_block;
use std::sync::Arc;
use warpfold_emulator::{Memory, Module, Program};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold ptx shuffle --sm 90 --block 256\n  warpfold ptx shuffle --rust\n\nBefore each line stands its number in the whole module, as in the messages of other commands."
)]
pub struct Arguments {
    /// The lesson, as `warpfold lessons` lists it
    id: String,
    /// Compute capability that the PTX is built for [default: 80, or the least that the lesson takes]
    #[arg(long)]
    sm: Option<u32>,
    /// Block size, where the lesson has an entry for each
    #[arg(long, default_value = "512", value_parser = parse_block)]
    block: u32,
    /// Show each line of the source above what it was compiled to
    #[arg(long)]
    rust: bool,
    #[command(flatten)]
    parameter: ParameterArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lesson = lookup::lesson(&arguments.id)?;
    let variant = arguments.parameter.variant(lesson, arguments.block)?;
    let module = lesson.module;
    let sm = arguments.sm.unwrap_or(lesson.least_sm.max(80));
    let ptx = arguments.kernels.read()?;
    let text = ptx.built_for(module, sm).ok_or_else(|| {
        let built: Vec<String> = ptx.architectures(module).map(|sm| sm.to_string()).collect();
        Failure::Input(format!(
            "there is no PTX for sm_{sm}; it is built for --sm {}",
            built.join(", ")
        ))
    })?;
    let module = Arc::new(Module::parse(text).map_err(Failure::input)?);
    let (entry, lines) = lesson
        .entry(variant)
        .and_then(|entry| Some((entry, module.function_lines(entry)?)))
        .ok_or_else(|| {
            Failure::Input(format!(
                "the PTX for sm_{sm} has no entry of {} for blocks of {} threads; it needs sm_{} or later",
                lesson.id, arguments.block, lesson.least_sm
            ))
        })?;
    let program = Program::load(module.clone(), &mut Memory::new()).map_err(Failure::input)?;
    let kernel = program.kernel(entry).map_err(Failure::input)?;
    let mut shown = String::new();
    let mut before = None;
    for (number, line) in lines {
        if let Some(origin) = kernel.origin(number).filter(|_| arguments.rust) {
            let (place, text) = sources::of(origin);
            if before.as_ref() != Some(&place) {
                let text = text.unwrap_or_default();
                shown += &format!("{:>8} {place} | {text}\n", "");
                before = Some(place);
            }
        }
        shown += &format!("{number:>8} {line}\n");
    }
    print(shown.trim_end())
}
