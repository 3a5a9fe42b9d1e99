//! What can go wrong, each as one sentence that says what to do.

use std::io;
use std::path::PathBuf;

use crate::ptx::Violation;
use crate::toolchain::{Refusal, TOOLCHAIN_VARIABLE};

/// Why a build gave no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to [`CudaBuilder::new`](crate::CudaBuilder::new) is no folder with a `Cargo.toml`.
    #[error("crate path {} does not exist or holds no Cargo.toml: give the folder of the kernel crate", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// The PTX could not be written to the place asked for; the inner error names the path.
    #[error("failed to copy the PTX file: {0}")]
    FailedToCopyPtxFile(io::Error),
    /// The kernel crate does not compile; the compiler's own messages went to standard error.
    #[error(
        "build failed: the kernel crate does not compile for the GPU, see the compiler's messages above"
    )]
    BuildFailed,
    /// *Addition to rust-cuda's API:* the same where the messages were to be
    /// [kept](crate::CudaBuilder::capture_messages).
    #[error("the kernel crate does not compile for the GPU:\n{messages}")]
    DoesNotCompile {
        /// What the compiler says, as it would have shown it; with colours where standard error is a terminal.
        messages: String,
    },

    /// *Addition to rust-cuda's API:* no compiler that can make PTX was found, and none could be fetched.
    #[error(
        "no device compiler found ({}): run `rustup toolchain install nightly --component rust-src`, or build on a Debian \
         whose packages include rustc-web, or set {TOOLCHAIN_VARIABLE} to a rustup toolchain or to the path of a rustc \
         (1.92 or later) that has its library source",
        join(.refusals)
    )]
    NoDeviceCompiler {
        /// Each place that was looked at, and why it did not do.
        refusals: Vec<Refusal>,
    },
    /// *Addition to rust-cuda's API:* the PTX was compiled but would not load, or would not do what its source says.
    #[error("the PTX in {} is wrong: {}", .path.display(), join(.violations))]
    InvalidPtx {
        /// The PTX file.
        path: PathBuf,
        /// Everything found wrong with it.
        violations: Vec<Violation>,
    },
    /// *Addition to rust-cuda's API:* NVIDIA's assembler refuses the PTX.
    #[error("ptxas ({}) refuses the PTX in {}: {message}", .ptxas.display(), .path.display())]
    PtxasFailed {
        /// The assembler that was run.
        ptxas: PathBuf,
        /// The PTX file.
        path: PathBuf,
        /// What it printed.
        message: String,
    },
    /// *Addition to rust-cuda's API:* not the name of an architecture.
    #[error(
        "`{0}` is no architecture this builder knows: give one such as 70, 80 or 90 (also sm_80 or compute_80)"
    )]
    UnknownArch(String),
    /// *Addition to rust-cuda's API:* cargo does not describe the kernel crate as one that can be compiled to PTX.
    #[error("cargo cannot build PTX from {}: {reason}", .path.display())]
    NotAKernelCrate {
        /// The crate folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// *Addition to rust-cuda's API:* a program could not be started, or a file not be read or written.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, with the program or path.
        action: String,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl CudaBuilderError {
    /// For `map_err`: an input/output error with what was tried.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}

fn join(items: &[impl ToString]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}
