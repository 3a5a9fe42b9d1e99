//! Columns: a state for each, which the rows go through side by side.

use super::cores;
use super::order::{Order, Parallel};
use super::slots::{self, in_slots};
use super::widest::{Task, widest};
use crate::matrix::Matrix;
use std::ops::Range;

/// How many values a thread reduces at least before it looks for more.
const GRAIN: usize = 1 << 15;
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
                // Short rows that lie side by side are taken several at once, as one long row.
                let is_contiguous = matrix.stride == width;
                let fold = if is_contiguous {
                    256_usize.div_ceil(width)
                } else {
                    1
                };
                let rows_of_places: Vec<u64> = (0..fold * width)
                    .map(|place| (place / width) as u64)
                    .collect();
                let mut states = vec![operator.identity(); fold * width];
                let mut at = self.rows.start;
                while at < self.rows.end {
                    let taken = fold.min(self.rows.end - at);
                    let start = at * matrix.stride + self.columns.start;
                    let values = &self.values[start..start + taken * width];
                    let places = rows_of_places.iter();
                    for ((state, &value), place) in states.iter_mut().zip(values).zip(places) {
                        let lifted = operator.lift(value, at as u64 + place);
                        *state = operator.combine(*state, lifted);
                    }
                    at += taken;
                }
                let (first, others) = states.split_at_mut(width);
                for further in others.chunks(width) {
                    for (state, &right) in first.iter_mut().zip(further) {
                        *state = operator.combine(*state, right);
                    }
                }
                states.truncate(width);
                states
            }
        }
    }
}
