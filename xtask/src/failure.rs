//! What the errors of all chores have in common: a sentence, and an exit status.

use std::fmt;
use std::io;
use std::time::Duration;

/// For arguments and machines that cannot do what is asked, as opposed to something that was checked and is wrong.
pub const BAD_USE: u8 = 2;

/// Why a chore was not done.
pub trait Failure: fmt::Display {
    /// 1 for a finding, 2 for bad use or input.
    fn exit_status(&self) -> u8;
}

impl<'a, E: Failure + 'a> From<E> for Box<dyn Failure + 'a> {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}

/// A file or program of the system failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}")]
pub struct IoError {
    /// What was tried, with the path or program.
    action: String,
    /// The operating system's answer.
    source: io::Error,
}

/// For `map_err`: an input/output error with what was tried.
pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> IoError {
    let action = action.into();
    move |source| IoError { action, source }
}

/// A program that was started failed: a step of `cargo xtask ci`, a build.
#[derive(Debug, thiserror::Error)]
#[error("`{command}` failed after {:.1} s: see its output above", .elapsed.as_secs_f64())]
pub struct FailedStep {
    /// The command line.
    pub command: String,
    /// How long it ran.
    pub elapsed: Duration,
}

/// A line for each, as if it stood alone.
pub fn lines(findings: &[impl ToString]) -> String {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    lines.join("\nerror: ")
}
