//! Reductions of values in the memory of the host, on all of its cores.
//!
//! ```
//! use warpfold::cpu::{self, Order};
//! use warpfold::operator::{ArgMax, Mean, Sum};
//! use warpfold::Matrix;
//!
//! let values = [3.0_f32, 1.0, 2.0, -7.0, -5.0, -6.0];
//! assert_eq!(cpu::reduce(Mean, &values, Order::Fast), -2.0);
//! assert_eq!(cpu::rows(ArgMax::FIRST, &values, Matrix::contiguous(2, 3), Order::Fast)?, [0, 1]);
//! assert_eq!(cpu::columns(Sum, &values, Matrix::contiguous(2, 3), Order::Fast)?, [-4.0, -4.0, -4.0]);
//! assert_eq!(cpu::segments(Sum, &values, &[0_u32, 1, 1, 6], Order::Fast)?, [3.0, -0.0, -15.0]);
//! assert_eq!(cpu::by_key(Sum, &[7, 7, 7, 7, 9, 9], &values, Order::Fast)?, (vec![7, 9], vec![-1.0, -11.0]));
//! # Ok::<(), cpu::ShapeError>(())
//! ```
//!
//! The index that an operator like `ArgMax` gives, and the number that a mean is divided by, are those within the row, column or segment. In
//! scans the index is that among all values that are scanned.
//! The work is done by the threads of `rayon`'s current pool.

mod columns;
#[doc(hidden)]
pub mod cores;
mod order;
mod pairs;
mod ranges;
mod scan;
mod slots;
#[cfg(test)]
mod tests;
mod widest;

use crate::kernels::or_wider;
use crate::matrix::{Along, Batch, Matrices, Matrix};
pub use crate::offsets::Offset;
use crate::scan::ScanKind;
#[doc(hidden)]
pub use columns::{ROWS_AT_ONCE, take_rows};
pub use order::{Order, Parallel};
use rayon::prelude::*;
use std::ops::Range;
use warpfold_device::element::Element;
use warpfold_device::operator::Operator;
#[doc(hidden)]
pub use widest::{Task, widest};

/// The order that the operator needs: the fastest where the result is the same in any.
fn needed<T, O: Operator<T>>(order: Order) -> Order {
    if O::ORDER_MATTERS { order } else { Order::Fast }
}

/// Rows, segments or keys that do not fit the values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The rows go beyond the values.
    #[error(
        "{} rows of {} elements, {} apart, do not lie within {given} elements: give as many, or fewer rows", matrix.rows, matrix.columns, matrix.stride
    )]
    Outside {
        /// The rows.
        matrix: Matrix,
        /// How many elements there are.
        given: usize,
    },
    /// More values for one result than its operator takes.
    #[error(
        "{values} values are too many for one result of this operator, which takes up to {most}: give fewer{}", or_wider(*most)
    )]
    TooManyValues {
        /// How many there are.
        values: u64,
        /// How many there may be.
        most: u64,
    },
    /// No offset at all; there is one more than there are segments.
    #[error("there are no offsets: give one more than there are segments")]
    NoOffsets,
    /// A segment that ends before it begins, or after the values.
    #[error(
        "segment {segment} goes from element {start} to {end} of {given}: offsets must not decrease, and end within the values"
    )]
    Segment {
        /// Its number, from 0.
        segment: usize,
        /// Its offset.
        start: u64,
        /// The next offset.
        end: u64,
        /// How many values there are.
        given: usize,
    },
    /// Strides or an axis that do not go with the shape of an array.
    #[error(
        "axis {axis} of an array of shape {shape:?} with strides {strides:?} cannot be reduced: give a stride of 0 or more for each axis, and one of the axes"
    )]
    NoAxis {
        /// The length of each axis.
        shape: Vec<usize>,
        /// The distance of two neighbours along each.
        strides: Vec<isize>,
        /// The axis that is to be reduced.
        axis: usize,
    },
    /// Two arrays that are taken together, of which one is longer.
    #[error(
        "{left} and {right} elements are not taken together: give two arrays of the same length"
    )]
    Lengths {
        /// Elements of the first.
        left: usize,
        /// Elements of the second.
        right: usize,
    },
    /// Not one key for each value.
    #[error("{keys} keys do not go with {values} values: give one for each")]
    Keys {
        /// How many keys.
        keys: usize,
        /// How many values.
        values: usize,
    },
}

/// Refuses more values for one result than the operator takes.
fn check_count<T, O: Operator<T>>(values: usize) -> Result<(), ShapeError> {
    let (values, most) = (values as u64, O::MOST_VALUES);
    if values <= most {
        Ok(())
    } else {
        Err(ShapeError::TooManyValues { values, most })
    }
}

/// The reduction of all values; of none, what the operator makes of its identity.
///
/// # Panics
/// There are more values than the operator takes: 2³² or more for an index of 32 bits.
pub fn reduce<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    order: Order,
) -> O::Output {
    if let Err(error) = check_count::<T, O>(values.len()) {
        panic!("{error}");
    }
    operator.finish(state(operator, values, 0, order), values.len() as u64)
}

/// The state of values of which the first has this index: what [`reduce`] finishes, for those who have more values to combine it with.
pub fn state<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    index: u64,
    order: Order,
) -> O::State {
    ranges::state(operator, values, index, needed::<T, O>(order))
}

/// The reduction of each row.
///
/// # Errors
/// [`ShapeError::Outside`], [`ShapeError::TooManyValues`]
pub fn rows<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    matrix: Matrix,
    order: Order,
) -> Result<Vec<O::Output>, ShapeError> {
    check(matrix, values.len())?;
    check_count::<T, O>(matrix.columns)?;
    let row = |row: usize| {
        // Rows of no values may begin anywhere.
        let start = if matrix.columns > 0 {
            row * matrix.stride
        } else {
            0
        };
        start..start + matrix.columns
    };
    Ok(ranges::each(
        operator,
        values,
        matrix.rows,
        &row,
        needed::<T, O>(order),
    ))
}

/// The reduction of each column.
///
/// # Errors
/// [`ShapeError::Outside`], [`ShapeError::TooManyValues`]
pub fn columns<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    matrix: Matrix,
    order: Order,
) -> Result<Vec<O::Output>, ShapeError> {
    check(matrix, values.len())?;
    check_count::<T, O>(matrix.rows)?;
    let states = columns::states(operator, values, matrix, needed::<T, O>(order));
    let finish = |state| operator.finish(state, matrix.rows as u64);
    Ok(states.into_iter().map(finish).collect())
}

/// The reduction along an axis of an array with any number of axes, which begins with the first of the values, as
/// [`Reduction::axis`](crate::Reduction::axis) takes it.
///
/// # Errors
/// [`ShapeError::Outside`], [`ShapeError::NoAxis`], [`ShapeError::TooManyValues`]
pub fn axis<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    shape: &[usize],
    strides: &[isize],
    axis: usize,
    order: Order,
) -> Result<Vec<O::Output>, ShapeError> {
    let matrices = Matrices::of_axis(shape, strides, axis).ok_or_else(|| ShapeError::NoAxis {
        shape: shape.into(),
        strides: strides.into(),
        axis,
    })?;
    let Batch {
        matrix,
        matrices: each,
        distance,
    } = matrices.batch;
    if matrices.count().saturating_mul(matrices.results()) == 0 {
        return Ok(Vec::new());
    }
    let last = matrices
        .last_start()
        .saturating_add((each - 1).saturating_mul(distance));
    check(matrix, values.len().saturating_sub(last))?;
    let of_batch = |start| (0..each).map(move |number| start + number * distance);
    let starts: Vec<usize> = matrices.starts().flat_map(of_batch).collect();
    let of_each = starts.into_par_iter().map(|start| {
        // A matrix without elements may begin after the last value.
        let values = &values[start.min(values.len())..];
        match matrices.along {
            Along::Rows => rows(operator, values, matrix, order),
            Along::Columns => columns(operator, values, matrix, order),
        }
    });
    let of_each: Vec<_> = of_each.collect::<Result<_, _>>()?;
    Ok(of_each.into_iter().flatten().collect())
}

/// The sum of the products of the values of two arrays. The deterministic order is that of one array of pairs, and gives the bits of
/// [`DotProduct`](crate::DotProduct) in it.
///
/// ```
/// use warpfold::cpu::{self, Order};
///
/// assert_eq!(cpu::dot(&[1, 2, 3], &[4, 5, 6], Order::Fast), Ok(32));
/// ```
///
/// # Errors
/// [`ShapeError::Lengths`]
pub fn dot<T: Element<Wide: Send + Sync> + Send + Sync>(
    left: &[T],
    right: &[T],
    order: Order,
) -> Result<T::Wide, ShapeError> {
    if left.len() != right.len() {
        return Err(ShapeError::Lengths {
            left: left.len(),
            right: right.len(),
        });
    }
    Ok(pairs::dot(left, right, order))
}

/// The reduction of each segment: segment k is the values from `offsets[k]` up to, but not including, `offsets[k + 1]`.
///
/// # Errors
/// [`ShapeError::NoOffsets`], [`ShapeError::Segment`], [`ShapeError::TooManyValues`]
pub fn segments<T: Copy + Sync, O: Parallel<T>, I: Offset>(
    operator: O,
    values: &[T],
    offsets: &[I],
    order: Order,
) -> Result<Vec<O::Output>, ShapeError> {
    let count = check_offsets(offsets, values.len())?;
    // They are within the values.
    let place = |index: usize| -> u64 { offsets[index].into() };
    let segment =
        |segment: usize| -> Range<usize> { place(segment) as usize..place(segment + 1) as usize };
    (0..count).try_for_each(|number| check_count::<T, O>(segment(number).len()))?;
    Ok(ranges::each(
        operator,
        values,
        count,
        &segment,
        needed::<T, O>(order),
    ))
}

/// The scan of all values: result i is what the values up to value i combine to, or in an exclusive scan those before it.
///
/// States are combined in the order of [`warpfold_device::scan`], so that floats have the same bits on every machine.
///
/// ```
/// use warpfold::cpu;
/// use warpfold::operator::{Max, Sum};
/// use warpfold::scan::ScanKind::{Exclusive, Inclusive};
///
/// assert_eq!(cpu::scan(Sum, Inclusive, &[3, 1, 2]), [3, 4, 6]);
/// assert_eq!(cpu::scan(Sum, Exclusive, &[3, 1, 2]), [0, 3, 4]);
/// assert_eq!(cpu::scan_segments(Max, Inclusive, &[3, 1, 2, 5], &[0_u32, 1, 4])?, [3, 1, 2, 5]);
/// # Ok::<(), cpu::ShapeError>(())
/// ```
///
/// # Panics
/// As [`reduce`].
pub fn scan<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    kind: ScanKind,
    values: &[T],
) -> Vec<O::Output> {
    if let Err(error) = check_count::<T, O>(values.len()) {
        panic!("{error}");
    }
    let matrix = Matrix::contiguous(1, values.len());
    scan::scan(operator, kind, &scan::Rows { values, matrix })
}

/// As [`scan`], of each row. The results of the rows lie side by side.
///
/// # Errors
/// [`ShapeError::Outside`], [`ShapeError::TooManyValues`]
pub fn scan_rows<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    kind: ScanKind,
    values: &[T],
    matrix: Matrix,
) -> Result<Vec<O::Output>, ShapeError> {
    check(matrix, values.len())?;
    check_count::<T, O>(matrix.rows.saturating_mul(matrix.columns))?;
    Ok(scan::scan(operator, kind, &scan::Rows { values, matrix }))
}

/// As [`scan`], of each segment. The first result is that of the value at the first offset.
///
/// # Errors
/// [`ShapeError::NoOffsets`], [`ShapeError::Segment`], [`ShapeError::TooManyValues`]
pub fn scan_segments<T: Copy + Sync, O: Parallel<T>, I: Offset>(
    operator: O,
    kind: ScanKind,
    values: &[T],
    offsets: &[I],
) -> Result<Vec<O::Output>, ShapeError> {
    let count = check_offsets(offsets, values.len())?;
    // They are within the values.
    let place = |index: usize| -> u64 { offsets[index].into() };
    let (first, end) = (place(0) as usize, place(count) as usize);
    check_count::<T, O>(end - first)?;
    let segments = scan::Segments {
        values: &values[first..end],
        count,
        start: |segment| place(segment) as usize - first,
    };
    Ok(scan::scan(operator, kind, &segments))
}

/// The reduction of each run of equal neighbours among the keys: the key of each run, and what its values give.
///
/// # Errors
/// [`ShapeError::Keys`], [`ShapeError::TooManyValues`]
pub fn by_key<K: Copy + PartialEq + Send + Sync, T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    keys: &[K],
    values: &[T],
    order: Order,
) -> Result<(Vec<K>, Vec<O::Output>), ShapeError> {
    const PIECE: usize = 1 << 16;
    if keys.len() != values.len() {
        return Err(ShapeError::Keys {
            keys: keys.len(),
            values: values.len(),
        });
    }
    let pieces: Vec<Vec<usize>> = cores::map(keys.len().div_ceil(PIECE), |piece| {
        let places = piece * PIECE..keys.len().min((piece + 1) * PIECE);
        let begins = |&place: &usize| place == 0 || keys[place] != keys[place - 1];
        places.filter(begins).collect()
    });
    let mut starts = pieces.concat();
    let runs = starts.iter().map(|&start| keys[start]).collect();
    starts.push(keys.len());
    let run = |run: usize| starts[run]..starts[run + 1];
    let count = starts.len() - 1;
    (0..count).try_for_each(|number| check_count::<T, O>(run(number).len()))?;
    let results = ranges::each(operator, values, count, &run, needed::<T, O>(order));
    Ok((runs, results))
}

/// How many segments there are. All lie within the given number of values.
fn check_offsets<I: Offset>(offsets: &[I], given: usize) -> Result<usize, ShapeError> {
    let count = offsets.len().checked_sub(1).ok_or(ShapeError::NoOffsets)?;
    // Also a single offset, of no segment, is one of the values.
    let ends = |segment: usize| {
        (
            offsets[segment].into(),
            offsets[count.min(segment + 1)].into(),
        )
    };
    let is_wrong = |&segment: &usize| {
        let (start, end) = ends(segment);
        start > end || end > given as u64
    };
    match (0..count.max(1)).into_par_iter().find_first(is_wrong) {
        Some(segment) => {
            let (start, end) = ends(segment);
            Err(ShapeError::Segment {
                segment,
                start,
                end,
                given,
            })
        }
        None => Ok(count),
    }
}

fn check(matrix: Matrix, given: usize) -> Result<(), ShapeError> {
    match matrix.span() {
        Some(span) if span <= given => Ok(()),
        _ => Err(ShapeError::Outside { matrix, given }),
    }
}
