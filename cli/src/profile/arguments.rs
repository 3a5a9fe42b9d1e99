//! The command's arguments.

use super::help;
use crate::emulate::{PtxFileArguments, Shape, parse_shape};
use crate::lookup::ParameterArguments;
use crate::machine::KernelsArguments;
use crate::output::JsonArguments;
use crate::size::parse_count;
use crate::suggest::did_you_mean;
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
    pub(super) ids: Vec<String>,
    /// Number of random elements that a lesson takes: 2^22, 4M, 1_000_000 [default: 2^20, or what the lesson takes at most]
    #[arg(short, value_parser = parse_count, conflicts_with = "file")]
    pub(super) n: Option<usize>,
    /// Threads of a block [default: 512]; for lessons, give it several times to compare block sizes
    #[arg(long = "block", value_name = "BLOCK", value_parser = parse_shape)]
    pub(super) blocks: Vec<Shape>,
    /// Seed of the random elements
    #[arg(long, default_value_t = 42, conflicts_with = "file")]
    pub(super) seed: u64,
    /// Multiprocessors of the emulated device, as 132 for an H200: how large a lesson makes a grid that fills the device
    #[arg(long, value_name = "COUNT", default_value_t = USUAL_MULTIPROCESSORS, value_parser = parse_multiprocessors, conflicts_with = "file")]
    pub(super) multiprocessors: NonZeroU32,
    /// Also show the hottest lines, beside the PTX and, where it tells, the source line
    #[arg(long, value_name = "WHAT")]
    pub(super) by: Option<By>,
    /// With --by: how many lines to show
    #[arg(long, value_name = "LINES", default_value_t = 20, requires = "by")]
    pub(super) top: usize,
    /// With --by: the metric by which a line is hot
    #[arg(long, value_name = "METRIC", default_value = "warp_instructions", value_parser = parse_metric, requires = "by")]
    pub(super) sort: &'static Metric,
    #[command(flatten)]
    pub(super) file: PtxFileArguments,
    #[command(flatten)]
    pub(super) parameter: ParameterArguments,
    #[command(flatten)]
    pub(super) kernels: KernelsArguments,
    #[command(flatten)]
    pub(super) json: JsonArguments,
}

/// What a profile is broken down by.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum By {
    /// The lines of the PTX
    Line,
}

fn parse_multiprocessors(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("give a whole number from 1 to {}", u32::MAX))
}

fn parse_metric(name: &str) -> Result<&'static Metric, String> {
    Metric::find(name).ok_or_else(|| {
        let known = METRICS.iter().map(|metric| metric.name);
        format!("there is no metric `{name}`{}", did_you_mean(name, known))
    })
}
