//! Why the results were not written.

use warpfold_plot::LinePlotError;

use crate::failure::{BAD_USE, Failure, IoError};

/// Why the results were not written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
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
    /// A document has no place for the results.
    #[error(
        "{document} has no lines `<!-- {block}: begin -->` and `<!-- {block}: end -->`: add them where the tables belong"
    )]
    NoPlace {
        /// The document.
        document: &'static str,
        /// What is shown there.
        block: &'static str,
    },
    /// The picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] LinePlotError),
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for ResultsError {
    fn exit_status(&self) -> u8 {
        BAD_USE
    }
}
