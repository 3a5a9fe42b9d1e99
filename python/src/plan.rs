//! How a device reduces an array: by launches over matrices, or of a copy whose elements lie side by side.

use crate::view::{Axis, ascending, count, merged};
use warpfold::{Along, Batch, Matrix};

/// How a device reduces an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Where it lies.
    InPlace {
        /// What becomes one result.
        along: Along,
        /// The matrices.
        batch: Batch,
        /// Where they begin, counted in elements from the array's first.
        start: isize,
    },
    /// As the rows of a copy, which goes through these axes in order.
    Copied {
        /// Those of the copy, from the first, and at most [`COPIED_AXES`].
        axes: Vec<Axis>,
        /// The place of the first element.
        start: isize,
        /// The rows.
        matrix: Matrix,
    },
    /// Not at all: it has too many axes that do not lie side by side.
    None,
}

/// The most axes that the kernel which copies goes through.
pub const COPIED_AXES: usize = 4;

impl Plan {
    /// That for these axes; `is_free` where the order in which values are combined does not matter. No axis is empty.
    pub fn of(kept: &[Axis], reduced: &[Axis], is_free: bool) -> Self {
        let kept = merged(kept.iter().copied());
        let (reduced, start) = match is_free {
            true => ascending(reduced.iter().copied()),
            false => (merged(reduced.iter().copied()), 0),
        };
        if let [] | [_] = &reduced[..] {
            let along = reduced.first().copied().unwrap_or(Axis {
                length: 1,
                stride: 1,
            });
            let one = Axis {
                length: 1,
                stride: 0,
            };
            let in_place = |outer: Axis, results: Axis| {
                let (along, matrix) = matrix(results, along)?;
                let batch = Batch {
                    matrix,
                    matrices: outer.length,
                    distance: usize::try_from(outer.stride).ok()?,
                };
                Some(Self::InPlace {
                    along,
                    batch,
                    start,
                })
            };
            let found = match kept[..] {
                [] => in_place(one, one),
                [results] => in_place(one, results),
                [outer, results] => in_place(outer, results),
                _ => None,
            };
            if let Some(plan) = found {
                return plan;
            }
        }
        let matrix = Matrix::contiguous(count(&kept), count(&reduced));
        let axes: Vec<Axis> = kept.into_iter().chain(reduced).collect();
        match axes.len() {
            0..=COPIED_AXES => Self::Copied {
                axes,
                start,
                matrix,
            },
            _ => Self::None,
        }
    }
}

/// The matrix of which this axis of results is the rows or the columns.
fn matrix(results: Axis, along: Axis) -> Option<(Along, Matrix)> {
    let stride = |axis: Axis| usize::try_from(axis.stride).ok();
    if along.length == 1 || along.stride == 1 {
        let matrix = Matrix {
            rows: results.length,
            columns: along.length,
            stride: if results.length == 1 {
                along.length
            } else {
                stride(results)?
            },
        };
        return Some((Along::Rows, matrix));
    }
    let is_columns = results.length == 1 || results.stride == 1;
    let matrix = Matrix {
        rows: along.length,
        columns: results.length,
        stride: stride(along)?,
    };
    is_columns.then_some((Along::Columns, matrix))
}
