//! Why a chore was not done.

use std::io;
use std::time::Duration;

use cuda_builder::CudaBuilderError;
use warpfold_driver::Unavailable;
use warpfold_plot::LinePlotError;

use crate::bench_check;
use crate::build_ptx::{Finding, Missing};

/// Why a chore was not done.
#[derive(Debug, thiserror::Error)]
pub enum XtaskError {
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
    /// A program that was started failed: a step of `cargo xtask ci`, a build.
    #[error("`{command}` failed after {:.1} s: see its output above", .elapsed.as_secs_f64())]
    Step {
        /// The command line.
        command: String,
        /// How long it ran.
        elapsed: Duration,
    },
    /// There is nothing to time on.
    #[error("peers are timed on a GPU, and there is none to use: {0}")]
    NoGpu(#[from] Unavailable),
    /// The comparison with peers failed, and has said why.
    #[error("the comparison with peers was not finished: see above")]
    Peers {
        /// Its exit status.
        status: u8,
    },
    /// A record that cannot be read.
    #[error("{file} is no record of `cargo xtask peers`: {source}")]
    Record {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A record without anything to show.
    #[error("{0} has no measurements of warpfold::sum: make it anew with `cargo xtask peers`")]
    NothingMeasured(String),
    /// The README has no place for the results.
    #[error(
        "README.md has no lines `<!-- results: begin -->` and `<!-- results: end -->`: add them where the tables belong"
    )]
    NoPlace,
    /// The picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] LinePlotError),
    /// What was counted is not what the baseline has.
    #[error("{}", lines(.0))]
    Counts(Vec<bench_check::Finding>),
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
    /// A file or program of the system failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, with the path or program.
        action: String,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// Where everything is already installed.
const CONTAINER: &str = "Or build in the container image ghcr.io/rust-gpu/rust-cuda-ubuntu24-cuda12, which has CUDA and LLVM 7: see \
                         rust-cuda/README.md.";

/// A line for each, as if it stood alone.
fn lines(findings: &[impl ToString]) -> String {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    lines.join("\nerror: ")
}

impl XtaskError {
    /// For arguments and machines that cannot do what is asked, as opposed to something that was checked and is wrong.
    pub const BAD_USE: u8 = 2;

    /// 1 for a finding, 2 for bad use or input.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Findings(_) | Self::Step { .. } | Self::Warpfold { .. } | Self::Counts(_) => 1,
            Self::Builder(
                CudaBuilderError::BuildFailed
                | CudaBuilderError::InvalidPtx { .. }
                | CudaBuilderError::PtxasFailed { .. },
            ) => 1,
            Self::Peers { status } => *status,
            Self::Builder(_)
            | Self::NothingToCheck
            | Self::NotPrepared(_)
            | Self::NotInBuilder(_)
            | Self::NothingToCompare(_)
            | Self::NoGpu(_)
            | Self::Record { .. }
            | Self::NothingMeasured(_)
            | Self::NoPlace
            | Self::NoValgrind
            | Self::NoCounts { .. }
            | Self::Baseline { .. }
            | Self::Picture(_)
            | Self::Io { .. } => Self::BAD_USE,
        }
    }

    /// For `map_err`: an input/output error with what was tried.
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
