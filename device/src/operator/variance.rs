//! Variances and standard deviations.

use super::moments::Moments;
use super::power_sums::PowerSums;
use super::spread::{Spread, SpreadOf};
use super::{Combine, Operator};
use crate::element::Element;
use crate::half::{Bf16, Bool, F16};
use crate::math::Float;
use crate::unroll::array;

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

/// A type that has variances.
pub trait HasSpread: Element {
    /// What is kept of its values: exact sums of integers of 8 bits, [`Moments`] of others.
    type Spread: SpreadOf<Self>;
}

macro_rules! has_spread {
    ($($spread:ty: $($value:ident)*;)*) => {$($(
        impl HasSpread for $value {
            type Spread = $spread;
        }
    )*)*};
}

has_spread! {
    PowerSums: i8 u8 Bool;
    Moments<f32>: F16 Bf16 f32;
    Moments<f64>: i16 u16 i32 u32 i64 u64 f64;
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

        impl<T: HasSpread> Operator<T> for $operator {
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
