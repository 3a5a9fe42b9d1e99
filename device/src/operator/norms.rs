//! Lengths of vectors.

use super::small::{is_small, magnitude, square};
use super::{Combine, Operator, combine_all};
use crate::element::Element;
use crate::math::Float;
use crate::number::Number;
use crate::unroll::{each_of, map_all};

/// The sum of the magnitudes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Norm1;

/// The square root of the sum of the squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Norm2;

/// The greatest magnitude; NaN if a value is NaN.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormInf;

macro_rules! norms {
    ($($operator:ident: $combine:ident, cheap: $is_cheap:literal, small: $bytes:literal, |$left:ident, $small:ident| $of_both:expr, |$value:ident| $lifted:expr, |$state:ident| $finished:expr $(, $of_several:ident, least: $is_least:literal)?;)*) => {$(
        impl<R: Number + Float> Combine<R> for $operator {
            const IS_CHEAP: bool = $is_cheap;

            #[inline(always)]
            fn identity(self) -> R {
                // No magnitude has the other sign.
                R::ZERO
            }
            #[inline(always)]
            fn combine(self, left: R, right: R) -> R {
                left.$combine(right)
            }
        }

        impl $operator {
            /// The state of integers of at most this many bytes: up to 16 vectors of up to 16.
            #[inline(always)]
            fn of_small<T: Element, const V: usize, const N: usize>(self, vectors: [[T; N]; V]) -> T::Real {
                let mut $left = 0;
                each_of(
                    vectors,
                    #[inline(always)]
                    |_, $small| $left = $of_both,
                );
                T::Real::of_count(u64::from($left))
            }
        }

        impl<T: Element> Operator<T> for $operator {
            type State = T::Real;
            type Output = T::Real;

            #[inline(always)]
            fn lift(self, value: T, _index: u64) -> T::Real {
                let $value = value.real();
                $lifted
            }
            /// Small integers together, of which one number is converted.
            #[inline(always)]
            fn lift_spaced<const N: usize>(self, values: [T; N], index: u64, _step: u64) -> T::Real {
                if is_small::<T>($bytes) {
                    return self.of_small([values]);
                }
                let states = map_all([values], |value| self.lift(value, index));
                combine_all(self, states[0])
            }
            $(
                #[inline(always)]
                fn accumulate<const V: usize, const N: usize>(
                    self,
                    state: T::Real,
                    vectors: [[T; N]; V],
                    _index: u64,
                    _step: u64,
                ) -> T::Real {
                    if is_small::<T>($bytes) {
                        return self.combine(state, self.of_small(vectors));
                    }
                    let lifted = map_all(vectors, |value| self.lift(value, 0));
                    self.combine(state, Number::$of_several(lifted))
                }
                #[cfg(not(target_arch = "nvptx64"))]
                #[inline(always)]
                fn lift_slice(self, values: &[T], _index: u64) -> T::Real {
                    let lift = |$value: T| {
                        let $value = $value.real();
                        $lifted
                    };
                    let extreme = super::slice::extreme::<$is_least, T, T::Real>(values, lift);
                    // There may be none.
                    self.combine(Combine::<T::Real>::identity(self), extreme)
                }
            )?
            #[inline(always)]
            fn finish(self, $state: T::Real, _count: u64) -> T::Real {
                $finished
            }
        }
    )*};
}

norms! {
    Norm1: plus, cheap: true, small: 2, |sum, value| sum + magnitude(value), |value| value.magnitude(), |state| state;
    Norm2: plus, cheap: true, small: 1, |sum, value| sum + square(value), |value| value * value, |state| state.square_root();
    NormInf: greater, cheap: false, small: 2, |greatest, value| magnitude(value).max(greatest), |value| value.magnitude(), |state| state, greatest_of, least: false;
}
