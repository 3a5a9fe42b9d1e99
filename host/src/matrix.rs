//! Matrices in memory.

/// Where the rows of a matrix lie: `rows` of `columns` elements each, the first elements of two neighbours `stride` elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// How many elements each has.
    pub columns: usize,
    /// From the first element of a row to that of the next.
    pub stride: usize,
}

/// Matrices of one shape, each as far from the one before: what one launch reduces the rows or the columns of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The first.
    pub matrix: Matrix,
    /// How many.
    pub matrices: usize,
    /// From the first element of a matrix to that of the next.
    pub distance: usize,
}

impl From<Matrix> for Batch {
    fn from(matrix: Matrix) -> Self {
        Self {
            matrix,
            matrices: 1,
            distance: 0,
        }
    }
}

impl Batch {
    /// How many elements there are from the first of all matrices to the last, as [`Matrix::span`] counts them.
    pub fn span(&self) -> Option<usize> {
        if self.matrices == 0 {
            return Some(0);
        }
        match self.matrix.span()? {
            0 => Some(0),
            span => self
                .distance
                .checked_mul(self.matrices - 1)?
                .checked_add(span),
        }
    }
}

/// What becomes one result of a reduction of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Each row.
    Rows,
    /// Each column.
    Columns,
}

impl Matrix {
    /// Rows that lie side by side.
    pub const fn contiguous(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            stride: columns,
        }
    }

    /// How many elements there are from the first to the last, with those between the rows; `None` if that is more than any memory has.
    pub fn span(&self) -> Option<usize> {
        if self.rows == 0 || self.columns == 0 {
            return Some(0);
        }
        let before_last = self.stride.checked_mul(self.rows - 1)?;
        before_last.checked_add(self.columns)
    }

    /// The matrix whose rows or columns are reduced when an array is reduced along an axis: `shape` has the length of each axis and
    /// `strides` the distance of two neighbours along it, in elements.
    ///
    /// There is one if the other axes together are one sequence of equal distances, and either that sequence or the elements along
    /// the axis lie side by side. Where an axis is repeated, its stride is 0. `None` for others, for strides that are negative, and
    /// for an axis that the array does not have.
    ///
    /// ```
    /// use warpfold::{Along, Matrix};
    ///
    /// let matrix = Matrix { rows: 12, columns: 5, stride: 5 };
    /// assert_eq!(Matrix::of_axis(&[3, 4, 5], &[20, 5, 1], 2), Some((Along::Rows, matrix)));
    /// assert_eq!(Matrix::of_axis(&[3, 4, 5], &[20, 5, 1], 1), None);
    /// ```
    pub fn of_axis(shape: &[usize], strides: &[isize], axis: usize) -> Option<(Along, Self)> {
        if shape.len() != strides.len() {
            return None;
        }
        let strides = strides
            .iter()
            .map(|&stride| usize::try_from(stride).ok())
            .collect::<Option<Vec<_>>>()?;
        let (&length, &step) = (shape.get(axis)?, strides.get(axis)?);
        let axes = (0..shape.len()).filter(|&other| other != axis);
        let (others, stride) = axes.map(|other| (shape[other], strides[other])).try_rfold(
            (1_usize, 1),
            |(inner, stride), (outer, outer_stride)| {
                if outer == 1 {
                    Some((inner, stride))
                } else if inner == 1 {
                    Some((outer, outer_stride))
                } else {
                    let is_sequence = inner.checked_mul(stride)? == outer_stride;
                    is_sequence.then_some((inner.checked_mul(outer)?, stride))
                }
            },
        )?;
        if step == 1 || length <= 1 {
            let matrix = Self {
                rows: others,
                columns: length,
                stride,
            };
            Some((Along::Rows, matrix))
        } else if stride == 1 || others <= 1 {
            let matrix = Self {
                rows: length,
                columns: others,
                stride: step,
            };
            Some((Along::Columns, matrix))
        } else {
            None
        }
    }
}

/// Matrices of one shape, which together are an array that is reduced along an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matrices {
    /// What becomes one result of each.
    pub(crate) along: Along,
    /// The shape of each, and how many are equally far apart.
    pub(crate) batch: Batch,
    /// The lengths and strides of the axes that lead from one batch to the next. The last varies fastest.
    outer: Vec<(usize, usize)>,
}

impl Matrices {
    /// As [`Matrix::of_axis`], with a matrix for each place on so many of the other axes, from the first on, that there is one. Those that are equally far
    /// apart make a batch. The results of one matrix after those of the one before are in the order of the other
    /// axes. `None` for strides that are negative, for more or fewer strides than axes, and for an axis that the array does not have.
    pub(crate) fn of_axis(shape: &[usize], strides: &[isize], axis: usize) -> Option<Self> {
        if shape.len() != strides.len() || axis >= shape.len() {
            return None;
        }
        let others: Vec<usize> = (0..shape.len()).filter(|&other| other != axis).collect();
        (0..=others.len()).find_map(|count| {
            let (outer, _) = others.split_at(count);
            let outer = outer
                .iter()
                .map(|&other| Some((shape[other], usize::try_from(strides[other]).ok()?)))
                .collect::<Option<Vec<_>>>()?;
            let inner = |axis: &usize| !others[..count].contains(axis);
            let axes: Vec<usize> = (0..shape.len()).filter(inner).collect();
            let (shape, strides): (Vec<_>, Vec<_>) = axes
                .iter()
                .map(|&axis| (shape[axis], strides[axis]))
                .unzip();
            let place = axes.iter().position(|&other| other == axis)?;
            let (along, matrix) = Matrix::of_axis(&shape, &strides, place)?;
            let mut batch = Batch::from(matrix);
            let mut outer = outer;
            if let Some((length, stride)) = outer.pop() {
                (batch.matrices, batch.distance) = (length, stride);
                // Axes that go on as the one after them does are one with it.
                while let Some(&(length, stride)) = outer.last()
                    && batch.matrices.checked_mul(batch.distance) == Some(stride)
                {
                    batch.matrices = batch.matrices.checked_mul(length)?;
                    outer.pop();
                }
            }
            Some(Self {
                along,
                batch,
                outer,
            })
        })
    }

    /// How many batches there are.
    pub(crate) fn count(&self) -> usize {
        let lengths = self.outer.iter().map(|&(length, _)| length);
        lengths.fold(1, usize::saturating_mul)
    }

    /// How many results a batch has; `usize::MAX` if that is more.
    pub(crate) fn results(&self) -> usize {
        let Batch {
            matrix, matrices, ..
        } = self.batch;
        matrices.saturating_mul(match self.along {
            Along::Rows => matrix.rows,
            Along::Columns => matrix.columns,
        })
    }

    /// Where the last batch begins, counted from the first element; `usize::MAX` if that is more.
    pub(crate) fn last_start(&self) -> usize {
        let steps = self
            .outer
            .iter()
            .map(|&(length, stride)| length.saturating_sub(1).saturating_mul(stride));
        steps.fold(0, usize::saturating_add)
    }

    /// Where each batch begins, if the last does so at [a place that there is](Self::last_start).
    pub(crate) fn starts(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).map(|mut number| {
            let mut start = 0;
            for &(length, stride) in self.outer.iter().rev() {
                start += number % length * stride;
                number /= length;
            }
            start
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The matrices have the places of the array, in the order of the results.
        #[test]
        fn the_matrices_of_an_axis_have_its_places(
            axes in prop::collection::vec((0_usize..4, -1_isize..13), 1..5),
            axis in 0_usize..5,
        ) {
            let (shape, strides): (Vec<_>, Vec<_>) = axes.iter().copied().unzip();
            let matrices = Matrices::of_axis(&shape, &strides, axis);
            let is_there = axis < shape.len() && strides.iter().all(|&stride| stride >= 0);
            prop_assert_eq!(matrices.is_some(), is_there);
            let Some(matrices) = matrices else {
                prop_assert_eq!(Matrix::of_axis(&shape, &strides, axis), None);
                return Ok(());
            };
            let Matrices { along, batch, .. } = matrices;
            let matrix = batch.matrix;
            // One is enough where there is one.
            if let Some(one) = Matrix::of_axis(&shape, &strides, axis) {
                prop_assert_eq!((one, matrices.count(), batch.matrices), ((along, matrix), 1, 1));
            }
            let starts: Vec<usize> = matrices.starts().collect();
            prop_assert!(starts.iter().all(|&start| start <= matrices.last_start()));
            let of_batch = |start| (0..batch.matrices).map(move |number| start + number * batch.distance);
            let of_matrix: Vec<Vec<usize>> = starts
                .into_iter()
                .flat_map(of_batch)
                .flat_map(|start| {
                    let place = move |row: usize, column: usize| start + row * matrix.stride + column;
                    let of_result = move |result: usize| match along {
                        Along::Rows => (0..matrix.columns).map(|column| place(result, column)).collect(),
                        Along::Columns => (0..matrix.rows).map(|row| place(row, result)).collect(),
                    };
                    (0..matrices.results() / batch.matrices.max(1)).map(of_result)
                })
                .collect();
            // The places of all results, the last axis fastest.
            let mut starts = vec![0];
            for (other, &(length, stride)) in axes.iter().enumerate() {
                if other != axis {
                    starts = starts
                        .iter()
                        .flat_map(|start| (0..length).map(move |index| start + index as isize * stride))
                        .collect();
                }
            }
            let of_array: Vec<Vec<usize>> = starts
                .iter()
                .map(|start| {
                    (0..shape[axis])
                        .map(|index| (start + index as isize * strides[axis]) as usize)
                        .collect()
                })
                .collect();
            prop_assert_eq!(of_matrix, of_array);
        }
    }

    #[test]
    fn axes_of_contiguous_and_broadcast_arrays() {
        let of = |shape: &[usize], strides: &[isize], axis| Matrix::of_axis(shape, strides, axis);
        let matrix = |rows, columns, stride| Matrix {
            rows,
            columns,
            stride,
        };
        assert_eq!(of(&[7], &[1], 0), Some((Along::Rows, matrix(1, 7, 1))));
        assert_eq!(of(&[7], &[3], 0), Some((Along::Columns, matrix(7, 1, 3))));
        assert_eq!(
            of(&[2, 3, 4], &[12, 4, 1], 0),
            Some((Along::Columns, matrix(2, 12, 12)))
        );
        assert_eq!(
            of(&[2, 3, 4], &[12, 4, 1], 2),
            Some((Along::Rows, matrix(6, 4, 4)))
        );
        assert_eq!(
            of(&[5, 4], &[0, 1], 1),
            Some((Along::Rows, matrix(5, 4, 0)))
        );
        assert_eq!(
            of(&[5, 4], &[0, 1], 0),
            Some((Along::Columns, matrix(5, 4, 0)))
        );
        assert_eq!(of(&[5, 4], &[-4, 1], 1), None);
        assert_eq!(of(&[5, 4], &[4, 1], 2), None);
        assert_eq!(of(&[5, 4], &[4], 0), None);
    }

    #[test]
    fn the_last_row_ends_the_span() {
        let matrix = |rows, columns, stride| Matrix {
            rows,
            columns,
            stride,
        };
        assert_eq!(Matrix::contiguous(3, 5).span(), Some(15));
        assert_eq!(matrix(3, 5, 7).span(), Some(19));
        // All rows are the same one.
        assert_eq!(matrix(3, 5, 0).span(), Some(5));
        assert_eq!(matrix(0, 5, 5).span(), Some(0));
        assert_eq!(matrix(usize::MAX, 0, 9).span(), Some(0));
        assert_eq!(matrix(3, 1, usize::MAX).span(), None);
    }
}
