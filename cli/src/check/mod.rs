//! `warpfold check`: the emulator's sanitizers, and many orders of execution.

mod help;
mod report;
mod subjects;

use super::emulate::{PtxFileArguments, Shape, parse_shape};
use super::failure::Failure;
use super::lookup::ParameterArguments;
use super::machine::KernelsArguments;
use super::output::{JsonArguments, Output};
use super::size::{parse_count, parse_size};
use report::{Checked, Report};
use std::collections::BTreeSet;
use subjects::Subjects;
use warpfold_course::check::Subject;
use warpfold_emulator::{LaunchError, Order, Tool};

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
    id: Option<String>,
    /// Number of random elements that a lesson takes [default: 12345]
    #[arg(short, value_parser = parse_count, conflicts_with = "file")]
    n: Option<usize>,
    /// Threads of a block; several times for several [default: every size that a lesson takes]
    #[arg(long = "block", value_name = "BLOCK", value_parser = parse_shape)]
    blocks: Vec<Shape>,
    /// What to check: memcheck, initcheck, racecheck, synccheck [default: all four]
    #[arg(long = "tool", value_name = "TOOL", value_delimiter = ',', value_parser = parse_tool)]
    tools: Vec<Tool>,
    /// Also run K random interleavings of blocks, warps and lanes, and compare what they leave in memory
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    schedules: Option<u64>,
    /// Seed of the first interleaving; without --schedules, run this one and compare it with the fixed order [default: 0]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Stop a launch with an error after so many warp instructions [default: no limit]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, value_parser = parse_size)]
    max_steps: u64,
    /// How many findings of each tool to print for a launch; the JSON has them all
    #[arg(long, value_name = "FINDINGS", default_value_t = 4)]
    limit: usize,
    #[command(flatten)]
    file: PtxFileArguments,
    #[command(flatten)]
    parameter: ParameterArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// What is said of a launch whose findings have all been shown.
const SAME: &str = "at the same lines as above";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    let tools = if arguments.tools.is_empty() {
        Tool::WATCHING.to_vec()
    } else {
        arguments.tools.clone()
    };
    let orders = arguments.orders();
    let Subjects { name, on, subjects } = Subjects::new(arguments)?;
    output.print(format!("{name}{on}"))?;
    let tool_names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    output.print(format!(
        "{}{}\n",
        tool_names.join(", "),
        describe_orders(&orders)
    ))?;

    let is_seed = |order: &&Order| matches!(order, Order::Seed(_));
    let schedules = orders.iter().filter(is_seed).count();
    let mut report = Report::new(&name, tool_names, schedules);
    let mut shown = BTreeSet::new();
    for subject in subjects {
        let checked = check(subject?, &tools, &orders, arguments.max_steps)?;
        output.print(checked.headline())?;
        if !checked.is_news(&mut shown) {
            output.print(format!("  {SAME}"))?;
        } else if !checked.is_clean() {
            output.print(format!("\n{}\n", checked.text(arguments.limit)))?;
        }
        report.add(checked);
    }
    output.write_json(&report)?;
    report.verdict()
}

/// Checks one launch.
fn check(
    mut subject: Subject,
    tools: &[Tool],
    orders: &[Order],
    max_steps: u64,
) -> Result<Checked, Failure> {
    subject.limit_steps(max_steps);
    let mut findings = subject.check(tools).map_err(launch_failure)?;
    // What stops in the fixed order has no result to compare.
    if !findings.iter().any(|finding| finding.ends_launch) {
        let orders = orders.iter().copied();
        findings.extend(subject.compare_orders(orders).map_err(launch_failure)?);
    }
    Ok(Checked::new(&subject, findings))
}

impl Arguments {
    /// The orders to compare; none where none are asked for.
    fn orders(&self) -> Vec<Order> {
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

fn describe_orders(orders: &[Order]) -> String {
    match orders {
        [Order::Seed(first), .., Order::Seed(last)] => {
            format!("; {} schedules, seeds {first} to {last}", orders.len())
        }
        [Order::Fixed, seed] => format!("; {seed} against the fixed order"),
        _ => String::new(),
    }
}

/// Traps of the kernel are findings; what is left is bad input, or the limit of steps.
fn launch_failure(error: LaunchError) -> Failure {
    match error {
        LaunchError::Trap(trap) => Failure::finding(trap),
        error => Failure::input(error),
    }
}

fn parse_tool(text: &str) -> Result<Tool, String> {
    let tool = Tool::WATCHING.into_iter().find(|tool| tool.name() == text);
    tool.ok_or_else(|| {
        let names = Tool::WATCHING.map(Tool::name).join(", ");
        format!("there is no such tool; there are {names}")
    })
}
