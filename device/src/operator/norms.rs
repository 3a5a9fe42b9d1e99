//! Lengths of vectors.

use super::{Combine, Operator};
use crate::element::Element;
use crate::math::Float;
use crate::number::Number;
use crate::unroll::map_all;

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
    ($($operator:ident: $combine:ident, cheap: $is_cheap:literal, |$value:ident| $lifted:expr, |$state:ident| $finished:expr $(, $of_several:ident, least: $is_least:literal)?;)*) => {$(
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

        impl<T: Element> Operator<T> for $operator {
            type State = T::Real;
            type Output = T::Real;

            #[inline(always)]
            fn lift(self, value: T, _index: u64) -> T::Real {
                let $value = value.real();
                $lifted
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
    Norm1: plus, cheap: true, |value| value.magnitude(), |state| state;
    Norm2: plus, cheap: true, |value| value * value, |state| state.square_root();
    NormInf: greater, cheap: false, |value| value.magnitude(), |state| state, greatest_of, least: false;
}
