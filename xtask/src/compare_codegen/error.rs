//! Why two compilers were not compared.

use cuda_builder::CudaBuilderError;

use crate::build_ptx::{Finding, exit_status_of};
use crate::failure::{BAD_USE, Failure, IoError, lines};

/// Why two compilers were not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// ptxas does not do what it is asked.
    #[error(transparent)]
    Builder(#[from] CudaBuilderError),
    /// The PTX is not what it should be.
    #[error("{}", lines(.0))]
    Findings(Vec<Finding>),
    /// A PTX file to compare is not there.
    #[error(
        "{0} does not exist: build it with `cargo xtask build-ptx`, with --codegen rust-cuda for target/ptx-rust-cuda, or give \
         --left, --right and --sm as they are"
    )]
    NothingToCompare(String),
    /// A run of `warpfold` failed.
    #[error("`{command}` failed: {message}")]
    Warpfold {
        /// The command line.
        command: String,
        /// What it said.
        message: String,
    },
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for CompareError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Findings(_) | Self::Warpfold { .. } => 1,
            Self::Builder(error) => exit_status_of(error),
            Self::NothingToCompare(_) | Self::Io(_) => BAD_USE,
        }
    }
}
