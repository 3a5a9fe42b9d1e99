//! The logarithm of a sum of exponentials.

#[cfg(not(target_arch = "nvptx64"))]
use super::Sum;
#[cfg(not(target_arch = "nvptx64"))]
use super::slice::{extreme, in_lanes};
use super::{Combine, Operator};
use crate::element::Element;
use crate::math::Float;
use crate::number::Number;
use crate::unroll::{each_of, map_all};

/// ln Σ eˣ, which neither overflows nor loses what is small: every exponential is scaled by the greatest one so far. NaN if a value is
/// NaN.
///
/// One value and two states are taken by [`Float`]'s own exponential, so that the fixed order gives the same bits on every machine.
/// Several values at once are taken by the GPU's, which is faster and may differ in the last bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogSumExp;

/// A sum of exponentials: e^`max` · `sum`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled<R> {
    /// The greatest value; −∞ of none.
    pub max: R,
    /// The sum, scaled so that the greatest value counts 1.
    pub sum: R,
}

crate::words! { Scaled<R> { max, sum } }

/// e^(value − max), where no value is greater; 1 if both are the same infinity.
#[inline(always)]
fn scale<R: Float>(value: R, max: R) -> R {
    if value == max {
        R::of_count(1)
    } else {
        (value - max).exp_of_negative()
    }
}

/// About e^(value − max), where no value is greater; of an infinity, which less itself would be NaN, 1 of itself and 0 of others.
#[inline(always)]
fn about_scale<R: Float>(value: R, max: R, is_infinite: bool) -> R {
    if !is_infinite {
        (value - max).about_exp_of_negative()
    } else if value == max {
        R::of_count(1)
    } else {
        R::ZERO
    }
}

/// The sum of about e^(value − max).
#[inline(always)]
fn about_sum<R: Float, const V: usize, const N: usize>(values: [[R; N]; V], max: R) -> R {
    let sum = |is_infinite| {
        let mut sum = R::ZERO;
        each_of(
            values,
            #[inline(always)]
            |_, value| sum = sum + about_scale(value, max, is_infinite),
        );
        sum
    };
    // One branch for all.
    if max.magnitude() == R::INFINITE {
        sum(true)
    } else {
        sum(false)
    }
}

impl<R: Number + Float> Combine<Scaled<R>> for LogSumExp {
    #[inline(always)]
    fn identity(self) -> Scaled<R> {
        Scaled {
            max: R::LEAST,
            sum: R::ZERO,
        }
    }

    #[inline(always)]
    fn combine(self, left: Scaled<R>, right: Scaled<R>) -> Scaled<R> {
        let max = left.max.greater(right.max);
        let (low, high) = if right.max > left.max {
            (left, right)
        } else {
            (right, left)
        };
        // The lesser of the two, NaN if one is; one exponential for both.
        Scaled {
            max,
            sum: high.sum + low.sum * scale(low.max, max),
        }
    }
}

impl<T: Element> Operator<T> for LogSumExp {
    type State = Scaled<T::Real>;
    type Output = T::Real;

    #[inline(always)]
    fn lift(self, value: T, _index: u64) -> Scaled<T::Real> {
        Scaled {
            max: value.real(),
            sum: T::Real::ONE,
        }
    }

    #[inline(always)]
    fn lift_spaced<const N: usize>(
        self,
        values: [T; N],
        _index: u64,
        _step: u64,
    ) -> Scaled<T::Real> {
        let real = map_all([values], T::real);
        let max = Number::greatest_of(real);
        Scaled {
            max,
            sum: about_sum(real, max),
        }
    }

    /// The greatest first, and then an exponential for each, and one for the state.
    #[inline(always)]
    fn accumulate<const V: usize, const N: usize>(
        self,
        state: Scaled<T::Real>,
        vectors: [[T; N]; V],
        _index: u64,
        _step: u64,
    ) -> Scaled<T::Real> {
        let real = map_all(vectors, T::real);
        let max = state.max.greater(Number::greatest_of(real));
        let is_infinite = max.magnitude() == T::Real::INFINITE;
        Scaled {
            max,
            sum: state.sum * about_scale(state.max, max, is_infinite) + about_sum(real, max),
        }
    }

    /// Block by block: the greatest first, and then an exponential for each.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn lift_slice(self, values: &[T], _index: u64) -> Scaled<T::Real> {
        const BLOCK: usize = 1024;
        let mut state = Combine::<Scaled<T::Real>>::identity(self);
        for block in values.chunks(BLOCK) {
            let max = extreme::<false, T, T::Real>(block, T::real);
            let sum = in_lanes(Sum, block, 0, |value: T, _| scale(value.real(), max));
            state = self.combine(state, Scaled { max, sum });
        }
        state
    }

    #[inline(always)]
    fn finish(self, state: Scaled<T::Real>, _count: u64) -> T::Real {
        // The sum of an infinity or NaN says nothing more.
        if state.sum > T::Real::ZERO && state.max < T::Real::INFINITE {
            state.max + state.sum.logarithm()
        } else {
            state.max
        }
    }
}
