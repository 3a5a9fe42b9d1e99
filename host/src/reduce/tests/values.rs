//! The values of the inputs, and results as numbers to compare.

use super::*;

/// A value of the input.
pub(super) trait Made: Reducible + Sync {
    /// One of a few whole numbers, so that there are ties, and so that sums lose nothing.
    fn whole(number: u64) -> Self;
    /// Now and then what is no number, or no usual one.
    fn special(number: u64) -> Self;
    /// Of floats one with a fraction, so that sums are rounded.
    fn rough(number: u64) -> Self;
}

/// A result as numbers to compare.
pub(super) trait Outcome: Debug {
    fn numbers(&self) -> [f64; 2];
}

macro_rules! made {
    ($($value:ty: |$small:ident| $made:expr, |$it:ident| $number:expr;)*) => {$(
        impl Made for $value {
            fn whole(number: u64) -> Self {
                let $small = (number % 13) as i8 - 5;
                $made
            }
            fn special(number: u64) -> Self {
                Self::whole(number / 7)
            }
            fn rough(number: u64) -> Self {
                Self::whole(number)
            }
        }
        made! { @outcome $value: |$it| $number; }
    )*};
    ($(float $value:ty: |$small:ident| $made:expr, |$it:ident| $number:expr;)*) => {$(
        impl Made for $value {
            fn whole(number: u64) -> Self {
                let $small = f32::from((number % 13) as i8 - 5);
                $made
            }
            fn special(number: u64) -> Self {
                let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1.0, 0.0, -0.0];
                let $small = values[(number % 31).min(7) as usize];
                $made
            }
            fn rough(number: u64) -> Self {
                let $small = (number % (1 << 24)) as f32 / 1e6 - 7.0;
                $made
            }
        }
        made! { @outcome $value: |$it| $number; }
    )*};
    (@outcome $value:ty: |$it:ident| $number:expr;) => {
        impl Outcome for $value {
            fn numbers(&self) -> [f64; 2] {
                let $it = *self;
                [$number, 0.0]
            }
        }
    };
}

made! {
    i8: |small| small, |it| it.into();
    u8: |small| small.unsigned_abs(), |it| it.into();
    i16: |small| small.into(), |it| it.into();
    u16: |small| small.unsigned_abs().into(), |it| it.into();
    i32: |small| small.into(), |it| it.into();
    u32: |small| small.unsigned_abs().into(), |it| it.into();
    i64: |small| small.into(), |it| it as f64;
    u64: |small| small.unsigned_abs().into(), |it| it as f64;
    Bool: |small| Bool(small.unsigned_abs()), |it| u32::from(it).into();
}

made! {
    float f32: |small| small, |it| it.into();
    float f64: |small| small.into(), |it| it;
    float F16: |small| Self::from_f32(small), |it| it.into();
    float Bf16: |small| Self::from_f32(small), |it| it.into();
}

impl<T: Outcome> Outcome for Extremes<T> {
    fn numbers(&self) -> [f64; 2] {
        [self.min.numbers()[0], self.max.numbers()[0]]
    }
}

/// Equal to the last bit, or, of numbers that are rounded, nearly equal.
pub(super) fn is_same(found: f64, expected: f64) -> bool {
    found.to_bits() == expected.to_bits()
        || found.is_nan() && expected.is_nan()
        || found != 0.0 && (found - expected).abs() <= 2e-5 * expected.abs().max(1e-3)
}
