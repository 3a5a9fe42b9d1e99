//! The command's arguments.

use super::help;
use crate::data::DataArguments;
use crate::device::KernelsArguments;
use crate::emulate::{Extents, PtxFileArguments, parse_extents};
use crate::lookup::ParameterArguments;
use crate::output::JsonArguments;
use crate::size::parse_count;
use crate::suggest::did_you_mean;
use std::num::NonZeroU32;
use warpfold::device::Emulator;
use warpfold_emulator::{METRICS, Metric, Multiprocessor};

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
    /// Number of elements that a lesson takes: 2^22, 4M, 1_000_000 [default: 2^20, or what the lesson takes at most]
    #[arg(short, value_parser = parse_count, conflicts_with = "file")]
    pub(super) n: Option<usize>,
    /// Threads of a block [default: 512]; for lessons, give it several times to compare block sizes
    #[arg(long = "block", value_name = "BLOCK", value_parser = parse_extents)]
    pub(super) blocks: Vec<Extents>,
    #[command(flatten)]
    pub(super) data: DataArguments,
    /// Multiprocessors of the emulated device (an H200 has 132), which decide how large a grid that fills the device is
    #[arg(long, value_name = "COUNT", default_value_t = USUAL_MULTIPROCESSORS, value_parser = parse_multiprocessors, conflicts_with = "file")]
    pub(super) multiprocessors: NonZeroU32,
    /// Show these metrics only; the JSON has all of them
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', value_parser = parse_metric)]
    metrics: Vec<&'static Metric>,
    /// Run the blocks of lessons in order, on one core: kernels whose threads wait for others then do the same in every run
    #[arg(long, conflicts_with = "file")]
    pub(super) in_order: bool,
    /// Compute capabilities of GPUs to show the occupancy of, such as 80,86,90
    #[arg(long, value_name = "SM", value_delimiter = ',', default_value = "90", value_parser = parse_multiprocessor)]
    pub(super) sm: Vec<Multiprocessor>,
    /// Also show the hottest lines, with the PTX and, if it is known, the source line; or the warps and threads at work in each step
    /// between barriers
    #[arg(long, value_name = "WHAT")]
    pub(super) by: Option<By>,
    /// With --by line: how many lines to show
    #[arg(long, value_name = "LINES", default_value_t = 20, requires = "by")]
    pub(super) top: usize,
    /// With --by line: the metric by which a line is hot
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The lines of the PTX
    Line,
    /// The steps between the barriers of a block
    Step,
}

impl Arguments {
    /// The metrics to show, in their order.
    pub(super) fn metrics(&self) -> Vec<&'static Metric> {
        let is_asked = |metric: &&Metric| {
            let mut asked = self.metrics.iter();
            self.metrics.is_empty() || asked.any(|other| other.name == metric.name)
        };
        METRICS.iter().filter(is_asked).collect()
    }

    /// Whether only some metrics are asked for, and nothing else.
    pub(super) fn chooses_metrics(&self) -> bool {
        !self.metrics.is_empty()
    }
}

fn parse_multiprocessors(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("give a whole number from 1 to {}", u32::MAX))
}

fn parse_multiprocessor(text: &str) -> Result<Multiprocessor, String> {
    let known = text.parse().ok().and_then(Multiprocessor::of);
    known.ok_or_else(|| {
        let known = Multiprocessor::ALL.map(|multiprocessor| multiprocessor.sm.to_string());
        format!("give one or more of {}", known.join(", "))
    })
}

fn parse_metric(name: &str) -> Result<&'static Metric, String> {
    Metric::find(name).ok_or_else(|| {
        let known = METRICS.iter().map(|metric| metric.name);
        format!("there is no metric `{name}`{}", did_you_mean(name, known))
    })
}
