#![doc = include_str!("../README.md")]

mod carried;
mod error;
mod workshop;

pub use carried::text as carried;
pub use cuda_builder::NvvmArch;
pub use error::WorkshopError;
pub use workshop::{Messages, Source, Workshop, checkout};
