//! Ranges of values, each with its own result: pieces of an array, rows, segments.

use super::cores::both;
use super::order::{Order, Parallel};
use super::slots;
use super::widest::{Task, widest};
use std::ops::Range;

/// How many values, with one more for each range, a thread reduces before it looks whether another is idle.
const GRAIN: usize = 1 << 15;

/// The state of values that may be many.
pub(super) fn state<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    index: u64,
    order: Order,
) -> O::State {
    let piece = match order {
        Order::Fast => GRAIN,
        Order::Deterministic => slots::CHUNK,
    };
    let count = values.len().div_ceil(piece);
    let range = |place: usize| place * piece..values.len().min((place + 1) * piece);
    let mut states = vec![operator.identity(); count];
    let pieces = Ranges {
        operator,
        values,
        range: &range,
        index: |start| index + start as u64,
        finish: |state, _| state,
        order,
    };
    pieces.reduce(0, &mut states);
    match order {
        Order::Fast => {
            let combine = |left, right| operator.combine(left, right);
            states.into_iter().fold(operator.identity(), combine)
        }
        Order::Deterministic => slots::of_chunks(operator, &mut Vec::new(), &states),
    }
}

/// The results of `count` ranges. They are in ascending order, and one with very many values is spread over the threads.
pub(super) fn each<T: Copy + Sync, O: Parallel<T>>(
    operator: O,
    values: &[T],
    count: usize,
    range: &(impl Fn(usize) -> Range<usize> + Sync),
    order: Order,
) -> Vec<O::Output> {
    let mut results = vec![operator.finish(operator.identity(), 0); count];
    let ranges = Ranges {
        operator,
        values,
        range,
        index: |_| 0,
        finish: |state, count| operator.finish(state, count),
        order,
    };
    ranges.reduce(0, &mut results);
    results
}

struct Ranges<'a, T, O, R, I, F> {
    operator: O,
    values: &'a [T],
    /// The places of a range's values.
    range: &'a R,
    /// The index of the value at this place.
    index: I,
    /// The result, from the state and the number of values that it is of.
    finish: F,
    order: Order,
}

impl<T, O, R, I, F> Ranges<'_, T, O, R, I, F>
where
    T: Copy + Sync,
    O: Parallel<T>,
    R: Fn(usize) -> Range<usize> + Sync,
    I: Fn(usize) -> u64 + Sync,
{
    /// Reduces the ranges from number `first` on, one for each result. They are halved by the work that they are.
    fn reduce<S: Send>(&self, first: usize, results: &mut [S])
    where
        F: Fn(O::State, u64) -> S + Sync,
    {
        let count = results.len();
        if count == 0 {
            return;
        }
        let start = (self.range)(first).start;
        // What comes before range k. Rows may overlap, and then it is too little, which does no harm.
        let work = |place: usize| (self.range)(first + place - 1).end - start + place;
        if work(count) <= GRAIN + 1 {
            return widest(Run {
                ranges: self,
                first,
                results,
            });
        }
        if count == 1 {
            let range = (self.range)(first);
            let length = range.len() as u64;
            let index = (self.index)(range.start);
            let state = state(self.operator, &self.values[range], index, self.order);
            results[0] = (self.finish)(state, length);
            return;
        }
        let half = work(count) / 2;
        let (mut low, mut high) = (1, count - 1);
        while low < high {
            let middle = low.midpoint(high);
            if work(middle) < half {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (left, right) = results.split_at_mut(low);
        both(&mut || self.reduce(first, left), &mut || {
            self.reduce(first + low, right)
        });
    }
}

/// Some ranges, one after the other.
struct Run<'a, 'r, T, O, R, I, F, S> {
    ranges: &'a Ranges<'a, T, O, R, I, F>,
    first: usize,
    results: &'r mut [S],
}

impl<T, O, R, I, F, S> Task for Run<'_, '_, T, O, R, I, F, S>
where
    T: Copy + Sync,
    O: Parallel<T>,
    R: Fn(usize) -> Range<usize> + Sync,
    I: Fn(usize) -> u64 + Sync,
    F: Fn(O::State, u64) -> S + Sync,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Ranges {
            operator,
            values,
            range,
            index,
            finish,
            order,
        } = self.ranges;
        let mut slots = Vec::new();
        for (place, result) in self.results.iter_mut().enumerate() {
            let range = range(self.first + place);
            let index = index(range.start);
            let values = &values[range];
            let state = match order {
                Order::Fast => operator.lift_slice(values, index),
                Order::Deterministic => slots::state(*operator, &mut slots, values, index),
            };
            *result = finish(state, values.len() as u64);
        }
    }
}
