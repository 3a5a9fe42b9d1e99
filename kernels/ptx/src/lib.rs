//! The PTX of warpfold's kernels as text: each module for each architecture that it is built for, oldest first.
//!
//! `cargo xtask build-ptx` writes the files from the sources in `kernels/`. Each begins with a [`header`] that says which
//! compiler made it, from which sources. [`registers`] are recorded beside them.
//!
//! # Features
//! - `texts` (default): the texts themselves. What builds them cannot depend on them.
//! - `sources`: the hash of the sources, by which one sees that they have changed since.

pub mod header;
pub mod registers;
#[cfg(feature = "sources")]
pub mod sources;
#[cfg(feature = "texts")]
mod texts;

#[cfg(feature = "texts")]
pub use texts::{EXHIBITS, KERNELS, NESTED, OPERATORS, RECENT, REGISTERS, Texts};
