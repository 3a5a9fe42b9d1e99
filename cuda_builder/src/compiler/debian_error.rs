//! Why Debian gave no compiler.

use std::io;
use std::path::Path;

/// The package that has it.
pub(super) const COMPILER: &str = "rustc-web";

/// Why Debian gave no compiler.
#[derive(Debug, thiserror::Error)]
pub(super) enum DebianError {
    #[error("{program} failed, {message}")]
    Failed { program: String, message: String },
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("the package lists cannot be fetched, {0}")]
    ListsOutOfReach(String),
    #[error("the system's sources have no package {COMPILER}")]
    NoSuchPackage,
    #[error("{0} holds no compiler after unpacking: remove that folder and try again")]
    Incomplete(String),
}

impl DebianError {
    pub(super) fn io(what: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let what = what.as_ref().display().to_string();
        move |source| Self::Io { what, source }
    }
}
