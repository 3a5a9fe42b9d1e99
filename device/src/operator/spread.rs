//! What is kept of values for their variance.

#[cfg(doc)]
use super::Operator;
use crate::element::Element;
use crate::words::Words;

/// What is kept of values for their variance, and how two of them become one.
pub trait Spread: Words + Send + Sync {
    /// That of no values.
    const NOTHING: Self;

    /// That of the values of both.
    fn join(self, other: Self) -> Self;
}

/// A [`Spread`] of values of this type.
pub trait SpreadOf<T: Element>: Spread {
    /// That of the values of up to 16 vectors of up to 16, at least one.
    fn of_vectors<const V: usize, const N: usize>(vectors: [[T; N]; V]) -> Self;

    /// Those of as many columns, each with N further values, as [`Operator::accumulate_columns`] says.
    fn extend_each<const N: usize, const STATES: usize>(
        states: &mut [Self; STATES],
        columns: usize,
        values_of: impl Fn(usize) -> ([T; N], u64),
    );

    /// On a host: that of values side by side.
    #[cfg(not(target_arch = "nvptx64"))]
    fn of_slice(values: &[T]) -> Self;

    /// The sum of the squares of the distances from the mean, where it is of so many values.
    fn squares(self, count: u64) -> T::Real;
}
