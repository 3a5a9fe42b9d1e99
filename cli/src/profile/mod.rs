//! `warpfold profile`: what a kernel does, counted on the emulator under the names of NVIDIA's profiler.

mod help;
mod measure;
mod report;
mod table;

use super::emulate::{PtxFileArguments, Shape, parse_shape};
use super::failure::Failure;
use super::lookup::ParameterArguments;
use super::machine::KernelsArguments;
use super::output::{JsonArguments, Output};
use super::size::parse_count;
use super::suggest::did_you_mean;
use std::num::NonZeroU32;
use warpfold::device::Emulator;
use warpfold_emulator::{METRICS, Metric};

const USUAL_MULTIPROCESSORS: NonZeroU32 =
    NonZeroU32::new(Emulator::MULTIPROCESSORS).expect("it has some");

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = help::short(), after_long_help = help::long())]
pub struct Arguments {
    /// The lessons, as `warpfold lessons` lists them; several are shown side by side
    #[arg(
        value_name = "ID",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    ids: Vec<String>,
    /// Number of random elements that a lesson takes: 2^22, 4M, 1_000_000 [default: 2^20, or what the lesson takes at most]
    #[arg(short, value_parser = parse_count, conflicts_with = "file")]
    n: Option<usize>,
    /// Threads of a block [default: 512]; for lessons, give it several times to compare block sizes
    #[arg(long = "block", value_name = "BLOCK", value_parser = parse_shape)]
    blocks: Vec<Shape>,
    /// Seed of the random elements
    #[arg(long, default_value_t = 42, conflicts_with = "file")]
    seed: u64,
    /// Multiprocessors of the emulated device, as 132 for an H200: how large a lesson makes a grid that fills the device
    #[arg(long, value_name = "COUNT", default_value_t = USUAL_MULTIPROCESSORS, value_parser = parse_multiprocessors, conflicts_with = "file")]
    multiprocessors: NonZeroU32,
    /// Also show the hottest lines, beside the PTX and, where it tells, the source line
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// With --by: how many lines to show
    #[arg(long, value_name = "LINES", default_value_t = 20, requires = "by")]
    top: usize,
    /// With --by: the metric by which a line is hot
    #[arg(long, value_name = "METRIC", default_value = "warp_instructions", value_parser = parse_metric, requires = "by")]
    sort: &'static Metric,
    #[command(flatten)]
    file: PtxFileArguments,
    #[command(flatten)]
    parameter: ParameterArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// What a profile is broken down by.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum By {
    /// The lines of the PTX
    Line,
}

fn parse_multiprocessors(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("give a whole number from 1 to {}", u32::MAX))
}

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

fn parse_metric(name: &str) -> Result<&'static Metric, String> {
    METRICS
        .iter()
        .find(|metric| metric.name == name)
        .ok_or_else(|| {
            let known = METRICS.iter().map(|metric| metric.name);
            format!("there is no metric `{name}`{}", did_you_mean(name, known))
        })
}
