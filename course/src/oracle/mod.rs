//! What the CPU knows about a reduction: the references of the course, and the oracles that judge every kernel.

mod compensated;
mod extreme;
mod float;
mod float_oracle;
mod integer;
mod product;
mod references;
mod scaled;
mod sum;
mod truth;

pub(crate) use compensated::Compensated;
pub use extreme::ExtremeOracle;
pub use float::Float;
pub use float_oracle::FloatOracle;
pub use integer::{Integer, IntegerOracle};
pub use product::ProductOracle;
pub use references::{
    CPU_REFERENCES, CpuReference, cpu_parallel, cpu_recursive_interleaved,
    cpu_recursive_neighbored, cpu_sequential,
};
pub use scaled::Scaled;
pub use sum::SumOracle;
pub use truth::Truth;

use crate::number::Number;
use std::fmt;
use warpfold::cpu::cores;
use warpfold_kernels::catalogue::Operator;

/// What the CPU makes of the values that a kernel reduces; the judge of what the kernel makes of them.
pub trait Oracle<T>: Clone + fmt::Debug {
    /// Reduces the values more exactly than `T` can.
    fn new(operator: Operator, values: &[T]) -> Self;

    /// Takes in what another oracle of the same operator knows of further values.
    fn append(&mut self, further: &Self);

    /// The right result, as exactly as the oracle knows it.
    fn expected(&self) -> Number;

    /// The result without the bounds of the type.
    fn truth(&self) -> Truth;

    /// How far from it a kernel's result may be, if each value goes through at most this many roundings; `None` if the result must
    /// be exact.
    fn tolerance(&self, roundings: u32) -> Option<f64>;

    /// Whether a kernel's result is right, if each value goes through at most this many roundings.
    fn accepts(&self, result: T, roundings: u32) -> bool;
}

/// The oracle of what each value is turned into, none of which is kept.
pub(crate) fn by_chunks<V: Sync, T: Sync, O: Oracle<T> + Send + Sync>(
    operator: Operator,
    values: &[V],
    turned: impl Fn(&V) -> T + Sync,
) -> O {
    let of_chunk = |chunk: &[V]| {
        let turned: Vec<T> = chunk.iter().map(&turned).collect();
        O::new(operator, &turned)
    };
    chunk_by_chunk(values, || O::new(operator, &[]), of_chunk, O::append)
}

/// Takes in the values chunk by chunk on all cores, and combines the chunks in the same order each time.
fn chunk_by_chunk<T: Sync, Of: Send + Sync>(
    values: &[T],
    nothing: impl Fn() -> Of,
    of_chunk: impl Fn(&[T]) -> Of + Sync,
    append: impl Fn(&mut Of, &Of),
) -> Of {
    // Long enough to outweigh handing it to another core, short enough to balance the cores.
    const CHUNK_ELEMENTS: usize = 1 << 14;
    let chunks = cores::map_parts(values, CHUNK_ELEMENTS, of_chunk);
    let mut all = nothing();
    for chunk in &chunks {
        append(&mut all, chunk);
    }
    all
}
