//! Why the driver's library could not be loaded.

/// No library of the driver could be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LibraryNotFound(pub(crate) String);
