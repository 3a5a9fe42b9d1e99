//! Means and variances.

#[cfg(not(target_arch = "nvptx64"))]
use super::Sum;
#[cfg(not(target_arch = "nvptx64"))]
use super::slice::in_lanes;
use super::small::{bits_of, is_small, of_bits};
use super::{Combine, Operator, combine_all};
use crate::element::Element;
use crate::math::Float;
use crate::number::Number;
use crate::unroll::{array, each};
use crate::words::Words;

/// The mean: the sum in [`Element::Real`], and one division.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;

/// The mean square of the distances from the mean, whose sum is divided by the number of values − `ddof` (*delta degrees of
/// freedom*): 0 for the variance of these values, 1 for an estimate of that of what they were taken from.
///
/// It never subtracts one large sum from another. Each state has its own mean, and two are joined by Chan's rule, so that an offset
/// of all values costs no more digits than it takes from the values themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Variance {
    /// What the number of values is lessened by.
    pub ddof: u64,
}

/// The square root of the [`Variance`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StdDev {
    /// What the number of values is lessened by.
    pub ddof: u64,
}

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

impl<R: Number> Combine<R> for Mean {
    const IS_CHEAP: bool = true;

    #[inline(always)]
    fn identity(self) -> R {
        R::ADDITIVE_IDENTITY
    }
    #[inline(always)]
    fn combine(self, left: R, right: R) -> R {
        left.plus(right)
    }
}

impl<T: Element> Operator<T> for Mean {
    /// The sum of integers, of as many as surely fit into 32 bits: none needs more bits in its accumulator of 32 than in memory.
    const VALUES_OF_SHORT: u32 = if is_small::<T>(2) {
        1 << (32 - 8 * size_of::<T>())
    } else {
        0
    };

    type State = T::Real;
    type Output = T::Real;

    #[inline(always)]
    fn lift(self, value: T, _index: u64) -> T::Real {
        value.real()
    }
    /// Values of up to 16 bits are added in their accumulator, which 2¹⁶ of them do not fill, and converted once.
    #[inline(always)]
    fn lift_spaced<const N: usize>(self, values: [T; N], index: u64, _step: u64) -> T::Real {
        if size_of::<T>() > 2 || N > 1 << 16 {
            let states = array::<_, N>(
                #[inline(always)]
                |place| self.lift(values[place], index),
            );
            return combine_all(self, states);
        }
        let mut sum = T::Wide::ADDITIVE_IDENTITY;
        let mut place = 0;
        while place < N {
            sum = sum.plus(values[place].widen());
            place += 1;
        }
        T::real_of(sum)
    }
    #[inline(always)]
    fn extend_short(self, short: u32, value: T, _place: u32) -> u32 {
        bits_of(of_bits::<T::Wide>(short).plus(value.widen()))
    }
    #[inline(always)]
    fn combine_short(self, left: u32, right: u32) -> u32 {
        left.wrapping_add(right)
    }
    #[inline(always)]
    fn of_short(self, short: u32, _index_of: impl Fn(u32) -> u64) -> T::Real {
        T::real_of(of_bits(short))
    }
    #[inline(always)]
    fn finish(self, state: T::Real, count: u64) -> T::Real {
        state / T::Real::of_count(count)
    }
}

/// What is kept of values for their variance, and how two of them become one.
pub trait Spread: Words + Send + Sync {
    /// That of no values.
    const NOTHING: Self;

    /// That of the values of both.
    fn join(self, other: Self) -> Self;
}

/// A [`Spread`] of values of this type.
pub trait SpreadOf<T: Element>: Spread {
    /// That of the values of up to 16 vectors of up to 16, at least one.
    fn of_vectors<const V: usize, const N: usize>(vectors: [[T; N]; V]) -> Self;

    /// Those of as many columns, each with N further values, as [`Operator::accumulate_columns`] says.
    fn extend_each<const N: usize, const STATES: usize>(
        states: &mut [Self; STATES],
        columns: usize,
        values_of: impl Fn(usize) -> ([T; N], u64),
    );

    /// On a host: that of values side by side.
    #[cfg(not(target_arch = "nvptx64"))]
    fn of_slice(values: &[T]) -> Self;

    /// The sum of the squares of the distances from the mean, where it is of so many values.
    fn squares(self, count: u64) -> T::Real;
}

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
        combine_all(Variance::default(), states)
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

/// The variance, from the sum of the squares of the distances from the mean.
#[inline(always)]
fn variance<R: Float>(squares: R, count: u64, ddof: u64) -> R {
    let divisor = count.saturating_sub(ddof);
    // Of columns of one value, a division takes longer than all the rest.
    if divisor == 1 {
        squares
    } else {
        squares / R::of_count(divisor)
    }
}

macro_rules! spreads {
    ($operator:ident, |$variance:ident| $finished:expr) => {
        impl<S: Spread> Combine<S> for $operator {
            #[inline(always)]
            fn identity(self) -> S {
                S::NOTHING
            }
            #[inline(always)]
            fn combine(self, left: S, right: S) -> S {
                left.join(right)
            }
        }

        impl<T: Element> Operator<T> for $operator {
            type State = T::Spread;
            type Output = T::Real;

            #[inline(always)]
            fn lift(self, value: T, _index: u64) -> T::Spread {
                T::Spread::of_vectors([[value]])
            }
            #[inline(always)]
            fn lift_spaced<const N: usize>(
                self,
                values: [T; N],
                _index: u64,
                _step: u64,
            ) -> T::Spread {
                if N == 0 {
                    T::Spread::NOTHING
                } else {
                    T::Spread::of_vectors([values])
                }
            }
            #[inline(always)]
            fn accumulate<const V: usize, const N: usize>(
                self,
                state: T::Spread,
                vectors: [[T; N]; V],
                _index: u64,
                _step: u64,
            ) -> T::Spread {
                let further = if N == 1 {
                    T::Spread::of_vectors([array::<_, V>(|vector| vectors[vector][0])])
                } else {
                    T::Spread::of_vectors(vectors)
                };
                state.join(further)
            }
            #[inline(always)]
            fn accumulate_columns<const N: usize, const STATES: usize>(
                self,
                states: &mut [T::Spread; STATES],
                columns: usize,
                values_of: impl Fn(usize) -> ([T; N], u64),
                _step: u64,
            ) {
                T::Spread::extend_each(states, columns, values_of);
            }
            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn lift_slice(self, values: &[T], _index: u64) -> T::Spread {
                T::Spread::of_slice(values)
            }
            #[inline(always)]
            fn finish(self, state: T::Spread, count: u64) -> T::Real {
                let $variance = variance(state.squares(count), count, self.ddof);
                $finished
            }
            #[inline(always)]
            fn finish_each<const N: usize>(
                self,
                states: [T::Spread; N],
                count: u64,
            ) -> [T::Real; N] {
                // Asked once for all, whether something is divided.
                if count.saturating_sub(self.ddof) == 1 {
                    return array(
                        #[inline(always)]
                        |place| {
                            let $variance = states[place].squares(count);
                            $finished
                        },
                    );
                }
                array(
                    #[inline(always)]
                    |place| Operator::<T>::finish(self, states[place], count),
                )
            }
        }
    };
}

spreads!(Variance, |variance| variance);
spreads!(StdDev, |variance| variance.square_root());
