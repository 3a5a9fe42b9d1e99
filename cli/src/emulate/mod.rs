//! `warpfold emulate`: any PTX on the emulator.

mod argument;
mod arguments;
mod extents;
mod launch;
mod ptx_file;
mod report;

pub use argument::parse_argument;
pub use arguments::Arguments;
pub use extents::{Extents, parse_extents};
pub use launch::EmulatedLaunch;
pub use ptx_file::PtxFileArguments;

use super::counters::CounterFigures;
use super::failure::Failure;
use super::output::{Output, write_file};
use super::progress;
use argument::Argument;
use std::time::Instant;
use warpfold_emulator::{Counters, Grids, Launch, Printed};

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    output.check_inputs([&*arguments.file])?;
    check_indices(arguments)?;
    let shape = Launch {
        grid: arguments.grid.0,
        block: arguments.block.0,
        dynamic_shared_bytes: arguments.shared,
        max_steps: arguments.max_steps,
        cooperative: arguments.cooperative,
        ..Launch::default()
    };
    let prepared = EmulatedLaunch::new(
        &arguments.file,
        &arguments.kernel,
        shape,
        &arguments.arguments,
    )?;
    let mut observer = ((Counters::default(), Grids::default()), Printed::default());
    let start = Instant::now();
    let kernel = arguments.kernel.clone();
    let launched = progress::during(kernel, || prepared.launch(&mut observer))?;
    let emulated_in_ms = start.elapsed().as_secs_f64() * 1e3;
    let ((counters, grids), printed) = observer;
    let counters = CounterFigures::new(counters, grids.counts());
    // What threads printed before a fault may say why.
    report::show_printed(&printed, &output)?;
    launched?;

    let mut report = report::Report::new(arguments, counters, &printed, emulated_in_ms);
    for &index in &arguments.sums {
        let (element_type, bytes) = prepared.read_buffer(index)?;
        report.add_sum(index, element_type, &bytes);
    }
    for (index, path) in &arguments.outs {
        let (_, bytes) = prepared.read_buffer(*index)?;
        write_file(path, &bytes)?;
    }
    report.print(&output)
}

/// `--sum` and `--out` must name buffers. This is checked before the run, not after it.
fn check_indices(arguments: &Arguments) -> Result<(), Failure> {
    let sums = arguments.sums.iter().map(|&index| ("--sum", index));
    let outs = arguments.outs.iter().map(|&(index, _)| ("--out", index));
    for (option, index) in sums.chain(outs) {
        match arguments.arguments.get(index) {
            Some(Argument::Buffer(..)) => {}
            Some(_) => {
                return Err(Failure::Input(format!(
                    "{option} {index}: argument {index} is not a buffer (arguments count from 0)"
                )));
            }
            None => {
                return Err(Failure::Input(format!(
                    "{option} {index}: there is no argument {index}; {} given, counted from 0",
                    arguments.arguments.len()
                )));
            }
        }
    }
    Ok(())
}
