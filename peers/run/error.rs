//! Why a comparison was not made.

use crate::record::Maker;
use std::{collections::TryReserveError, io, path::PathBuf};
use warpfold::{DeviceError, Error};
use warpfold_course::number::Number;
use warpfold_driver::Unavailable;

/// Why a comparison was not made.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// There is nothing to time on.
    #[error("peers are timed on a GPU, and there is none to use: {0}")]
    NoGpu(Unavailable),
    /// The GPU refuses something.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There is no PTX for the GPU.
    #[error(transparent)]
    Kernels(#[from] Error),
    /// The library cannot be opened, or is not ours.
    #[error("{path} cannot be used: {source}; build it with `cargo xtask peers`")]
    Library {
        /// The file.
        path: PathBuf,
        /// What the system's loader said.
        source: libloading::Error,
    },
    /// A contender of the library failed.
    #[error("{name} failed at n = {n}: {message}")]
    Contender {
        /// What it is called.
        name: String,
        /// The number of elements.
        n: usize,
        /// What it said.
        message: String,
    },
    /// A process went away or answered something else.
    #[error("the process that runs {name} failed: {message}")]
    Process {
        /// What it runs.
        name: &'static str,
        /// What it said.
        message: String,
    },
    /// A sum was wrong.
    #[error(
        "{name} is wrong for {n} elements of {element_type}: it gave {given}, and the CPU {expected}"
    )]
    Wrong {
        /// What it is called.
        name: String,
        /// What it added up.
        element_type: &'static str,
        /// The number of elements.
        n: usize,
        /// Its answer.
        given: Number,
        /// The right one.
        expected: Number,
    },
    /// The input does not fit in the host's memory.
    #[error("there is not enough memory for {n} elements: ask for smaller --sizes")]
    HostMemory {
        /// The number of elements.
        n: usize,
        /// The allocator's answer.
        source: TryReserveError,
    },
    /// The record to go on with cannot be read, or is of another program or machine.
    #[error("{path} cannot be continued: {reason}; leave out --continue")]
    Before {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The result cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl PeersError {
    /// Whether it is a matter of one contender, by this maker, and for the record, so that the others may go on without it. Where what
    /// is written here is wrong, that is a mistake to mend first.
    pub fn concerns_only(&self, maker: Maker) -> bool {
        match self {
            Self::Contender { .. } | Self::Process { .. } => true,
            Self::Wrong { .. } => matches!(maker, Maker::Library | Maker::Python | Maker::Rust),
            _ => false,
        }
    }

    /// The same for who knows which contender it is about, and where.
    pub fn reason(&self) -> String {
        match self {
            Self::Contender { message, .. } => message.clone(),
            Self::Wrong {
                given, expected, ..
            } => format!("its sum is wrong: it gave {given}, and the CPU {expected}"),
            other => other.to_string(),
        }
    }

    /// 1 for something wrong with a contender, 2 for a machine or arguments that cannot do what is asked.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Wrong { .. } | Self::Contender { .. } => 1,
            Self::Device(error) if error.is_fault() => 1,
            _ => 2,
        }
    }
}
