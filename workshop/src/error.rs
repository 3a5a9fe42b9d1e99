//! What can go wrong.

use cuda_builder::CudaBuilderError;
use std::io;
use std::path::PathBuf;

/// Why a file was not compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkshopError {
    /// The user has no folder for what programs keep.
    #[error("there is no folder to compile in: set HOME")]
    NoFolder,
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The compiler has refused the kernels, and says why.
    #[error("{0}")]
    DoesNotCompile(String),
    /// A file of the workshop cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The compiler has refused the file, and has said why on standard error; or there is no compiler.
    #[error("{}: {source}", .path.display())]
    Compiler {
        /// The file.
        path: PathBuf,
        /// What the builder says.
        source: CudaBuilderError,
    },
}
