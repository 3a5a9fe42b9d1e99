//! The values of the input, and results as numbers.

use warpfold::operator::Extremes;
use warpfold::reduce::Reducible;
use warpfold::{Bf16, Bool, F16};

/// A value of the input: small whole numbers, which most operators lose nothing of.
pub trait Made: Reducible + Send + Sync {
    fn made(number: u64) -> Self;
}

/// A result as a number to compare.
pub trait Outcome {
    fn number(&self) -> f64;
}

macro_rules! numbers {
    ($($value:ty: |$it:ident| $number:expr $(, |$small:ident| $made:expr)?;)*) => {$(
        $(impl Made for $value {
            fn made(number: u64) -> Self {
                let $small = (number % 13) as i8 - 5;
                $made
            }
        })?
        impl Outcome for $value {
            fn number(&self) -> f64 {
                let $it = *self;
                $number
            }
        }
    )*};
}

numbers! {
    f32: |it| it.into(), |small| small.into();
    f64: |it| it, |small| small.into();
    Bf16: |it| it.into(), |small| Self::from_f32(small.into());
    F16: |it| it.into(), |small| Self::from_f32(small.into());
    i8: |it| it.into(), |small| small;
    i32: |it| it.into(), |small| small.into();
    u32: |it| it.into();
    u64: |it| it as f64;
    Bool: |it| u32::from(it).into();
}

impl<T: Outcome> Outcome for Extremes<T> {
    fn number(&self) -> f64 {
        self.min.number() + 1000.0 * self.max.number()
    }
}

/// The values of the input.
pub fn values<T: Made>(n: usize) -> Vec<T> {
    let mut state = 1_u64;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            T::made(state >> 33)
        })
        .collect()
}
