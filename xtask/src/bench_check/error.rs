//! Why the counts were not approved.

use super::finding::Finding;
use crate::failure::{BAD_USE, FailedStep, Failure, IoError, lines};

/// Why the counts were not approved.
#[derive(Debug, thiserror::Error)]
pub enum BenchCheckError {
    /// What was counted is not what the baseline has.
    #[error("{}", lines(.0))]
    Counts(Vec<Finding>),
    /// There is no valgrind.
    #[error(
        "there is no valgrind to count instructions with: install it (Debian: `apt-get install valgrind`)"
    )]
    NoValgrind,
    /// valgrind has not counted what it should.
    #[error("valgrind's counts cannot be used: {what}")]
    NoCounts {
        /// What is wrong with them.
        what: String,
    },
    /// A baseline that cannot be read.
    #[error(
        "{file} is no baseline: {source}; write it anew with `cargo xtask bench-check --bless`"
    )]
    Baseline {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A program that was started failed.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for BenchCheckError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Counts(_) | Self::Step(_) => 1,
            Self::NoValgrind | Self::NoCounts { .. } | Self::Baseline { .. } | Self::Io(_) => {
                BAD_USE
            }
        }
    }
}
