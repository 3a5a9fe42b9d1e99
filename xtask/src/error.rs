//! Why a chore was not done.

use std::io;
use std::time::Duration;

use cuda_builder::CudaBuilderError;

use crate::build_ptx::Finding;

/// Why a chore was not done.
#[derive(Debug, thiserror::Error)]
pub enum XtaskError {
    /// The kernels cannot be compiled.
    #[error(transparent)]
    Builder(#[from] CudaBuilderError),
    /// The PTX is not what it should be.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: "))]
    Findings(Vec<Finding>),
    /// A step of `cargo xtask ci` failed.
    #[error("`{command}` failed after {:.1} s: see its output above", .elapsed.as_secs_f64())]
    Step {
        /// The command line.
        command: String,
        /// How long it ran.
        elapsed: Duration,
    },
    /// A file or program of the system failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, with the path or program.
        action: String,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl XtaskError {
    /// For arguments and machines that cannot do what is asked, as opposed to something that was checked and is wrong.
    pub const BAD_USE: u8 = 2;

    /// 1 for a finding, 2 for bad use or input.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Findings(_) | Self::Step { .. } => 1,
            Self::Builder(
                CudaBuilderError::BuildFailed
                | CudaBuilderError::InvalidPtx { .. }
                | CudaBuilderError::PtxasFailed { .. },
            ) => 1,
            Self::Builder(_) | Self::Io { .. } => Self::BAD_USE,
        }
    }

    /// For `map_err`: an input/output error with what was tried.
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
