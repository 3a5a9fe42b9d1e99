//! The work, cut into pieces for the cores.

use crate::convert::{Conversions, FORMS, Form, Rows};
use crate::names::{Named, TypeName};
use crate::results::Results;
use crate::states::States;
use std::ops::Range;
use warpfold::cpu::ROWS_AT_ONCE;

/// How many values a thread reduces before it looks whether another is idle.
const PIECE: usize = 1 << 16;
/// How many values are converted and go through all operators before the next ones: they stay in the nearest caches.
const BLOCK: usize = 1 << 12;
/// How many columns are reduced side by side, so that a row of them is long in memory, and a few rows stay in a core's own cache, with the
/// states.
const TILE: usize = 1 << 11;
/// How many values a thread reduces that way before it looks whether another is idle: several for each state.
const TILE_PIECE: usize = 1 << 18;

/// One or several operators over values of one type.
pub struct Reduction {
    conversions: Conversions,
    operators: Vec<(Named, Form, Box<dyn States>)>,
    /// The forms that the operators take.
    asked: [bool; FORMS],
    /// The states of the values so far.
    states: All,
    n: u64,
}

/// The states of each operator.
type All = Vec<Box<dyn States>>;

/// Some values, reduced by the operators of a [`Reduction`]: what [`Reduction::join`] takes.
pub struct Part {
    states: All,
    index: u64,
    count: usize,
}

impl Reduction {
    /// Starts without values.
    pub fn new(element: TypeName, operators: &[Named]) -> Self {
        let conversions = Conversions::of(element);
        let start = |&operator| {
            let (form, states) = (conversions.start)(operator);
            (operator, form, states)
        };
        let operators: Vec<_> = operators.iter().map(start).collect();
        let is_asked = |asked| operators.iter().any(|&(_, form, _)| form == asked);
        let asked = [Form::Own, Form::Wide, Form::Real].map(is_asked);
        let states = Vec::new();
        let mut this = Self {
            conversions,
            operators,
            asked,
            states,
            n: 0,
        };
        this.states = this.none(1);
        this
    }

    /// Takes values in, after those taken before. The result depends on the values of each call, not on the number of cores.
    ///
    /// # Panics
    /// The bytes are not whole values of the type, or are not at an address for it.
    pub fn take(&mut self, values: &[u8]) {
        self.join(self.part(values, self.n));
    }

    /// The part of some of the values, of which the first has this index, on any thread. What was taken in before has no part in it.
    ///
    /// # Panics
    /// As [`Self::take`].
    pub fn part(&self, values: &[u8], index: u64) -> Part {
        Part {
            states: self.of_row(values, index),
            index,
            count: self.count(values),
        }
    }

    /// Takes a part in, after the values taken before, as [`Self::take`] would have taken its values.
    ///
    /// # Panics
    /// Its first value is not the next one, or it is of a reduction of another type or by other operators.
    pub fn join(&mut self, part: Part) {
        assert_eq!(part.index, self.n, "parts come in their order");
        assert_eq!(
            part.states.len(),
            self.states.len(),
            "parts have the same operators"
        );
        join(&mut self.states, part.states);
        self.n += part.count as u64;
    }

    /// As [`Self::take`], of `count` values that are brought piece by piece, on any thread: `bring` puts the bytes of the values of a range at
    /// the beginning of the memory.
    ///
    /// # Panics
    /// The memory is left shorter than the values.
    pub fn take_brought(
        &mut self,
        count: usize,
        bring: impl Fn(Range<usize>, &mut Vec<u64>) + Sync,
    ) {
        let further = self.of_brought(0..count, self.n, &bring);
        join(&mut self.states, further);
        self.n += count as u64;
    }

    /// The result of each operator over all values that were taken in.
    pub fn finish(&self) -> Vec<Box<dyn Results>> {
        self.finished(&self.states, self.n)
    }

    /// The results of each operator along the middle axis of an array of this shape. What was taken in before has no part in it.
    ///
    /// # Panics
    /// The bytes are not those of such an array, or are not at an address for the type.
    pub fn along(&self, values: &[u8], shape: [usize; 3]) -> Vec<Box<dyn Results>> {
        let [outer, length, inner] = shape;
        let count = shape.iter().product();
        assert_eq!(self.count(values), count, "the array has its shape");
        let states = match inner {
            _ if count == 0 => self.none(outer * inner),
            1 => self.of_rows(values, length),
            _ => self.of_matrices(values, length, inner),
        };
        self.finished(&states, length as u64)
    }

    fn finished(&self, states: &All, count: u64) -> Vec<Box<dyn Results>> {
        states.iter().map(|states| states.finish(count)).collect()
    }

    /// As many states of each operator, without values.
    fn none(&self, count: usize) -> All {
        self.operators
            .iter()
            .map(|(_, _, states)| states.alike(count))
            .collect()
    }

    /// Values that lie side by side in the forms that are asked for.
    fn forms_of_values<'m>(
        &self,
        values: &'m [u8],
        memory: &'m mut [Vec<u64>; FORMS - 1],
    ) -> [Rows<'m>; FORMS] {
        let count = self.count(values);
        let row = Rows {
            bytes: values,
            width: count,
            stride: count,
        };
        self.conversions.forms(row, self.asked, memory)
    }

    fn count(&self, values: &[u8]) -> usize {
        values.len() / self.conversions.bytes
    }

    /// The state of many values.
    fn of_row(&self, values: &[u8], index: u64) -> All {
        let count = self.count(values);
        if count <= PIECE {
            return self.of_few(values, count, index);
        }
        let half = count.div_ceil(PIECE) / 2 * PIECE;
        let (left, right) = values.split_at(half * self.conversions.bytes);
        let (mut left, right) = rayon::join(
            || self.of_row(left, index),
            || self.of_row(right, index + half as u64),
        );
        join(&mut left, right);
        left
    }

    /// The state of values that are brought.
    fn of_brought(
        &self,
        values: Range<usize>,
        index: u64,
        bring: &(impl Fn(Range<usize>, &mut Vec<u64>) + Sync),
    ) -> All {
        let count = values.len();
        if count <= PIECE {
            let mut all = self.none(1);
            let (mut memory, mut converted) = (Vec::new(), Default::default());
            for first in values.clone().step_by(BLOCK) {
                let block = first..values.end.min(first + BLOCK);
                let (length, index) = (block.len(), index + (first - values.start) as u64);
                bring(block, &mut memory);
                let bytes = &bytemuck::cast_slice(&memory)[..length * self.conversions.bytes];
                let forms = self.forms_of_values(bytes, &mut converted);
                for (states, &(_, form, _)) in all.iter_mut().zip(&self.operators) {
                    states.take(0, forms[form as usize].bytes, length, index);
                }
            }
            return all;
        }
        let middle = values.start + count.div_ceil(PIECE) / 2 * PIECE;
        let right_index = index + (middle - values.start) as u64;
        let (mut left, right) = rayon::join(
            || self.of_brought(values.start..middle, index, bring),
            || self.of_brought(middle..values.end, right_index, bring),
        );
        join(&mut left, right);
        left
    }

    /// The states of rows.
    fn of_rows(&self, values: &[u8], length: usize) -> All {
        let count = self.count(values);
        match count / length {
            1 => self.of_row(values, 0),
            _ if count <= PIECE => self.of_few(values, length, 0),
            rows => {
                let (left, right) = values.split_at(rows / 2 * length * self.conversions.bytes);
                both(
                    || self.of_rows(left, length),
                    || self.of_rows(right, length),
                )
            }
        }
    }

    /// The states of a few values, `length` for each.
    fn of_few(&self, values: &[u8], length: usize, index: u64) -> All {
        let rows = self.count(values).div_ceil(length.max(1));
        let mut all = self.none(rows);
        let mut memory = Default::default();
        // Several rows in a block, or several blocks in a row.
        let at_once = (BLOCK / length.max(1)).max(1);
        let some_rows = values.chunks((at_once * length * self.conversions.bytes).max(1));
        for (rows, place) in some_rows.zip((0..).step_by(at_once)) {
            let blocks = rows.chunks(BLOCK * self.conversions.bytes);
            for (block, index) in blocks.zip((index..).step_by(BLOCK)) {
                let forms = self.forms_of_values(block, &mut memory);
                for (states, &(_, form, _)) in all.iter_mut().zip(&self.operators) {
                    let values = forms[form as usize].bytes;
                    states.take(place, values, length.min(BLOCK), index);
                }
            }
        }
        all
    }

    /// The states of the columns of each of several matrices.
    fn of_matrices(&self, values: &[u8], rows: usize, columns: usize) -> All {
        match self.count(values) / (rows * columns) {
            1 => self.of_columns(values, columns, 0..rows, 0..columns),
            matrices => {
                let half = matrices / 2 * rows * columns;
                let (left, right) = values.split_at(half * self.conversions.bytes);
                both(
                    || self.of_matrices(left, rows, columns),
                    || self.of_matrices(right, rows, columns),
                )
            }
        }
    }

    /// The states of some columns of some rows, whose first values are `stride` apart.
    fn of_columns(
        &self,
        values: &[u8],
        stride: usize,
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> All {
        if columns.len() > TILE {
            let middle = columns.start + columns.len().div_ceil(TILE) / 2 * TILE;
            return both(
                || self.of_columns(values, stride, rows.clone(), columns.start..middle),
                || self.of_columns(values, stride, rows.clone(), middle..columns.end),
            );
        }
        if rows.len() * columns.len() > TILE_PIECE {
            let middle = rows.start.midpoint(rows.end);
            let (mut upper, lower) = rayon::join(
                || self.of_columns(values, stride, rows.start..middle, columns.clone()),
                || self.of_columns(values, stride, middle..rows.end, columns.clone()),
            );
            join(&mut upper, lower);
            return upper;
        }
        let mut all = self.none(columns.len());
        let mut memory = Default::default();
        // A few rows at once, so that states are read and written less often.
        // Values that nothing converts take less of the caches.
        let is_converted = self.asked[Form::Wide as usize] || self.asked[Form::Real as usize];
        let values_at_once = if is_converted {
            BLOCK
        } else {
            BLOCK * size_of::<u64>() / self.conversions.bytes
        };
        let at_once = (values_at_once / columns.len()).max(ROWS_AT_ONCE);
        for first in rows.clone().step_by(at_once) {
            let end = rows.end.min(first + at_once);
            let block = first * stride + columns.start..(end - 1) * stride + columns.end;
            let block = Rows {
                bytes: &values
                    [block.start * self.conversions.bytes..block.end * self.conversions.bytes],
                width: columns.len(),
                stride,
            };
            let forms = self.conversions.forms(block, self.asked, &mut memory);
            for (states, &(_, form, _)) in all.iter_mut().zip(&self.operators) {
                let Rows { bytes, stride, .. } = forms[form as usize];
                states.take_rows(bytes, stride, first as u64..end as u64);
            }
        }
        all
    }
}

/// Combines the states of the same results.
fn join(left: &mut All, right: All) {
    for (left, right) in left.iter_mut().zip(right) {
        left.join(right);
    }
}

/// The states of some results, and after them those of others.
fn both(left: impl FnOnce() -> All + Send, right: impl FnOnce() -> All + Send) -> All {
    let (mut left, right) = rayon::join(left, right);
    for (left, right) in left.iter_mut().zip(right) {
        left.append(right);
    }
    left
}
