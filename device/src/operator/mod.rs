//! What a reduction or a scan does with its values: a state, how two states become one, how a value becomes a state, and how the
//! last state becomes the result.
//!
//! | operator | state | result | of no values |
//! |---|---|---|---|
//! | [`Sum`], [`Product`] | accumulator | accumulator | 0, of floats −0.0; 1 |
//! | [`Min`], [`Max`] | accumulator | a value | the greatest, the least |
//! | [`MinMax`] | two accumulators | [`Extremes`]: two values | the greatest and the least |
//! | [`ArgMin`], [`ArgMax`] | accumulator and index | index | the greatest index |
//! | [`Mean`] | float | float | NaN |
//! | [`Variance`], [`StdDev`] | [`Moments`]: three floats; of 8 bits [`PowerSums`]: two integers | float | NaN |
//! | [`Norm1`], [`Norm2`], [`NormInf`] | float | float | 0.0 |
//! | [`Dot`] of pairs | accumulator | accumulator | 0, of floats −0.0 |
//! | [`LogSumExp`] | two floats | float | −∞ |
//! | [`Any`], [`All`] | `u32` | [`Bool`](crate::half::Bool) | false, true |
//! | [`CountNonzero`] | `u64` | `u64` | 0 |
//!
//! [`Element`](crate::element::Element) says what the accumulator and the float are for each type; [`As`] and [`DotIn`] choose
//! another one.

mod arg;
mod by_key;
mod combine;
mod extremes;
mod log_sum_exp;
mod mean;
mod moments;
mod norms;
mod power_sums;
mod simple;
#[cfg(not(target_arch = "nvptx64"))]
mod slice;
mod small;
mod spread;
mod truth;
mod variance;
mod wide;

use crate::unroll::{array, each};
pub use arg::{ArgMax, ArgMin, Best, Index, Ties};
pub(crate) use by_key::ByKey;
pub(crate) use combine::KEYED;
pub use combine::{Combine, combine_all};
pub use extremes::{Extremes, MinMax};
pub use log_sum_exp::{LogSumExp, Scaled};
pub use mean::Mean;
pub use moments::Moments;
pub use norms::{Norm1, Norm2, NormInf};
pub use power_sums::PowerSums;
pub use simple::{Dot, Max, Min, Product, Sum};
pub use spread::{Spread, SpreadOf};
pub use truth::{All, Any, CountNonzero};
pub use variance::{HasSpread, StdDev, Variance};
pub use wide::{As, DotIn};

/// A reduction of values of type `T`.
///
/// An operator whose state is the value, like a sum, takes one line of [`operator!`](crate::operator!). This one needs the rest: the
/// length of the longest value's path from 0.
///
/// ```
/// use warpfold_device::operator::{Combine, Operator};
///
/// #[derive(Clone, Copy)]
/// struct LongestPath;
///
/// impl Combine<f32> for LongestPath {
///     fn identity(self) -> f32 {
///         0.0
///     }
///     fn combine(self, left: f32, right: f32) -> f32 {
///         left.max(right)
///     }
/// }
///
/// impl Operator<[f32; 2]> for LongestPath {
///     type State = f32;
///     type Output = f32;
///     fn lift(self, [x, y]: [f32; 2], _index: u64) -> f32 {
///         x * x + y * y
///     }
///     fn finish(self, state: f32, _count: u64) -> f32 {
///         state.sqrt()
///     }
/// }
///
/// assert_eq!(LongestPath.of([[3.0, 4.0], [1.0, 1.0]]), 5.0);
/// ```
pub trait Operator<T>: Combine<Self::State> {
    /// Whether the result depends on the order and the grouping, as that of rounded additions does.
    const ORDER_MATTERS: bool = true;

    /// How many values may become one result: fewer than all where an index has fewer bits. The host refuses more.
    const MOST_VALUES: u64 = u64::MAX;

    /// Whether [`moved`](Self::moved) can shift all indices in a state. Kernels then count the indices of a piece from anywhere, up to 16
    /// below the first, and shift them when it is done. Such an operator implements `moved`.
    const INDICES_MOVE: bool = false;

    /// Whether a state is one of the values and its index: the last one of the values that [took over](Self::takes_over). Kernels of segments
    /// then compare values alone, and remember which it was.
    const PICKS_VALUES: bool = false;

    /// Whether [`takes_over_number`](Self::takes_over_number) is less work than [`takes_over`](Self::takes_over). Kernels of segments then look
    /// whether [one is a NaN](Self::is_any_nan).
    const NUMBERS_ARE_QUICKER: bool = false;

    /// How many values a *short state* may have: a word that is less work to keep than a state; 0 where there is none. There must be room for the
    /// values of two vectors of each thread of a block of 256, 8192 of one byte, or no kernel compiles, and a state must be aligned like a word. Kernels of columns, in which a thread has up to 16 states, keep short ones instead, and make states of what a block comes to. Such an operator
    /// implements [`short_identity`](Self::short_identity), [`extend_short`](Self::extend_short), [`moved_short`](Self::moved_short),
    /// [`combine_short`](Self::combine_short) and [`of_short`](Self::of_short).
    const VALUES_OF_SHORT: u32 = 0;

    /// What is combined.
    type State: crate::words::Words;
    /// The result.
    type Output: Copy;

    /// The state of one value, which has this index in the whole input.
    fn lift(self, value: T, index: u64) -> Self::State;

    /// The state of several values, which have this index and those that follow; neighbours are combined first.
    #[inline(always)]
    fn lift_all<const N: usize>(self, values: [T; N], index: u64) -> Self::State
    where
        T: Copy,
    {
        self.lift_spaced(values, index, 1)
    }

    /// The state of up to 16 values, whose indices begin with this one and are `step` apart; neighbours are combined first.
    ///
    /// It is the same as combining what [`lift`](Self::lift) makes of them, up to rounding. Some operators do it with less work.
    #[inline(always)]
    fn lift_spaced<const N: usize>(self, values: [T; N], index: u64, step: u64) -> Self::State
    where
        T: Copy,
    {
        let mut states = [self.identity(); N];
        each(
            N,
            #[inline(always)]
            |place| {
                let index = index.wrapping_add(place as u64 * step);
                states[place] = self.lift(values[place], index);
            },
        );
        combine_all(self, states)
    }

    /// A state, and with it the values of up to 16 vectors of up to 16, at least one of each: vector v has the index `index + v · step` and
    /// those that follow. All come after those of the state.
    ///
    /// It is the same as combining what [`lift_all`](Self::lift_all) makes of the vectors, neighbours first, with the state, up to rounding.
    /// Some operators do it with less work.
    #[inline(always)]
    fn accumulate<const V: usize, const N: usize>(
        self,
        state: Self::State,
        vectors: [[T; N]; V],
        index: u64,
        step: u64,
    ) -> Self::State
    where
        T: Copy,
    {
        if N == 1 {
            let values = array::<T, V>(|vector| vectors[vector][0]);
            return self.combine(state, self.lift_spaced(values, index, step));
        }
        let states = array::<_, V>(
            #[inline(always)]
            |vector| self.lift_all(vectors[vector], index.wrapping_add(vector as u64 * step)),
        );
        self.combine(state, combine_all(self, states))
    }

    /// The states of this many columns, at most 16, and with each N further values of its column, at most 16: `values_of` gives them and the index of the
    /// first, and `step` is how far their indices are apart. Before the call all of these states must stand for the same number of values, or the
    /// results are wrong.
    ///
    /// It is the same as [`accumulate`](Self::accumulate) for each, up to rounding. Some operators do what all columns have in common once.
    #[inline(always)]
    fn accumulate_columns<const N: usize, const STATES: usize>(
        self,
        states: &mut [Self::State; STATES],
        columns: usize,
        values_of: impl Fn(usize) -> ([T; N], u64),
        step: u64,
    ) where
        T: Copy,
    {
        each(
            columns,
            #[inline(always)]
            |column| {
                let (values, index) = values_of(column);
                let vectors = array::<[T; 1], N>(|place| [values[place]]);
                states[column] = self.accumulate(states[column], vectors, index, step);
            },
        );
    }

    /// The state of the same values with indices that are so much greater, where [`INDICES_MOVE`](Self::INDICES_MOVE); what goes beyond the
    /// greatest index wraps around. The identity stays as it is.
    #[inline(always)]
    fn moved(self, state: Self::State, by: u64) -> Self::State {
        let _ = by;
        state
    }

    /// The short state of no value, where there are [short states](Self::VALUES_OF_SHORT).
    #[inline(always)]
    fn short_identity(self) -> u32 {
        0
    }

    /// A short state, and with it a value. Values come in any order. Each has a place of its own below
    /// [`VALUES_OF_SHORT`](Self::VALUES_OF_SHORT), and places may be left out.
    #[inline(always)]
    fn extend_short(self, short: u32, value: T, place: u32) -> u32 {
        let _ = (value, place);
        short
    }

    /// The short state of the same values, whose places are so much greater, and still less than [`VALUES_OF_SHORT`](Self::VALUES_OF_SHORT).
    #[inline(always)]
    fn moved_short(self, short: u32, by: u32) -> u32 {
        let _ = by;
        short
    }

    /// One short state of two, in any grouping, whose values have different places.
    #[inline(always)]
    fn combine_short(self, left: u32, right: u32) -> u32 {
        let _ = right;
        left
    }

    /// The state of the values of a short state, where `index_of` gives the index of a place. That of no value is the identity, up to the sign
    /// of a zero.
    #[inline(always)]
    fn of_short(self, short: u32, index_of: impl Fn(u32) -> u64) -> Self::State {
        let _ = (short, index_of);
        self.identity()
    }

    /// Whether one of two values is a NaN, where [`NUMBERS_ARE_QUICKER`](Self::NUMBERS_ARE_QUICKER).
    #[inline(always)]
    fn is_any_nan(self, values: [T; 2]) -> bool {
        let _ = values;
        false
    }

    /// Whether a value takes the place of the best one before it, where [`PICKS_VALUES`](Self::PICKS_VALUES): it is better, or as good, and
    /// the last of equals is meant.
    #[inline(always)]
    fn takes_over(self, value: T, best: T) -> bool {
        let _ = (value, best);
        false
    }

    /// The same as [`takes_over`](Self::takes_over) where neither is a NaN.
    #[inline(always)]
    fn takes_over_number(self, value: T, best: T) -> bool {
        self.takes_over(value, best)
    }

    /// On a host: the state of values that lie side by side, of which the first has this index, in the order and the grouping that
    /// take the least time; the identity of none.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn lift_slice(self, values: &[T], index: u64) -> Self::State
    where
        T: Copy,
    {
        slice::in_lanes(self, values, index, |value, index| self.lift(value, index))
    }

    /// The result, from the state of all `count` values.
    fn finish(self, state: Self::State, count: u64) -> Self::Output;

    /// The results of up to 16 states, each of `count` values.
    ///
    /// It is the same as what [`finish`](Self::finish) makes of each. Some operators do it with less work.
    #[inline(always)]
    fn finish_each<const N: usize>(
        self,
        states: [Self::State; N],
        count: u64,
    ) -> [Self::Output; N] {
        array(
            #[inline(always)]
            |place| self.finish(states[place], count),
        )
    }

    /// The result of a few values in their order: what the kernels compute, up to the grouping.
    fn of(self, values: impl IntoIterator<Item = T>) -> Self::Output {
        let (mut state, mut count) = (self.identity(), 0);
        for value in values {
            state = self.combine(state, self.lift(value, count));
            count += 1;
        }
        self.finish(state, count)
    }
}

/// Makes an operator of a type whose state is the value: `operator!(Gcd, u32: 0, |left, right| gcd(left, right));`
///
/// ```
/// use warpfold_device::operator::Operator;
///
/// /// The bits that an odd number of values have.
/// #[derive(Clone, Copy)]
/// struct Parity;
/// warpfold_device::operator!(Parity, u64: 0, |left, right| left ^ right);
///
/// assert_eq!(Parity.of([1, 2, 3, 4]), 4);
/// ```
#[macro_export]
macro_rules! operator {
    ($operator:ty, $value:ty: $identity:expr, |$left:ident, $right:ident| $combined:expr) => {
        impl $crate::operator::Combine<$value> for $operator {
            #[inline(always)]
            fn identity(self) -> $value {
                $identity
            }
            #[inline(always)]
            fn combine(self, $left: $value, $right: $value) -> $value {
                $combined
            }
        }

        impl $crate::operator::Operator<$value> for $operator {
            type State = $value;
            type Output = $value;
            #[inline(always)]
            fn lift(self, value: $value, _index: u64) -> $value {
                value
            }
            #[inline(always)]
            fn finish(self, state: $value, _count: u64) -> $value {
                state
            }
        }
    };
}
