//! Why the PTX was not built, or not approved.

use cuda_builder::CudaBuilderError;

use super::compare::Finding;
use super::missing::Missing;
use crate::failure::{BAD_USE, FailedStep, Failure, IoError, lines};

/// Why the PTX was not built, or not approved.
#[derive(Debug, thiserror::Error)]
pub enum BuildPtxError {
    /// The kernels cannot be compiled.
    #[error(transparent)]
    Builder(#[from] CudaBuilderError),
    /// The PTX is not what it should be.
    #[error("{}", lines(.0))]
    Findings(Vec<Finding>),
    /// `--check` and `--codegen rust-cuda` together.
    #[error(
        "--check compares a rebuild with the committed PTX, and what rust-cuda makes is not committed: leave out --check or \
         --codegen rust-cuda"
    )]
    NothingToCheck,
    /// The machine lacks what rust-cuda is built with.
    #[error("this machine cannot build with rust-cuda, because it lacks:{}\n{CONTAINER}", .0.iter().map(|missing| format!("\n- {missing}")).collect::<String>())]
    NotPrepared(Vec<Missing>),
    /// rust-cuda/builder takes no such architecture.
    #[error(
        "rust-cuda/builder does not build for {0}: give --sm 70, 80 or 90, or add it to rust-cuda/builder/src/main.rs"
    )]
    NotInBuilder(String),
    /// A program that was started failed.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for BuildPtxError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Findings(_) | Self::Step(_) => 1,
            Self::Builder(error) => exit_status_of(error),
            Self::NothingToCheck | Self::NotPrepared(_) | Self::NotInBuilder(_) | Self::Io(_) => {
                BAD_USE
            }
        }
    }
}

/// Where everything is already installed.
const CONTAINER: &str = "Or build in the container image ghcr.io/rust-gpu/rust-cuda-ubuntu24-cuda12, which has CUDA and LLVM 7: see \
                         rust-cuda/README.md.";

/// 1 where kernels are wrong, 2 where they cannot be compiled at all.
pub fn exit_status_of(error: &CudaBuilderError) -> u8 {
    match error {
        CudaBuilderError::BuildFailed
        | CudaBuilderError::DoesNotCompile { .. }
        | CudaBuilderError::InvalidPtx { .. }
        | CudaBuilderError::PtxasFailed { .. } => 1,
        _ => BAD_USE,
    }
}
