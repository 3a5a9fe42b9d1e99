//! Columns: a state for each, which the rows go through side by side.

use super::cores;
use super::order::{Order, Parallel};
use super::slots::{self, in_slots};
use super::widest::{Task, widest};
use crate::matrix::Matrix;
use std::hint;
use std::ops::Range;
use warpfold_device::operator::Operator;

/// How many values a thread reduces at least before it looks for more.
const GRAIN: usize = 1 << 15;
/// How many rows are taken at once, so that states are read and written less often. The lines of more rows, which are often a power of two
/// apart, would compete for the same few places in the nearest cache.
pub const ROWS_AT_ONCE: usize = 4;
/// A row that is long enough for its own loop.
const LONG: usize = 256;
/// The states that stay in a core's nearest cache while rows go through them.
const NEAREST_BYTES: usize = 1 << 14;
/// The states that stay in a core's own cache.
const OWN_BYTES: usize = 1 << 18;

/// The state of each column.
pub(super) fn states<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    matrix: Matrix,
    order: Order,
) -> Vec<O::State> {
    if matrix.rows == 0 || matrix.columns == 0 {
        return vec![operator.identity(); matrix.columns];
    }
    let state_bytes = size_of::<O::State>().max(1);
    let (widest_tile, piece) = match order {
        Order::Fast => {
            let width = matrix.columns.min(NEAREST_BYTES / state_bytes).max(1);
            // More pieces than threads, so that none waits long for the last; but few, because their states are combined at the end.
            let pieces = 4 * rayon::current_num_threads();
            let rows = matrix.rows.div_ceil(pieces).max(GRAIN.div_ceil(width));
            (width, rows)
        }
        Order::Deterministic => (OWN_BYTES / state_bytes / 1024, slots::CHUNK),
    };
    // At least a cache line of a row.
    let width = widest_tile.max(64 / size_of::<T>().clamp(1, 64));
    let tiles = cores::map(matrix.columns.div_ceil(width), |tile| {
        let columns = tile * width..matrix.columns.min((tile + 1) * width);
        let states = cores::map(matrix.rows.div_ceil(piece), |place| {
            widest(Tile {
                operator,
                values,
                matrix,
                rows: place * piece..matrix.rows.min((place + 1) * piece),
                columns: columns.clone(),
                order,
            })
        });
        combined(operator, states, columns.len(), order)
    });
    tiles.concat()
}

/// The states of pieces of rows, combined column by column.
fn combined<T, O: Parallel<T>>(
    operator: O,
    pieces: Vec<Vec<O::State>>,
    width: usize,
    order: Order,
) -> Vec<O::State> {
    if order == Order::Deterministic {
        let mut slots = Vec::new();
        let rows = pieces.iter().map(Vec::as_slice);
        in_slots(operator, &mut slots, width, rows, |state, _| state);
        return slots;
    }
    let mut pieces = pieces.into_iter();
    let mut states = pieces.next().unwrap_or_default();
    for piece in pieces {
        for (state, right) in states.iter_mut().zip(piece) {
            *state = operator.combine(*state, right);
        }
    }
    states
}

/// Some columns of some rows.
struct Tile<'a, T, O> {
    operator: O,
    values: &'a [T],
    matrix: Matrix,
    rows: Range<usize>,
    columns: Range<usize>,
    order: Order,
}

impl<T: Copy + Sync, O: Parallel<T>> Task for Tile<'_, T, O> {
    type Output = Vec<O::State>;

    #[inline(always)]
    fn run(self) -> Vec<O::State> {
        let (operator, matrix) = (self.operator, self.matrix);
        let width = self.columns.len();
        let row = |row: usize| {
            let start = row * matrix.stride;
            &self.values[start + self.columns.start..start + self.columns.end]
        };
        match self.order {
            Order::Deterministic => {
                let mut slots = Vec::new();
                let first = self.rows.start as u64;
                let rows = self.rows.map(row);
                in_slots(operator, &mut slots, width, rows, |value, place| {
                    operator.lift(value, first + place / width as u64)
                });
                slots
            }
            Order::Fast => {
                let mut states = vec![operator.identity(); width];
                let start = self.rows.start * matrix.stride + self.columns.start;
                let indices = self.rows.start as u64..self.rows.end as u64;
                let values = &self.values[start..];
                take_rows(operator, &mut states, values, matrix.stride, indices);
                states
            }
        }
    }
}

/// Takes rows with these indices into the states of their columns, of which there is one at least. The first row begins with the first value,
/// and the others `stride` apart.
#[inline(always)]
pub fn take_rows<T: Copy, O: Operator<T>>(
    operator: O,
    states: &mut [O::State],
    values: &[T],
    stride: usize,
    indices: Range<u64>,
) {
    let (width, rows) = (states.len(), (indices.end - indices.start) as usize);
    // Short rows that lie side by side are taken several at once, as one long row.
    let fold = if stride == width {
        (LONG / width).max(1)
    } else {
        1
    };
    let (mut rows_of_all, mut folded) = (Vec::new(), Vec::new());
    let (long_states, rows_of_places) = if fold == 1 {
        (&mut *states, &[0; LONG][..])
    } else {
        rows_of_all.extend((0..fold * width).map(|place| (place / width) as u64));
        folded.resize(fold * width, operator.identity());
        (&mut folded[..], &rows_of_all[..])
    };
    // The compiler would write out loops whose length it knew, over and over again.
    let rows_of_places = hint::black_box(rows_of_places);
    let (long_width, at_once) = (long_states.len(), rows_of_places.len());
    let long_row = |row: usize, rows: usize| &values[row * stride..][..rows * width];
    let mut row = 0;
    while rows - row >= ROWS_AT_ONCE * fold {
        let first = long_row(row, fold);
        let second = long_row(row + fold, fold);
        let third = long_row(row + 2 * fold, fold);
        let fourth = long_row(row + 3 * fold, fold);
        let index = indices.start + row as u64;
        for start in (0..long_width).step_by(at_once) {
            let end = long_width.min(start + at_once);
            let values = first[start..end].iter().zip(&second[start..end]);
            let values = values.zip(&third[start..end]).zip(&fourth[start..end]);
            let states = long_states[start..end].iter_mut().zip(values);
            for ((state, (((&first, &second), &third), &fourth)), row) in states.zip(rows_of_places)
            {
                let values = [[first], [second], [third], [fourth]];
                *state = operator.accumulate(*state, values, index + row, fold as u64);
            }
        }
        row += ROWS_AT_ONCE * fold;
    }
    while row < rows {
        let taken = fold.min(rows - row);
        let index = indices.start + row as u64;
        let states = long_states.chunks_mut(at_once);
        for (states, values) in states.zip(long_row(row, taken).chunks(at_once)) {
            let values = values.iter().zip(rows_of_places);
            for (state, (&value, row)) in states.iter_mut().zip(values) {
                let lifted = operator.lift(value, index + row);
                *state = operator.combine(*state, lifted);
            }
        }
        row += taken;
    }
    for further in folded.chunks(width) {
        for (state, &right) in states.iter_mut().zip(further) {
            *state = operator.combine(*state, right);
        }
    }
}
