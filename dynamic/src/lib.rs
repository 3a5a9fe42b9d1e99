#![doc = include_str!("../README.md")]

mod convert;
mod exact;
mod names;
mod on_device;
mod pieces;
mod reduction;
mod results;
mod states;

pub use names::{Named, TypeName, UnknownOperator, UnknownType};
#[doc(hidden)]
pub use on_device::kernels;
pub use on_device::{reduce_on, reduce_on_group, reduce_on_ranks};
pub use pieces::{Pieces, States};
pub use reduction::{Part, Reduction};
pub use results::{Number, Results, Value};

#[doc(inline)]
pub use warpfold_device::fixed::CHUNK;

#[cfg(test)]
mod tests;
