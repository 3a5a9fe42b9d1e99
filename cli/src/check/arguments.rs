//! The command's arguments.

use super::help;
use crate::device::KernelsArguments;
use crate::emulate::{Extents, PtxFileArguments, parse_extents};
use crate::lookup::ParameterArguments;
use crate::output::JsonArguments;
use crate::size::{parse_count, parse_size};
use warpfold_emulator::{Order, Tool};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = help::short(), after_long_help = help::long())]
pub struct Arguments {
    /// A lesson, as `warpfold lessons` lists it, or an exhibit (see --help)
    #[arg(
        value_name = "ID",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    pub(super) id: Option<String>,
    /// Number of random elements that a lesson takes [default: 12345]
    #[arg(short, value_parser = parse_count, conflicts_with = "file")]
    pub(super) n: Option<usize>,
    /// Threads of a block; give it several times for several sizes [default: every size that a lesson takes]
    #[arg(long = "block", value_name = "BLOCK", value_parser = parse_extents)]
    pub(super) blocks: Vec<Extents>,
    /// What to check: memcheck, initcheck, racecheck, synccheck [default: all four]
    #[arg(long = "tool", value_name = "TOOL", value_delimiter = ',', value_parser = parse_tool)]
    pub(super) tools: Vec<Tool>,
    /// Also run K random interleavings of blocks, warps and lanes, and compare what they leave in memory
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) schedules: Option<u64>,
    /// Seed of the first interleaving; without --schedules, run this one and compare it with the fixed order [default: 0]
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
    /// Stop a launch with an error after N warp instructions [default: no limit]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, value_parser = parse_size)]
    pub(super) max_steps: u64,
    /// How many findings of each tool to print for a launch; the JSON has them all
    #[arg(long, value_name = "FINDINGS", default_value_t = 4)]
    pub(super) limit: usize,
    #[command(flatten)]
    pub(super) file: PtxFileArguments,
    #[command(flatten)]
    pub(super) parameter: ParameterArguments,
    #[command(flatten)]
    pub(super) kernels: KernelsArguments,
    #[command(flatten)]
    pub(super) json: JsonArguments,
}

impl Arguments {
    /// The orders to compare; none where none are asked for.
    pub(super) fn orders(&self) -> Vec<Order> {
        let first = self.seed.unwrap_or(0);
        let seeds =
            |count: u64| (0..count).map(move |index| Order::Seed(first.wrapping_add(index)));
        match (self.schedules, self.seed) {
            (None, None) => Vec::new(),
            // One order has to be compared with something.
            (None | Some(1), _) => [Order::Fixed].into_iter().chain(seeds(1)).collect(),
            (Some(count), _) => seeds(count).collect(),
        }
    }
}

fn parse_tool(text: &str) -> Result<Tool, String> {
    let tool = Tool::WATCHING.into_iter().find(|tool| tool.name() == text);
    tool.ok_or_else(|| {
        let names = Tool::WATCHING.map(Tool::name).join(", ");
        format!("there is no such tool; use one of {names}")
    })
}
