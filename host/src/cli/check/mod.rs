//! `warpfold check`: the emulator's sanitizers, and many orders of execution.

mod report;
mod subjects;

use super::emulate::{PtxFileArguments, Shape, parse_shape};
use super::failure::Failure;
use super::machine::KernelsArguments;
use super::output::{JsonArguments, Output};
use super::size::{parse_count, parse_size};
use report::{Checked, Report};
use std::collections::BTreeSet;
use subjects::Subjects;
use warpfold::check::Subject;
use warpfold_emulator::{LaunchError, Order, Tool};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = LONG_HELP)]
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
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    schedules: Option<u64>,
    /// Seed of the first interleaving; without --schedules, run this one and compare it with the fixed order [default: 0]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Stop a launch with an error after so many warp instructions [default: no limit]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, value_parser = parse_size)]
    max_steps: u64,
    /// How many findings of a launch to print; the JSON has them all
    #[arg(long, value_name = "FINDINGS", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    file: PtxFileArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
    #[command(flatten)]
    json: JsonArguments,
}

const EXAMPLES: &str = "\
Examples:
  warpfold check unroll_warps8
  warpfold check unroll_warps8_sync --schedules 200
  warpfold check interleaved -n 2^20 --block 512 --tool racecheck
  warpfold check missing_barrier
  warpfold check --ptx sum.ptx --kernel block_sum --grid 4 --block 256 \\
      --arg buf:i32:iota:1024 --arg buf:i32:uninit:4 --arg u64:1024

Exit status: 0 nothing found, 1 findings, 2 bad usage or input.";

const LONG_HELP: &str = "\
Tools:
  memcheck   accesses out of bounds, misaligned, through null or freed pointers, or through addresses of another space;
             the first one ends the launch
  initcheck  reads of global, shared or local memory that nothing has written
  racecheck  two accesses to one byte of shared or global memory, by different threads, one of them a write, that no
             barrier, warp barrier, atomic operation or fence orders; lanes of a warp are not in lockstep
  synccheck  barriers and shuffles that not the right threads come to, or come to apart

A finding shows the threads, the lines of the PTX and, where the PTX tells, of the source: `a.rs:7 → b.rs:3` is line 3 of
something that was inlined into the kernel at line 7 or soon after.

Interleavings: a GPU may run blocks, warps and (since Volta) lanes in any order. Seed S draws one such order, the same one
every time. Random elements of lessons come from seed 42 whatever the order.

Exhibits (kernels/exhibits) are wrong kernels, one mistake each: any of them can stand in place of a lesson.";

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

    let mut report = Report::new(&name, tool_names, orders.len());
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
        [] => String::new(),
        [Order::Fixed, seed] => format!("; {seed} against the fixed order"),
        [first, .., Order::Seed(last)] => {
            format!("; {} schedules, {first} to {last}", orders.len())
        }
        [one] | [.., one] => format!("; {one}"),
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
