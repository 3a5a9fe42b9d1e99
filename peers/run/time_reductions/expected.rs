//! What results should be.

use super::values::{Made, Outcome};
use std::error::Error;
use std::fmt::Debug;
use std::ops::Range;
use warpfold::Matrix;
use warpfold::device::Pod;
use warpfold::operator::Combine;
use warpfold::reduce::BuiltIn;

/// The host's results of some rows, by their numbers.
pub struct Expected<R>(pub Vec<(usize, R)>);

impl<R: Pod + Outcome + Debug> Expected<R> {
    pub fn of_some<T: Made, O: BuiltIn<T, Output = R, State: Send> + Send + Sync>(
        operator: O,
        values: &[T],
        columns: usize,
    ) -> Self {
        let rows = values.len() / columns;
        let sampled = (1 << 18) / columns;
        let step = (rows / sampled.max(1)).max(1);
        let last = rows - 1;
        let of_row = |row: usize| {
            let row_values = &values[row * columns..][..columns];
            let state = state_of(operator, row_values, 0);
            (row, operator.finish(state, columns as u64))
        };
        Self((0..last).step_by(step).chain([last]).map(of_row).collect())
    }

    /// Those of some columns.
    pub fn of_columns<T: Made, O: BuiltIn<T, Output = R, State: Send> + Send + Sync>(
        operator: O,
        values: &[T],
        matrix: Matrix,
    ) -> Self {
        let sampled = ((1 << 18) / matrix.rows).max(1);
        let step = (matrix.columns / sampled).max(1);
        let last = matrix.columns - 1;
        let of_column = |column: usize| {
            let lift = |row: usize| operator.lift(values[row * matrix.stride + column], row as u64);
            let state = combined(operator, &lift, 0..matrix.rows);
            (column, operator.finish(state, matrix.rows as u64))
        };
        Self(
            (0..last)
                .step_by(step)
                .chain([last])
                .map(of_column)
                .collect(),
        )
    }

    pub fn verify(&self, results: &[R], by: impl Debug) -> Result<(), Box<dyn Error>> {
        for (row, expected) in &self.0 {
            let (found, wanted) = (results[*row].number(), expected.number());
            let is_near = (found - wanted).abs() <= 1e-3 * wanted.abs().max(1.0);
            if !is_near && found.to_bits() != wanted.to_bits() {
                let found = results[*row];
                return Err(format!("row {row} by {by:?}: {found:?}, not {expected:?}").into());
            }
        }
        Ok(())
    }
}

/// The state of values, halves first, so that little is rounded.
pub fn state_of<T: Made, O: BuiltIn<T, State: Send> + Send + Sync>(
    operator: O,
    values: &[T],
    index: u64,
) -> O::State {
    let lift = |place: usize| operator.lift(values[place], index + place as u64);
    combined(operator, &lift, 0..values.len())
}

pub fn combined<S: Send>(
    operator: impl Combine<S> + Send + Sync,
    lift: &(impl Fn(usize) -> S + Sync),
    places: Range<usize>,
) -> S {
    if places.len() > 1024 {
        let middle = places.start + places.len() / 2;
        let (left, right) = rayon::join(
            || combined(operator, lift, places.start..middle),
            || combined(operator, lift, middle..places.end),
        );
        return operator.combine(left, right);
    }
    places.map(lift).fold(operator.identity(), |left, right| {
        operator.combine(left, right)
    })
}
