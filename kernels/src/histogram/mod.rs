//! Counting the colours of an image.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod h01_histogram_global;
pub mod h02_histogram_shared;
