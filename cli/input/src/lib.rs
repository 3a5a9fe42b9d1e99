#![doc = include_str!("../README.md")]

mod archive;
pub mod array;
mod csv;
mod error;
pub mod found;
#[cfg(feature = "parquet")]
mod guard;
mod line;
mod npy_header;
mod npy_values;
mod open;
#[cfg(feature = "parquet")]
mod parquet;
mod values;

pub use error::InputError;
pub use open::{comes_in_pieces, is_table};
pub use values::{FileNumber, is_read_from_files};
