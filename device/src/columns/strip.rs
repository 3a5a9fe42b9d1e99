//! A strip as each thread folds it, and how the states of a block's threads and of several blocks are combined.

use super::layout::{BYTES, LOADS, Layout, MANY_LOADS, MOST_LANES, are_light};
use super::write::write_columns;
use crate::operator::{Combine, Operator, combine_all};
use crate::rows::{Batch, Rows};
use crate::thread::{block_dim_x, sync_threads, thread_idx_x};
use crate::unroll::{array, each};
use crate::vector::{self, Loaded};

/// A strip of a matrix as one of its threads sees it. A row here is of the matrix, or the `fold` rows that are taken as one.
#[derive(Clone, Copy)]
pub(super) struct Strip<T> {
    /// The first matrix of the batch.
    matrix: Rows<T>,
    batch: Batch,
    fold: u32,
    pub(super) is_folded: bool,
    /// Whether vectors lie at multiples of their [`unit`].
    is_aligned: bool,
    /// Whether vectors are loaded that lie anywhere; those of two values always lie at multiples of their unit. Where vectors are loaded in neither
    /// way, each lane of a thread is `width` columns after the one before, so that neighbours load values side by side.
    is_across: bool,
    /// Whether no other block has rows of the strip. Strips are many then, and of the last that run at once there may be few, which have more under
    /// way if threads load from more rows at once.
    is_alone: bool,
    /// The distance of two rows.
    line: usize,
    /// How far the input begins after a multiple of 16 bytes. So much earlier begins the strip.
    shift: u32,
    /// The columns of the strip: from `first` − `shift` on.
    first: usize,
    pub(super) span: u32,
    width: u32,
    x: u32,
}

impl<T: Loaded> Strip<T> {
    #[inline(always)]
    pub(super) fn new(
        matrix: Rows<T>,
        batch: Batch,
        layout: Layout,
        (strip, strips): (u32, u32),
        x: u32,
    ) -> Self {
        let (span, is_folded) = (layout.span(T::LANES), layout.fold > 1);
        let line = if is_folded {
            layout.fold as usize * matrix.columns
        } else {
            matrix.stride
        };
        let unit = unit::<T>();
        let after = input(matrix, batch) as usize % unit;
        // A row that begins after a multiple of 16 bytes may go beyond the last strip by a part of a vector.
        let fits = matrix.columns + after / size_of::<T>() <= strips as usize * span;
        let has_vectors = T::LANES > 1 && after.is_multiple_of(size_of::<T>());
        let is_aligned = has_vectors
            && ((line * size_of::<T>()).is_multiple_of(unit) || matrix.rows == 1)
            && (is_folded || fits);
        let is_across = T::LANES > 2 && has_vectors && !is_aligned && !is_folded;
        Self {
            matrix,
            batch,
            fold: layout.fold,
            is_folded,
            is_aligned,
            is_across,
            is_alone: layout.slices == 1,
            line,
            shift: if is_aligned {
                (after / size_of::<T>()) as u32
            } else {
                0
            },
            first: strip as usize * span,
            span: span as u32,
            width: layout.width,
            x,
        }
    }

    /// Whether a thread has the columns of a vector.
    #[inline(always)]
    fn has_vectors(&self) -> bool {
        self.is_aligned || self.is_across
    }

    /// The place of a lane in the strip.
    #[inline(always)]
    pub(super) fn place_of(&self, lane: usize) -> u32 {
        if self.has_vectors() {
            self.x * T::LANES as u32 + lane as u32
        } else {
            self.x + lane as u32 * self.width
        }
    }

    /// The column at a place of the strip; one that the matrix does not have for places before and after it.
    #[inline(always)]
    pub(super) fn column(&self, place: u32) -> usize {
        if self.is_folded {
            ((place + self.line as u32 - self.shift) % self.matrix.columns as u32) as usize
        } else {
            (self.first + place as usize).wrapping_sub(self.shift as usize)
        }
    }

    /// How many values come before that of a lane in a row, and which row of the matrix it is in; before the first, both are below 0 and
    /// wrap around.
    #[inline(always)]
    fn before(&self, lane: usize) -> (usize, u64) {
        let place = self.place_of(lane);
        (
            (self.first + place as usize).wrapping_sub(self.shift as usize),
            self.row_of_line(place),
        )
    }

    /// Which row of the matrix a place of the strip is in, of those that are taken as one; before the first of them, −1, which wraps around.
    #[inline(always)]
    pub(super) fn row_of_line(&self, place: u32) -> u64 {
        if self.is_folded {
            let rows = (place + self.line as u32 - self.shift) / self.matrix.columns as u32;
            u64::from(rows).wrapping_sub(self.fold.into())
        } else {
            0
        }
    }

    /// Whether a lane's place in a row, which has this many values before it, is one of the matrix.
    #[inline(always)]
    fn has(&self, row: usize, before: usize) -> bool {
        if self.is_folded {
            (row * self.line).wrapping_add(before) < self.matrix.rows * self.matrix.columns
        } else {
            before < self.matrix.columns
        }
    }

    /// Which rows this thread's vector is wholly in, from and to, and the end of those that it is in at all.
    #[inline(always)]
    fn rows(&self) -> (usize, usize, usize) {
        let Rows { rows, columns, .. } = self.matrix;
        let (start, shift) = (self.first + self.place_of(0) as usize, self.shift as usize);
        if start >= columns + shift && !self.is_folded {
            return (0, 0, 0);
        }
        if !self.is_folded && !self.has_vectors() {
            return (0, 0, rows);
        }
        if !self.is_folded {
            // A vector may begin before a row or end after it, and so may the words that it is in. There is another row, but before the first and
            // after the last.
            let around = match size_of::<u32>() / size_of::<T>() {
                of_word @ 2.. if self.is_across => of_word - 1,
                _ => 0,
            };
            let (is_before, is_after) = (
                start < shift + around,
                start + T::LANES + around > columns + shift,
            );
            return if (is_before || is_after) && self.line < 2 * T::LANES {
                (0, 0, rows)
            } else {
                (is_before.into(), rows.saturating_sub(is_after.into()), rows)
            };
        }
        let end = rows * columns + shift;
        let all = end.div_ceil(self.line);
        if !self.is_aligned {
            return (0, 0, all);
        }
        let whole = if start + T::LANES <= end {
            (end - start - T::LANES) / self.line + 1
        } else {
            0
        };
        ((start < shift).into(), whole, all)
    }

    /// Where this block's matrix begins.
    #[inline(always)]
    fn input(&self) -> *const T {
        input(self.matrix, self.batch)
    }

    /// Where this thread's vector is in a row of a matrix that begins there.
    #[inline(always)]
    fn place_in(&self, input: *const T, row: usize) -> *const T {
        let place = (row * self.line).wrapping_add(self.before(0).0);
        input.wrapping_add(place)
    }

    /// The first index of a lane. Where indices move, each lane counts from 0, and its state is moved at the end.
    #[inline(always)]
    fn first_index<O: Operator<T>>(&self, lane: usize) -> u64 {
        if O::INDICES_MOVE {
            0
        } else {
            self.before(lane).1
        }
    }

    /// Folds rows from `row` on that are `of` apart, `SEVERAL` at a time, as long as so many are left before `whole`; returns the next row.
    ///
    /// # Safety
    /// This thread's vector is wholly in these rows, and nothing writes the matrix.
    #[inline(always)]
    unsafe fn fold_rows<const ACROSS: bool, const SEVERAL: usize, O: Operator<T>>(
        &self,
        operator: O,
        states: &mut [O::State; MOST_LANES],
        (input, row): (*const T, usize),
        whole: usize,
        of: usize,
    ) -> usize {
        let fold = u64::from(self.fold);
        let (step, index_step) = (of * self.line, of as u64 * fold);
        let mut row = row;
        let mut place = self.place_in(input, row);
        while row + (SEVERAL - 1) * of < whole {
            // SAFETY: the caller's promise.
            let vectors: [T::Vector; SEVERAL] =
                array(|index| unsafe { load::<ACROSS, T>(place.wrapping_add(index * step)) });
            operator.accumulate_columns(
                states,
                T::LANES,
                #[inline(always)]
                |lane| {
                    let values: [T; SEVERAL] = array(|index| T::value(vectors[index], lane));
                    let index = (row as u64 * fold).wrapping_add(self.first_index::<O>(lane));
                    (values, index)
                },
                index_step,
            );
            row += SEVERAL * of;
            place = place.wrapping_add(SEVERAL * step);
        }
        row
    }

    /// Rows from `row` on that are `of` apart into short states, all that are before `whole`, `SEVERAL` at a time; returns the next row. The first
    /// has the place `place`, and each further one a place that is `step` more.
    ///
    /// # Safety
    /// This thread's vector is wholly in these rows, and nothing writes the matrix.
    #[inline(always)]
    unsafe fn extend_rows<const ACROSS: bool, const SEVERAL: usize, O: Operator<T>>(
        &self,
        operator: O,
        shorts: &mut [u32; MOST_LANES],
        input: *const T,
        (row, place): (usize, u32),
        whole: usize,
        (of, step): (usize, u32),
    ) -> usize {
        let (mut row, mut at) = (row, place);
        let mut first = self.place_in(input, row);
        let distance = of * self.line;
        while row + (SEVERAL - 1) * of < whole {
            // SAFETY: the caller's promise.
            let vectors: [T::Vector; SEVERAL] =
                array(|index| unsafe { load::<ACROSS, T>(first.wrapping_add(index * distance)) });
            each(
                SEVERAL,
                #[inline(always)]
                |index| {
                    let at = at + index as u32 * step;
                    extend_each::<T, O>(operator, shorts, vectors[index], at);
                },
            );
            row += SEVERAL * of;
            at += SEVERAL as u32 * step;
            first = first.wrapping_add(SEVERAL * distance);
        }
        // Of the last rows the first is loaded in the place of each that is not there, so that all loads are under way together.
        if row < whole {
            let start = row;
            let is_there = |index: usize| start + index * of < whole;
            let vectors: [T::Vector; SEVERAL] = array(|index| {
                let distance = if is_there(index) { index * distance } else { 0 };
                // SAFETY: as above.
                unsafe { load::<ACROSS, T>(first.wrapping_add(distance)) }
            });
            each(
                SEVERAL,
                #[inline(always)]
                |index| {
                    if is_there(index) {
                        let at = at + index as u32 * step;
                        extend_each::<T, O>(operator, shorts, vectors[index], at);
                        row += of;
                    }
                },
            );
        }
        row
    }

    /// The short states of this thread's columns, of the rows from `rank` on that are `of` apart. The first has the place `place`, and each further
    /// one a place that is `step` more. Of rows that are taken as one, that is the place of the first `columns` values, from wherever the strip begins,
    /// and as many more have the next.
    ///
    /// # Safety
    /// Nothing writes the matrix, and what lies between its rows may be read.
    #[inline(always)]
    pub(super) unsafe fn fold_shorts<O: Operator<T>>(
        &self,
        operator: O,
        (rank, of): (usize, usize),
        (place, step): (u32, u32),
    ) -> [u32; MOST_LANES] {
        let (first_whole, whole, all) = self.rows();
        let input = self.input();
        let mut shorts = [operator.short_identity(); MOST_LANES];
        let is_head = rank < first_whole;
        let from = if is_head {
            (rank + of, place + step)
        } else {
            (rank, place)
        };
        // SAFETY: the caller's promise; vectors are loaded of the rows that they are a whole part of.
        let rest = unsafe {
            if self.is_across {
                self.extend_rows::<true, LOADS, O>(
                    operator,
                    &mut shorts,
                    input,
                    from,
                    whole,
                    (of, step),
                )
            } else {
                let apart = (of, step);
                self.extend_rows::<false, MANY_LOADS, O>(
                    operator,
                    &mut shorts,
                    input,
                    from,
                    whole,
                    apart,
                )
            }
        };
        // Rows that the vector is not wholly in.
        let input = self.input();
        let mut row = if is_head { rank } else { rest };
        while row < all {
            let at = place + ((row - rank) / of) as u32 * step;
            each(
                T::LANES,
                #[inline(always)]
                |lane| {
                    let before = self.before(lane).0;
                    if self.has(row, before) {
                        let place = (row * self.line).wrapping_add(before);
                        // SAFETY: as above.
                        let value = unsafe { *input.add(place) };
                        shorts[lane] = operator.extend_short(shorts[lane], value, at);
                    }
                },
            );
            row = if row < rest { rest } else { row + of };
        }
        if self.is_folded {
            each(
                T::LANES,
                #[inline(always)]
                |lane| {
                    let by = self.place_of(lane) / self.matrix.columns as u32;
                    shorts[lane] = operator.moved_short(shorts[lane], by);
                },
            );
        }
        shorts
    }

    /// The states of this thread's columns, of the rows from `rank` on that are `of` apart; identities where there is no column.
    ///
    /// # Safety
    /// Nothing writes the matrix, and what lies between its rows may be read.
    #[inline(always)]
    pub(super) unsafe fn fold<O: Operator<T>>(
        &self,
        operator: O,
        rank: usize,
        of: usize,
    ) -> [O::State; MOST_LANES] {
        let (first_whole, whole, all) = self.rows();
        let input = self.input();
        let fold = u64::from(self.fold);
        let mut states = [operator.identity(); MOST_LANES];
        // A first row that is not whole comes last: the main loop then needs fewer registers.
        let is_head = rank < first_whole;
        let mut row = if is_head { rank + of } else { rank };
        // SAFETY: the caller's promise; vectors are loaded of the rows that they are a whole part of.
        unsafe {
            if self.is_across {
                row = self.fold_rows::<true, LOADS, O>(
                    operator,
                    &mut states,
                    (input, row),
                    whole,
                    of,
                );
                row = self.fold_rows::<true, 2, O>(operator, &mut states, (input, row), whole, of);
                row = self.fold_rows::<true, 1, O>(operator, &mut states, (input, row), whole, of);
            } else {
                if are_light::<T, O>(self.is_alone) {
                    row = self.fold_rows::<false, MANY_LOADS, O>(
                        operator,
                        &mut states,
                        (input, row),
                        whole,
                        of,
                    );
                }
                row = self.fold_rows::<false, LOADS, O>(
                    operator,
                    &mut states,
                    (input, row),
                    whole,
                    of,
                );
                const { assert!(LOADS == 4) };
                // Of the last rows, all at once.
                row = self.fold_rows::<false, 3, O>(operator, &mut states, (input, row), whole, of);
                row = self.fold_rows::<false, 2, O>(operator, &mut states, (input, row), whole, of);
                row = self.fold_rows::<false, 1, O>(operator, &mut states, (input, row), whole, of);
            }
        }
        // Rows that the vector is not wholly in.
        let input = self.input();
        let rest = row;
        row = if is_head { rank } else { rest };
        while row < all {
            each(
                T::LANES,
                #[inline(always)]
                |lane| {
                    let before = self.before(lane).0;
                    if self.has(row, before) {
                        let place = (row * self.line).wrapping_add(before);
                        // SAFETY: as above.
                        let value = unsafe { *input.add(place) };
                        let index = (row as u64 * fold).wrapping_add(self.first_index::<O>(lane));
                        states[lane] = operator.combine(states[lane], operator.lift(value, index));
                    }
                },
            );
            row = if row < rest { rest } else { row + of };
        }
        if O::INDICES_MOVE {
            each(
                T::LANES,
                #[inline(always)]
                |lane| states[lane] = operator.moved(states[lane], self.before(lane).1),
            );
        }
        states
    }

    /// Leaves what this thread has of each column, states or short ones, in the stage, from where the strip begins.
    ///
    /// # Safety
    /// The threads of a row have a place of the stage for each column of the strip.
    #[inline(always)]
    pub(super) unsafe fn leave<S: Copy>(&self, kept: [S; MOST_LANES], stage: *mut S) {
        each(
            T::LANES,
            #[inline(always)]
            // SAFETY: the caller's promise.
            |lane| unsafe { *stage.add(self.place_of(lane) as usize) = kept[lane] },
        );
    }

    /// Writes the results of this thread's columns, of which it has all rows.
    ///
    /// # Safety
    /// `results` points to one result per column, which nothing else touches.
    #[inline(always)]
    pub(super) unsafe fn write<O: Operator<T>>(
        &self,
        operator: O,
        states: [O::State; MOST_LANES],
        results: *mut O::Output,
    ) {
        let Rows { rows, columns, .. } = self.matrix;
        let first = self.column(self.place_of(0));
        // SAFETY: the caller's promise; columns that do not exist are left out, among them those before the first.
        unsafe {
            if self.has_vectors() && first < columns && first + T::LANES <= columns {
                return write_columns(operator, states, rows, results.add(first));
            }
            each(
                T::LANES,
                #[inline(always)]
                |lane| {
                    let column = self.column(self.place_of(lane));
                    if column < columns {
                        *results.add(column) = operator.finish(states[lane], rows as u64);
                    }
                },
            );
        }
    }
}

/// Where the matrix of this block begins.
#[inline(always)]
fn input<T>(matrix: Rows<T>, batch: Batch) -> *const T {
    let (number, _) = batch.of_block();
    matrix.input.wrapping_add(number as usize * batch.distance)
}

/// Vectors lie at multiples of so many bytes, and of two values at those of one, which are loaded one by one.
#[inline(always)]
const fn unit<T: Loaded>() -> usize {
    if T::LANES == 2 { BYTES / 2 } else { BYTES }
}

/// The vector that begins with this value, at a multiple of [`unit`] or `ACROSS` such multiples.
///
/// # Safety
/// As for `vector::load_across` or `vector::load`.
#[inline(always)]
unsafe fn load<const ACROSS: bool, T: Loaded>(first: *const T) -> T::Vector {
    // SAFETY: the caller's promise.
    unsafe {
        if ACROSS || T::LANES == 2 {
            vector::load_across(first)
        } else {
            vector::load(first)
        }
    }
}

/// A vector of values into short states, at this place.
#[inline(always)]
fn extend_each<T: Loaded, O: Operator<T>>(
    operator: O,
    shorts: &mut [u32; MOST_LANES],
    vector: T::Vector,
    place: u32,
) {
    each(
        T::LANES,
        #[inline(always)]
        |lane| {
            shorts[lane] = operator.extend_short(shorts[lane], T::value(vector, lane), place);
        },
    );
}

/// Combines groups of as many states, place by place, into the first; a barrier comes after each step.
///
/// # Safety
/// All threads of the block make the call, after a barrier; `stage` points to that many states in shared memory.
#[inline(always)]
pub(super) unsafe fn combine_groups<S: Copy>(
    operator: impl Combine<S>,
    stage: *mut S,
    groups: u32,
    group: u32,
) {
    let mut groups = groups;
    while groups > 1 {
        let half = groups.div_ceil(2);
        let mut place = thread_idx_x();
        while place < (groups - half) * group {
            // SAFETY: the caller's promise; only this thread writes the one place, and nobody the other one.
            unsafe {
                let other = *stage.add((place + half * group) as usize);
                let to = stage.add(place as usize);
                *to = operator.combine(*to, other);
            }
            place += block_dim_x();
        }
        sync_threads();
        groups = half;
    }
}

/// The states of the slices from `part` on that are `parts` apart, combined; they lie `pitch` apart.
///
/// # Safety
/// The states are there, and nothing writes them.
#[inline(always)]
pub(super) unsafe fn combine_slices<const STATES: usize, S: Copy>(
    operator: impl Combine<S>,
    states: *const S,
    pitch: u32,
    (part, slices, parts): (u32, u32, u32),
) -> S {
    // SAFETY: the caller's promise.
    let at = |slice: u32| unsafe { *states.add(slice as usize * pitch as usize) };
    let mut state = operator.identity();
    let mut slice = part;
    while slice + (STATES as u32 - 1) * parts < slices {
        let loaded: [S; STATES] = array(|index| at(slice + index as u32 * parts));
        state = operator.combine(state, combine_all(operator, loaded));
        slice += STATES as u32 * parts;
    }
    // Of the last states the first is loaded in the place of each that is not there, so that all loads are under way together.
    if slice < slices {
        let is_there = |index| slice + index as u32 * parts < slices;
        let loaded: [S; STATES] = array(
            #[inline(always)]
            |index| {
                at(if is_there(index) {
                    slice + index as u32 * parts
                } else {
                    slice
                })
            },
        );
        each(
            STATES,
            #[inline(always)]
            |index| {
                if is_there(index) {
                    state = operator.combine(state, loaded[index]);
                }
            },
        );
    }
    state
}
