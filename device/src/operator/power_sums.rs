//! The variance of integers of 8 bits, from sums that are exact.

use super::small::{bits_of, square};
use super::spread::{Spread, SpreadOf};
use crate::element::Element;
use crate::math::Float;
use crate::unroll::{each, each_of};

/// The sum of some integers of 8 bits and that of their squares: exact for up to 2⁴⁵ of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerSums {
    /// The sum, in two's complement.
    pub sum: u64,
    /// The sum of the squares.
    pub squares: u64,
}

crate::words! { PowerSums { sum, squares } }

impl PowerSums {
    /// Those of up to [`MOST`] values.
    #[inline(always)]
    fn of<T: Element, const V: usize, const N: usize>(vectors: [[T; N]; V]) -> Self {
        const { assert!(size_of::<T>() == 1 && V * N <= MOST) };
        let (mut sum, mut squares) = (0_i32, 0_u32);
        each_of(
            vectors,
            #[inline(always)]
            |_, value| {
                sum += bits_of(value.widen()) as i32;
                squares += square(value);
            },
        );
        Self::new(sum, squares)
    }

    #[inline(always)]
    fn new(sum: i32, squares: u32) -> Self {
        Self {
            sum: i64::from(sum) as u64,
            squares: squares.into(),
        }
    }
}

/// The most values whose sums of squares have 32 bits.
const MOST: usize = 1 << 16;

impl Spread for PowerSums {
    const NOTHING: Self = Self { sum: 0, squares: 0 };

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        Self {
            sum: self.sum.wrapping_add(other.sum),
            squares: self.squares.wrapping_add(other.squares),
        }
    }
}

impl<T: Element> SpreadOf<T> for PowerSums {
    #[inline(always)]
    fn of_vectors<const V: usize, const N: usize>(vectors: [[T; N]; V]) -> Self {
        Self::of(vectors)
    }

    #[inline(always)]
    fn extend_each<const N: usize, const STATES: usize>(
        states: &mut [Self; STATES],
        columns: usize,
        values_of: impl Fn(usize) -> ([T; N], u64),
    ) {
        each(
            columns,
            #[inline(always)]
            |column| states[column] = states[column].join(Self::of([values_of(column).0])),
        );
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn of_slice(values: &[T]) -> Self {
        let mut state = Self::NOTHING;
        for block in values.chunks(MOST) {
            let (mut sum, mut squares) = (0_i32, 0_u32);
            for &value in block {
                sum += bits_of(value.widen()) as i32;
                squares += square(value);
            }
            state = state.join(Self::new(sum, squares));
        }
        state
    }

    /// The squares of the distances from an integer that is about the mean: of those, nothing is lost where the square of what is left of the sum is
    /// taken off, which is at most half of them. Of a few values all of that is exact.
    #[inline(always)]
    fn squares(self, count: u64) -> T::Real {
        /// Up to so many values the products have 64 bits.
        const FEW: u64 = 1 << 24;
        let divisor = T::Real::of_count(count);
        if count <= FEW {
            let square = self.sum.wrapping_mul(self.sum);
            let product = count.wrapping_mul(self.squares);
            return T::Real::of_count(product.wrapping_sub(square)) / divisor;
        }
        let (sum, count) = (self.sum as i64, count as i64);
        let half = if sum < 0 { -(count / 2) } else { count / 2 };
        let center = (sum + half) / count;
        let rest = sum - center * count;
        let squares = self.squares as i64 - 2 * center * sum + center * center * count;
        let rest = T::Real::of_count(rest.unsigned_abs());
        T::Real::of_count(squares as u64) - rest * (rest / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Checks the sum of the squares of the distances of `count` values, of which `others` are `other` and the rest `value`.
    #[track_caller]
    fn is_near(count: u64, value: i64, others: u64, other: i64) {
        let (rest, others) = (i128::from(count - others), i128::from(others));
        let (value, other) = (i128::from(value), i128::from(other));
        let sum = rest * value + others * other;
        let squares = rest * value * value + others * other * other;
        // Where there are two values, n times that is the product of how often they are there and the square of their distance.
        let distance = (value - other).pow(2);
        let exact = (rest * others * distance) as f64 / count as f64;
        let state = PowerSums {
            sum: sum as i64 as u64,
            squares: squares as u64,
        };
        let found = SpreadOf::<i8>::squares(state, count);
        let error = (found - exact).abs();
        assert!(error <= 4.0 * f64::EPSILON * exact, "{found}, not {exact}");
    }

    #[test]
    fn nothing_is_lost_of_the_distances() {
        for count in [
            1,
            2,
            3,
            1000,
            1 << 24,
            (1 << 24) + 1,
            1 << 30,
            (1 << 45) - 1,
        ] {
            for (value, other) in [
                (255, 254),
                (255, 0),
                (-128, -127),
                (-128, 127),
                (-128, 0),
                (0, 1),
            ] {
                for others in [0, 1, count / 3, count / 2, count - 1, count] {
                    is_near(count, value, others, other);
                }
            }
        }
    }

    #[test]
    fn a_slice_has_the_sums_of_its_values() {
        let values: Vec<i8> = (0..100_000_u32).map(|place| (place % 251) as i8).collect();
        let state: PowerSums = SpreadOf::of_slice(&values);
        let sum: i64 = values.iter().map(|&value| i64::from(value)).sum();
        let squares: i64 = values.iter().map(|&value| i64::from(value).pow(2)).sum();
        assert_eq!((state.sum as i64, state.squares as i64), (sum, squares));
    }
}
