//! In which order values are combined, and what threads can share.

use warpfold_device::operator::Operator;

/// The order in which values are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The fastest; it may depend on the processor and the number of its cores, and with it the rounding of floats.
    #[default]
    Fast,
    /// An order that depends only on how many values there are, so that the result has the same bits on every machine, but for those of a NaN. Values come in
    /// chunks of 4096. In a chunk, value i goes to slot i mod 1024, whose values are combined in their order. Then slot s is combined
    /// with slot s + 512, then with s + 256, and so on down to s + 1, as far as there are such slots. The results of the chunks are
    /// combined in the same way.
    Deterministic,
}

/// Values of type `T` that threads share, and an operator on them. Every operator of [`operator`](crate::operator) is one.
pub trait Parallel<T>: Operator<T, State: Send + Sync, Output: Send + Sync> + Send + Sync {}

impl<T, O: Operator<T, State: Send + Sync, Output: Send + Sync> + Send + Sync> Parallel<T> for O {}
