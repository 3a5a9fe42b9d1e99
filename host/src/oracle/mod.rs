//! The CPU's word on a reduction: the references of the course, and the oracles that judge every kernel.

mod float;
mod integer;
mod references;

pub use float::FloatOracle;
pub(crate) use float::sum_in_f64;
pub use integer::IntegerOracle;
pub use references::{
    CPU_REFERENCES, CpuReference, cpu_parallel, cpu_recursive_interleaved,
    cpu_recursive_neighbored, cpu_sequential,
};

use crate::number::Number;
use std::fmt;
use warpfold_kernels::catalogue::Operator;

/// What the CPU makes of the values that a kernel reduces; the judge of what the kernel makes of them.
pub trait Oracle<T>: Clone + fmt::Debug {
    /// Reduces the values more exactly than `T` can.
    fn new(operator: Operator, values: &[T]) -> Self;

    /// The right result, as exactly as the oracle knows it.
    fn expected(&self) -> Number;

    /// How far from it a kernel's result may be, where each value goes through at most so many roundings; `None` where
    /// the result must be exact.
    fn tolerance(&self, roundings: u32) -> Option<f64>;

    /// Whether a kernel's result is right, where each value goes through at most so many roundings.
    fn accepts(&self, result: T, roundings: u32) -> bool;
}
