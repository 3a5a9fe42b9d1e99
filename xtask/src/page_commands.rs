//! `cargo xtask page-commands`: every command that a page of the course names, run on the emulator, and what it prints against what the
//! page shows.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::failure::{BAD_USE, FailedStep, Failure, IoError, io};

/// What is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// Renew what the pages show instead: each line by the one that is printed in its place.
    #[arg(long)]
    bless: bool,
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum PageCommandsError {
    /// A page shows something else than what its commands print.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// cargo could not be started.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for PageCommandsError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Step(_) => 1,
            Self::Io(_) => BAD_USE,
        }
    }
}

/// The test of the command line that runs them, with those that `cargo test` leaves out, and optimised.
const ARGUMENTS: [&str; 8] = [
    "test",
    "--release",
    "--package",
    "warpfold-cli",
    "--test",
    "pages",
    "--",
    "--include-ignored",
];

/// Runs the commands.
///
/// # Errors
/// A page shows something else, or a command fails.
pub fn run(repository: &Path, options: &Options) -> Result<(), PageCommandsError> {
    let command_line = format!("cargo {}", ARGUMENTS.join(" "));
    let start = Instant::now();
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(ARGUMENTS).current_dir(repository);
    if options.bless {
        command.env("WARPFOLD_BLESS", "1");
    }
    let status = command
        .status()
        .map_err(io(format!("run `{command_line}`")))?;
    if status.success() {
        return Ok(());
    }
    Err(PageCommandsError::Step(FailedStep {
        command: command_line,
        elapsed: start.elapsed(),
    }))
}
