//! The variance of most types, from means that are joined.

#[cfg(not(target_arch = "nvptx64"))]
use super::Sum;
use super::combine::pairwise;
#[cfg(not(target_arch = "nvptx64"))]
use super::slice::in_lanes;
use super::spread::{Spread, SpreadOf};
use crate::element::Element;
use crate::math::Float;
use crate::unroll::{array, each};
use crate::words::Words;

/// What is known of some values: how many there are, their mean, and the sum of the squares of their distances from it.
///
/// The number is a float like the others: exact up to 2²⁴ in `f32`, and from there on rounded as a sum of its parts is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments<R> {
    /// How many values.
    pub count: R,
    /// Their mean.
    pub mean: R,
    /// The sum of the squares of their distances from the mean.
    pub squares: R,
}

crate::words! { Moments<R> { count, mean, squares } }

impl<R: Float + Words> Spread for Moments<R> {
    const NOTHING: Self = Self {
        count: R::ZERO,
        mean: R::ZERO,
        squares: R::ZERO,
    };

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        join(self, other)
    }
}

impl<T: Element> SpreadOf<T> for Moments<T::Real> {
    #[inline(always)]
    fn of_vectors<const V: usize, const N: usize>(vectors: [[T; N]; V]) -> Self {
        let states = array::<_, V>(
            #[inline(always)]
            |vector| moments_of(vectors[vector]),
        );
        pairwise(states, join)
    }

    #[inline(always)]
    fn extend_each<const N: usize, const STATES: usize>(
        states: &mut [Self; STATES],
        columns: usize,
        values_of: impl Fn(usize) -> ([T; N], u64),
    ) {
        join_each(states, columns, values_of);
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn of_slice(values: &[T]) -> Self {
        moments_of_slice(values)
    }

    #[inline(always)]
    fn squares(self, _count: u64) -> T::Real {
        self.squares
    }
}

/// Chan's rule: the distance of the two means is divided in the proportion of the counts.
#[inline(always)]
fn join<R: Float>(left: Moments<R>, right: Moments<R>) -> Moments<R> {
    let count = left.count + right.count;
    let distance = right.mean - left.mean;
    let share = distance * (right.count / count);
    let joined = Moments {
        count,
        mean: left.mean + share,
        squares: left.squares + right.squares + distance * share * left.count,
    };
    if right.count == R::ZERO {
        left
    } else if left.count == R::ZERO {
        right
    } else {
        joined
    }
}

/// Joins each of the states with N further values. Since all are of as many values, one division serves all of them, and the compiler keeps
/// one count.
#[inline(always)]
fn join_each<T: Element, const N: usize, const STATES: usize>(
    states: &mut [Moments<T::Real>; STATES],
    columns: usize,
    values_of: impl Fn(usize) -> ([T; N], u64),
) {
    let before = states[0].count;
    let further = T::Real::of_count(N as u64);
    let count = before + further;
    let part = further / count;
    each(
        columns,
        #[inline(always)]
        |column| {
            let (left, right) = (states[column], moments_of(values_of(column).0));
            let distance = right.mean - left.mean;
            let share = distance * part;
            let squares = left.squares + right.squares + distance * share * before;
            // A distance from no mean may be too large to be squared.
            let is_first = before == T::Real::ZERO;
            states[column] = Moments {
                count,
                mean: if is_first {
                    right.mean
                } else {
                    left.mean + share
                },
                squares: if is_first { right.squares } else { squares },
            };
        },
    );
}

/// Several values by their own mean, in two passes over registers.
#[inline(always)]
fn moments_of<T: Element, const N: usize>(values: [T; N]) -> Moments<T::Real> {
    let mut sum = T::Real::ZERO;
    let mut place = 0;
    while place < N {
        sum = sum + values[place].real();
        place += 1;
    }
    let count = T::Real::of_count(N as u64);
    let mean = sum / count;
    let mut squares = T::Real::ZERO;
    place = 0;
    while place < N {
        // NaN of an infinity, whose distance from its own mean is none.
        let distance = values[place].real() - mean;
        squares = distance.multiply_add(distance, squares);
        place += 1;
    }
    Moments {
        count,
        mean,
        squares,
    }
}

/// Block by block: the mean first, and then the distances from it.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn moments_of_slice<T: Element>(values: &[T]) -> Moments<T::Real> {
    const BLOCK: usize = 1024;
    let mut state = Moments::NOTHING;
    for block in values.chunks(BLOCK) {
        let count = T::Real::of_count(block.len() as u64);
        let mean = in_lanes(Sum, block, 0, |value: T, _| value.real()) / count;
        let squares = in_lanes(Sum, block, 0, |value: T, _| {
            let distance = value.real() - mean;
            distance * distance
        });
        let right = Moments {
            count,
            mean,
            squares,
        };
        state = join(state, right);
    }
    state
}
