//! Why nothing was tuned.

use warpfold_driver::Unavailable;

use crate::failure::{BAD_USE, Failure, IoError};

/// Why nothing was tuned.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// There is nothing to time on.
    #[error("launches are timed on a GPU, and there is none to use: {0}")]
    NoGpu(#[from] Unavailable),
    /// The measurement failed, and has said why.
    #[error("{operator} of {element} was not measured: see above")]
    NotMeasured {
        /// What was reduced by.
        operator: &'static str,
        /// What was reduced.
        element: &'static str,
    },
    /// A line that is no measurement.
    #[error(
        "{file}, line {line}: `{text}` is no measurement of `time_reductions`; measure anew, without --from-kept"
    )]
    Line {
        /// The file.
        file: String,
        /// The number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A file of another GPU.
    #[error("{file} is of `{device}`, the others of `{others}`: measure anew, without --from-kept")]
    Devices {
        /// The file.
        file: String,
        /// Its GPU.
        device: String,
        /// That of the files before.
        others: String,
    },
    /// Too little was measured for a table.
    #[error("{folder} has no measurements of {what}: measure anew, without --from-kept")]
    Missing {
        /// Where they should be.
        folder: String,
        /// What is missing.
        what: String,
    },
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for TuneError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::NotMeasured { .. } => 1,
            _ => BAD_USE,
        }
    }
}
