//! `cargo xtask matrix`: every operator over every type, of which `cargo test` has a sample.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::failure::{BAD_USE, FailedStep, Failure, IoError, io};

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// An operator is wrong.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// cargo could not be started.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for MatrixError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Step(_) => 1,
            Self::Io(_) => BAD_USE,
        }
    }
}

/// The operators of the device library over arrays, against loops of the tests' own; the library's kernels of every shape and its
/// scans, against the operators on the host; and reductions by names, against those of types known at compile time. They are among the tests, ignored, and
/// so compiled with them.
const COMMAND: [&str; 5] = ["test", "--tests", "--", "--ignored", "every_operator_of"];

/// Runs the tests; those of the library also on a GPU where there is one.
///
/// # Errors
/// A test fails, or cargo cannot be started.
pub fn run(repository: &Path) -> Result<(), MatrixError> {
    let command_line = format!("cargo {}", COMMAND.join(" "));
    let start = Instant::now();
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(COMMAND)
        .current_dir(repository)
        .status()
        .map_err(io(format!("run `{command_line}`")))?;
    if !status.success() {
        return Err(MatrixError::Step(FailedStep {
            command: command_line,
            elapsed: start.elapsed(),
        }));
    }
    Ok(())
}
