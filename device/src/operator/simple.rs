//! Operators whose state is one accumulator.

use super::{Combine, Operator};
use crate::element::Element;
use crate::number::Number;
use crate::unroll::map_all;

/// Adds: integers wrap around, floats round to the nearest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

/// Multiplies: integers wrap around, floats round to the nearest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Product;

/// The least value; of floats NaN if one is NaN, and −0.0 is less than 0.0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Min;

/// The greatest value; of floats NaN if one is NaN, and 0.0 is greater than −0.0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

/// Adds the products of pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dot;

/// Operators that combine two numbers into one: identity, what combines, whether it is cheap, and the warp's instruction.
macro_rules! combine {
    ($($operator:ident: $identity:ident $combine:ident, cheap: $is_cheap:literal $(, by $of_warp:ident)?;)*) => {$(
        impl<N: Number> Combine<N> for $operator {
            const IS_CHEAP: bool = $is_cheap;

            #[inline(always)]
            fn identity(self) -> N {
                N::$identity
            }
            #[inline(always)]
            fn combine(self, left: N, right: N) -> N {
                left.$combine(right)
            }
            $(
                #[inline(always)]
                unsafe fn combine_warp(self, state: N, _count: u32) -> Option<N> {
                    // SAFETY: the caller's promise.
                    unsafe { state.$of_warp() }
                }
            )?
        }
    )*};
}

combine! {
    Sum: ADDITIVE_IDENTITY plus, cheap: true, by sum_of_warp;
    Product: ONE times, cheap: true;
    // For floats, NaN and -0.0 make these several instructions.
    Min: GREATEST lesser, cheap: false, by least_of_warp;
    Max: LEAST greater, cheap: false, by greatest_of_warp;
    Dot: ADDITIVE_IDENTITY plus, cheap: true, by sum_of_warp;
}

/// The operators of elements: the result, and how an accumulator becomes it.
macro_rules! operators {
    ($($operator:ident: $output:ty, |$state:ident| $finished:expr $(, $of_several:ident, least: $is_least:literal)?;)*) => {$(
        impl<T: Element> Operator<T> for $operator {
            const ORDER_MATTERS: bool = <T::Wide as Number>::IS_FLOAT;

            type State = T::Wide;
            type Output = $output;

            #[inline(always)]
            fn lift(self, value: T, _index: u64) -> T::Wide {
                value.widen()
            }
            $(
                #[inline(always)]
                fn lift_spaced<const N: usize>(self, values: [T; N], _index: u64, _step: u64) -> T::Wide {
                    T::Wide::$of_several(map_all([values], T::widen))
                }
                #[inline(always)]
                fn accumulate<const V: usize, const N: usize>(
                    self,
                    state: T::Wide,
                    vectors: [[T; N]; V],
                    _index: u64,
                    _step: u64,
                ) -> T::Wide {
                    self.combine(state, T::Wide::$of_several(map_all(vectors, T::widen)))
                }
                #[cfg(not(target_arch = "nvptx64"))]
                #[inline(always)]
                fn lift_slice(self, values: &[T], _index: u64) -> T::Wide {
                    super::slice::extreme::<$is_least, T, T::Wide>(values, T::widen)
                }
            )?
            #[inline(always)]
            fn finish(self, $state: T::Wide, _count: u64) -> $output {
                $finished
            }
        }
    )*};
}

operators! {
    Sum: T::Wide, |state| state;
    Product: T::Wide, |state| state;
    Min: T, |state| T::narrow(state), least_of, least: true;
    Max: T, |state| T::narrow(state), greatest_of, least: false;
}

impl<T: Element> Operator<(T, T)> for Dot {
    type State = T::Wide;
    type Output = T::Wide;

    #[inline(always)]
    fn lift(self, (left, right): (T, T), _index: u64) -> T::Wide {
        left.widen().times(right.widen())
    }
    #[inline(always)]
    fn finish(self, state: T::Wide, _count: u64) -> T::Wide {
        state
    }
}
