//! Sums of integers that nothing overflows.

use crate::results::{Number, Value};
use warpfold_device::half::Bool;
use warpfold_device::operator::{Combine, Operator};

/// The sum, in 128 bits.
#[derive(Clone, Copy)]
pub(crate) struct ExactSum;

/// The sum divided by the number of values, rounded to `f64`.
#[derive(Clone, Copy)]
pub(crate) struct ExactMean;

/// An integer of 128 bits, in halves.
type Halves = (u64, u64);

fn join((low, high): Halves) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

fn halves(integer: i128) -> Halves {
    (integer as u64, (integer >> 64) as u64)
}

/// An integer of up to 64 bits.
pub(crate) trait Integer: Copy {
    /// Two numbers of up to 33 bits, the value being the first and 2³² times the second.
    fn parts(self) -> (i64, i64);
}

macro_rules! integers {
    ($($value:ident: $parts:expr;)*) => {$(
        impl Integer for $value {
            #[inline(always)]
            fn parts(self) -> (i64, i64) {
                ($parts)(self)
            }
        }
    )*};
}

integers! {
    Bool: |value| (u32::from(value).into(), 0);
    i8: |value| (i64::from(value), 0);
    u8: |value| (i64::from(value), 0);
    i16: |value| (i64::from(value), 0);
    u16: |value| (i64::from(value), 0);
    i32: |value| (i64::from(value), 0);
    u32: |value| (i64::from(value), 0);
    i64: |value| (value & 0xffff_ffff, value >> 32);
    u64: |value| ((value & 0xffff_ffff) as i64, (value >> 32) as i64);
}

/// The sum of up to 2³⁰ values.
#[inline(always)]
fn sum_of<T: Integer>(values: &[T]) -> i128 {
    let (mut low, mut high) = (0, 0);
    for value in values {
        let parts = value.parts();
        (low, high) = (low + parts.0, high + parts.1);
    }
    i128::from(low) + (i128::from(high) << 32)
}

macro_rules! exact {
    ($($operator:ident: $output:ty, |$sum:ident, $count:ident| $result:expr;)*) => {$(
        impl Combine<Halves> for $operator {
            fn identity(self) -> Halves {
                (0, 0)
            }
            #[inline(always)]
            fn combine(self, left: Halves, right: Halves) -> Halves {
                halves(join(left) + join(right))
            }
        }

        impl<T: Integer> Operator<T> for $operator {
            type State = Halves;
            type Output = $output;

            #[inline(always)]
            fn lift(self, value: T, _index: u64) -> Halves {
                halves(sum_of(&[value]))
            }
            #[inline(always)]
            fn lift_spaced<const N: usize>(self, values: [T; N], _index: u64, _step: u64) -> Halves {
                halves(sum_of(&values))
            }
            /// In vectors, as far as 64 bits have room for it.
            #[inline(always)]
            fn lift_slice(self, values: &[T], _index: u64) -> Halves {
                halves(values.chunks(1 << 30).map(sum_of).sum())
            }
            fn finish(self, state: Halves, $count: u64) -> $output {
                let $sum = join(state);
                $result
            }
        }
    )*};
}

exact! {
    ExactSum: Sum, |sum, _count| Sum(sum);
    ExactMean: f64, |sum, count| sum as f64 / count as f64;
}

/// A sum.
#[derive(Clone, Copy)]
pub(crate) struct Sum(i128);

impl From<Sum> for Value {
    fn from(Sum(sum): Sum) -> Self {
        Self::One(Number::Integer(sum))
    }
}
