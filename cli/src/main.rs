//! The binary `warpfold`: the course and the library on the command line.

mod attempt;
mod check;
mod completions;
mod counters;
mod data;
mod device;
mod devices;
mod emulate;
mod exercise;
mod failure;
mod figures;
mod footnotes;
mod histogram;
mod host_lesson;
mod ladder;
mod lessons;
mod lookup;
mod man;
mod names;
mod new;
mod output;
mod profile;
mod progress;
mod ptx;
mod ptx_folder;
mod recorded;
mod reduce;
mod run;
mod show;
mod sources;
mod suggest;
mod sweep;
mod trace;
mod watch;
mod workload;

use clap::{CommandFactory, Parser, Subcommand};
use failure::{Failure, usage_failure};
use std::ffi::OsString;
use std::process::ExitCode;
use warpfold_course::size;

/// Parallel reduction on the GPU in Rust, one idea per kernel; without a GPU, on an emulator that runs the same PTX.
///
/// Without a command, `warpfold` climbs the ladder.
#[derive(Parser, Debug)]
#[command(name = "warpfold", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    ladder: ladder::Arguments,
}

const EXAMPLES: &str = "\
Examples:
  warpfold                       climb the ladder on the first GPU, else on the emulator
  warpfold ladder -n 2^26        the same with 67,108,864 elements
  warpfold run shuffle           one lesson
  warpfold reduce flow.csv --column volume

Exit status: 0 right, 1 a wrong result or a fault of a kernel, 2 bad usage or input.";

#[derive(Subcommand, Debug)]
enum Command {
    /// Climb the ladder: verify every step against the CPU, then measure it (the default command)
    Ladder(ladder::Arguments),
    /// List the catalogue
    Lessons(lessons::Arguments),
    /// Run one lesson or one CPU reference, verified and measured
    Run(run::Arguments),
    /// Measure kernels over a range of sizes: a table, CSV, JSON and a picture
    Sweep(sweep::Arguments),
    /// Run one lesson about the host's side: transfers, streams, graphs, clocks, caches
    HostLesson(host_lesson::Arguments),
    /// Reduce the numbers of a file by any operators, also along an axis
    Reduce(reduce::Arguments),
    /// Count how often each value of red, green and blue occurs in an image
    Histogram(histogram::Arguments),
    /// Profile lessons or any PTX: counters under the names of Nsight Compute, by kernel, block shape and line
    Profile(profile::Arguments),
    /// Check a lesson, an exhibit or any PTX for bad accesses, races, bad barriers and luck
    Check(check::Arguments),
    /// Draw a small launch step by step: which thread reads what and writes where
    Trace(trace::Arguments),
    /// Print the PTX of one lesson
    Ptx(ptx::Arguments),
    /// Compile a file of kernels, or a lesson's as you have changed it, and run, check, profile or draw it
    Try(attempt::Arguments),
    /// Write or mend a kernel, and have it judged
    Exercise(exercise::Arguments),
    /// Write a crate for a kernel of your own: kernel, program and test
    New(new::Arguments),
    /// Run any PTX on the emulator
    Emulate(emulate::Arguments),
    /// List what kernels can run on here
    Devices(devices::Arguments),
    /// Print what a shell needs to complete commands and options
    Completions(completions::Arguments),
    /// Print the manual, or write its pages to a folder
    Man(man::Arguments),
}

/// Runs the command that the process was started with.
fn main() -> ExitCode {
    match run_line(std::env::args_os().collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Runs a command line, whose first word is the program's name.
fn run_line(words: Vec<OsString>) -> Result<(), Failure> {
    let command_line = CommandLine::try_parse_from(words).map_err(|error| {
        // Help and version go to standard output. It does not matter if that is closed.
        usage_failure(&error).unwrap_or_else(|| error.exit())
    })?;
    match command_line.command {
        None => ladder::run(&command_line.ladder),
        Some(Command::Ladder(arguments)) => ladder::run(&arguments),
        Some(Command::Lessons(arguments)) => lessons::run(&arguments),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::Sweep(arguments)) => sweep::run(&arguments),
        Some(Command::HostLesson(arguments)) => host_lesson::run(&arguments),
        Some(Command::Reduce(arguments)) => reduce::run(&arguments),
        Some(Command::Histogram(arguments)) => histogram::run(&arguments),
        Some(Command::Profile(arguments)) => profile::run(&arguments),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Trace(arguments)) => trace::run(&arguments),
        Some(Command::Ptx(arguments)) => ptx::run(&arguments),
        Some(Command::Try(arguments)) => attempt::run(&arguments, run_line),
        Some(Command::Exercise(arguments)) => exercise::run(&arguments),
        Some(Command::New(arguments)) => new::run(&arguments),
        Some(Command::Emulate(arguments)) => emulate::run(&arguments),
        Some(Command::Devices(arguments)) => devices::run(&arguments),
        Some(Command::Completions(arguments)) => {
            completions::run(&arguments, CommandLine::command())
        }
        Some(Command::Man(arguments)) => man::run(&arguments, CommandLine::command()),
    }
}
