//! `warpfold check`: the emulator's sanitizers, and many orders of execution.

mod arguments;
mod help;
mod report;
mod subjects;

use super::failure::Failure;
use super::output::Output;
use super::progress;
pub use arguments::Arguments;
use report::{Checked, Report};
use std::collections::BTreeSet;
use subjects::{Subjects, ToCheck};
use warpfold_emulator::{LaunchError, Order, Tool};

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
    let progress = progress::bar(subjects.len() as u64)?;
    for subject in subjects {
        let checked = check(subject?, &tools, &orders, arguments.max_steps)?;
        progress.inc(1);
        progress.suspend(|| {
            output.print(checked.headline())?;
            if !checked.is_news(&mut shown) {
                output.print(format!("  {SAME}"))?;
            } else if !checked.is_clean() {
                output.print(format!("\n{}\n", checked.text(arguments.limit)))?;
            }
            Ok::<(), Failure>(())
        })?;
        report.add(checked);
    }
    progress.finish_and_clear();
    output.write_json(&report)?;
    report.verdict()
}

/// Checks one launch.
fn check(
    ToCheck {
        mut subject,
        parameter,
    }: ToCheck,
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
    Ok(Checked::new(&subject, parameter, findings))
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
