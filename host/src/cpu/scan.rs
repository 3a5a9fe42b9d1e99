//! Scans, tile by tile, in the order of [`warpfold_device::look_back`]: the same bits as on a device.

use super::cores;
use super::order::Parallel;
use super::widest::{Task, widest};
use crate::matrix::Matrix;
use crate::scan::ScanKind;
use std::marker::PhantomData;
use std::ops::Range;
use warpfold_device::look_back::{FAN, FromHeads, SinceHead};
use warpfold_device::operator::{Combine, Operator, combine_all};
use warpfold_device::scan::{BLOCK, items_of, tile};

/// Lanes of a warp, and warps of a block.
const LANES: usize = 32;
const WARPS: usize = BLOCK as usize / LANES;

/// Where values are, and where rows or segments begin among them.
pub(super) trait Source<T>: Sync {
    /// How many values.
    fn len(&self) -> usize;
    /// The value at a place.
    fn value(&self, place: usize) -> T;
    /// Calls a function with each place of these at which something begins, in ascending order.
    fn heads(&self, places: Range<usize>, head: impl FnMut(usize));
    /// Where the row or the segment of a value begins.
    fn begin_of(&self, place: usize) -> usize;
}

/// The result for each value.
pub(super) fn scan<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    kind: ScanKind,
    source: &impl Source<T>,
) -> Vec<O::Output> {
    let size = tile::<T, O>();
    let n = source.len();
    let tile = |number: usize| Tile {
        operator,
        source,
        first: number * size,
        end: n.min((number + 1) * size),
        values: PhantomData,
    };
    let totals: Vec<SinceHead<O::State>> = cores::map(n.div_ceil(size), |number| {
        widest(By(
            #[inline(always)]
            || tile(number).total(),
        ))
    });
    let before = before_tiles(FromHeads(operator), &totals);
    let mut results = vec![operator.finish(operator.identity(), 0); n];
    cores::for_each_part(&mut results, size, |number, results| {
        widest(By(
            #[inline(always)]
            || tile(number).write(kind, before[number], results),
        ));
    });
    results
}

/// A function as a task.
struct By<F>(F);

impl<R, F: FnOnce() -> R> Task for By<F> {
    type Output = R;

    #[inline(always)]
    fn run(self) -> R {
        self.0()
    }
}

/// What comes before each tile: the batches before, the groups before in the batch, and the tiles before in the group.
fn before_tiles<S: Copy>(operator: impl Combine<S>, totals: &[S]) -> Vec<S> {
    let padded = |states: &[S]| -> [S; FAN] {
        std::array::from_fn(|place| states.get(place).copied().unwrap_or(operator.identity()))
    };
    let mut before = Vec::with_capacity(totals.len());
    let mut before_batch = operator.identity();
    for batch in totals.chunks(FAN * FAN) {
        let mut groups = Vec::with_capacity(FAN);
        let mut whole_batch = operator.identity();
        for group in batch.chunks(FAN) {
            let in_batch = combine_all(operator, padded(&groups));
            let before_group = operator.combine(before_batch, in_batch);
            for (place, &mine) in group.iter().enumerate() {
                let in_group = combine_all(operator, padded(&group[..place]));
                before.push(operator.combine(before_group, in_group));
                if place == FAN - 1 {
                    let whole_group = operator.combine(in_group, mine);
                    whole_batch = operator.combine(in_batch, whole_group);
                    groups.push(whole_group);
                }
            }
        }
        before_batch = operator.combine(before_batch, whole_batch);
    }
    before
}

/// Some neighbouring values, as a block of threads divides them.
struct Tile<'a, T, O, X> {
    operator: O,
    source: &'a X,
    first: usize,
    end: usize,
    values: PhantomData<fn() -> T>,
}

/// The states of the threads of a block.
type OfThreads<S> = [SinceHead<S>; BLOCK as usize];

impl<T: Copy, O: Operator<T>, X: Source<T>> Tile<'_, T, O, X> {
    /// All values combined.
    #[inline(always)]
    fn total(&self) -> SinceHead<O::State> {
        scan_of_block(FromHeads(self.operator), self.of_threads(&self.heads())).1
    }

    /// The result for each value.
    #[inline(always)]
    fn write(&self, kind: ScanKind, before: SinceHead<O::State>, results: &mut [O::Output]) {
        let (operator, heads) = (self.operator, self.heads());
        let from_heads = FromHeads(operator);
        let (before_threads, _) = scan_of_block(from_heads, self.of_threads(&heads));
        let items = items_of::<T, O>();
        let threads = results.chunks_mut(items).zip(heads.chunks(items));
        let mut begin = self.source.begin_of(self.first);
        for (thread, (results, heads)) in threads.enumerate() {
            let mut state = from_heads.combine(before, before_threads[thread]).state;
            let first = self.first + thread * items;
            for (place, (result, &is_head)) in (first..).zip(results.iter_mut().zip(heads)) {
                if is_head {
                    (state, begin) = (operator.identity(), place);
                }
                let without = state;
                let mine = operator.lift(self.source.value(place), place as u64);
                state = operator.combine(state, mine);
                let (scanned, count) = match kind {
                    ScanKind::Inclusive => (state, place - begin + 1),
                    ScanKind::Exclusive => (without, place - begin),
                };
                *result = operator.finish(scanned, count as u64);
            }
        }
    }

    /// Whether something begins at each of the places.
    #[inline(always)]
    fn heads(&self) -> Vec<bool> {
        let mut heads = vec![false; self.end - self.first];
        let places = self.first..self.end;
        self.source
            .heads(places, |place| heads[place - self.first] = true);
        heads
    }

    /// The values of each thread, with their heads, combined.
    #[inline(always)]
    fn of_threads(&self, heads: &[bool]) -> OfThreads<O::State> {
        let (operator, from_heads) = (self.operator, FromHeads(self.operator));
        let items = items_of::<T, O>();
        std::array::from_fn(|thread| {
            let mut mine = from_heads.identity();
            let first = (thread * items).min(heads.len());
            let end = (first + items).min(heads.len());
            for (place, &has_head) in (first..end).zip(&heads[first..end]) {
                let place = self.first + place;
                let state = operator.lift(self.source.value(place), place as u64);
                mine = from_heads.combine(mine, SinceHead { state, has_head });
            }
            mine
        })
    }
}

/// What comes before each thread's values in a tile, and all of them.
#[inline(always)]
fn scan_of_block<S: Copy>(
    operator: impl Combine<S>,
    mut states: [S; BLOCK as usize],
) -> ([S; BLOCK as usize], S) {
    for warp in states.chunks_mut(LANES) {
        inclusive(operator, warp);
    }
    let mut totals: [S; WARPS] = std::array::from_fn(|warp| states[warp * LANES + LANES - 1]);
    inclusive(operator, &mut totals);
    let before = std::array::from_fn(|thread| {
        let (warp, lane) = (thread / LANES, thread % LANES);
        let mine = if lane == 0 {
            operator.identity()
        } else {
            states[thread - 1]
        };
        if warp == 0 {
            mine
        } else {
            operator.combine(totals[warp - 1], mine)
        }
    });
    (before, totals[WARPS - 1])
}

/// As the lanes of a warp do it: each takes in the state 1, 2, 4 … lanes before it.
#[inline(always)]
fn inclusive<S: Copy>(operator: impl Combine<S>, states: &mut [S]) {
    let mut delta = 1;
    while delta < states.len() {
        for lane in (delta..states.len()).rev() {
            states[lane] = operator.combine(states[lane - delta], states[lane]);
        }
        delta *= 2;
    }
}

/// The rows of a matrix within its values.
pub(super) struct Rows<'a, T> {
    pub(super) values: &'a [T],
    pub(super) matrix: Matrix,
}

impl<T: Copy + Sync> Source<T> for Rows<'_, T> {
    fn len(&self) -> usize {
        self.matrix.rows * self.matrix.columns
    }

    #[inline(always)]
    fn value(&self, place: usize) -> T {
        let Matrix {
            columns, stride, ..
        } = self.matrix;
        if place < columns || stride == columns {
            self.values[place]
        } else {
            self.values[place / columns * stride + place % columns]
        }
    }

    #[inline(always)]
    fn heads(&self, places: Range<usize>, head: impl FnMut(usize)) {
        let columns = self.matrix.columns;
        let first = places.start.div_ceil(columns) * columns;
        (first..places.end).step_by(columns).for_each(head);
    }

    #[inline(always)]
    fn begin_of(&self, place: usize) -> usize {
        place - place % self.matrix.columns
    }
}

/// Segments by their offsets, of which the first is that of the first value.
pub(super) struct Segments<'a, T, F> {
    pub(super) values: &'a [T],
    /// How many segments.
    pub(super) count: usize,
    /// Where each begins, from 0 on.
    pub(super) start: F,
}

impl<T: Copy + Sync, F: Fn(usize) -> usize + Sync> Source<T> for Segments<'_, T, F> {
    fn len(&self) -> usize {
        self.values.len()
    }

    #[inline(always)]
    fn value(&self, place: usize) -> T {
        self.values[place]
    }

    #[inline(always)]
    fn heads(&self, places: Range<usize>, head: impl FnMut(usize)) {
        (self.before(places.start)..self.count)
            .map(&self.start)
            .take_while(|&start| start < places.end)
            .for_each(head);
    }

    #[inline(always)]
    fn begin_of(&self, place: usize) -> usize {
        (self.start)(self.before(place + 1) - 1)
    }
}

impl<T, F: Fn(usize) -> usize> Segments<'_, T, F> {
    /// How many segments begin before a place.
    #[inline(always)]
    fn before(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if (self.start)(middle) < place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
