//! Means.

use super::small::{bits_of, is_small, of_bits};
use super::{Combine, Operator, combine_all};
use crate::element::Element;
use crate::math::Float;
use crate::number::Number;
use crate::unroll::array;

/// The mean: the sum in [`Element::Real`], and one division.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;

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
