#![doc = include_str!("../README.md")]

mod convert;
mod exact;
mod names;
mod on_device;
mod reduction;
mod results;
mod states;

pub use names::{Named, TypeName, UnknownOperator, UnknownType};
#[doc(hidden)]
pub use on_device::kernels;
pub use on_device::{reduce_on, reduce_on_group, reduce_on_ranks};
pub use reduction::Reduction;
pub use results::{Number, Results, Value};

#[cfg(test)]
mod tests;
