//! Why the picture was not drawn.

use crate::failure::{BAD_USE, Failure, IoError, lines};

/// Why the picture was not drawn.
#[derive(Debug, thiserror::Error)]
pub enum ArchitectureError {
    /// Modules that depend on one another.
    #[error("{}", lines(.0))]
    Circles(Vec<String>),
    /// `--check` found another picture.
    #[error(
        "ARCHITECTURE.md shows other dependencies than the sources have: run `cargo xtask architecture`"
    )]
    Stale,
    /// There is no place for it.
    #[error(
        "ARCHITECTURE.md has no lines `<!-- modules: begin -->` and `<!-- modules: end -->`: add them where the picture belongs"
    )]
    NoPlace,
    /// cargo does not say which crates there are.
    #[error("`cargo metadata` failed: {0}")]
    Metadata(String),
    /// A source file that does not parse.
    #[error("{file} is no Rust: {source}")]
    NoRust {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: syn::Error,
    },
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for ArchitectureError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Circles(_) | Self::Stale => 1,
            Self::NoPlace | Self::Metadata(_) | Self::NoRust { .. } | Self::Io(_) => BAD_USE,
        }
    }
}
