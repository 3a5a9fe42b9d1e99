//! The types that memory may hold, and what each is computed in.

use crate::half::{Bf16, Bool, F16};
use crate::math::Float;
use crate::number::Number;
use crate::words::Words;

/// A number as it lies in memory.
///
/// | type | [`Wide`](Self::Wide): sums, products, extremes | [`Real`](Self::Real): means, variances, norms |
/// |---|---|---|
/// | `i8` `i16` | `i32` | `f64` |
/// | `u8` `u16` [`Bool`] | `u32` | `f64` |
/// | `i32` `u32` `i64` `u64` | itself | `f64` |
/// | [`F16`] [`Bf16`] | `f32` | `f32` |
/// | `f32` `f64` | itself | itself |
///
/// [`As`](crate::operator::As) computes in another one: an `i32` in `i64`, an `f32` in `f64`. The library has kernels of those in
/// [`for_each_accumulator!`](crate::for_each_accumulator!).
pub trait Element: Words {
    /// The accumulator: what values are added, multiplied and compared in.
    type Wide: Number;
    /// The float that quotients and roots are computed in.
    type Real: Number + Float;

    /// The same number, exactly.
    fn widen(self) -> Self::Wide;
    /// The nearest number of this type: itself if it came from one.
    fn narrow(wide: Self::Wide) -> Self;
    /// The nearest float.
    fn real(self) -> Self::Real;
    /// The nearest float to an accumulator.
    fn real_of(wide: Self::Wide) -> Self::Real;
    /// Whether it is not 0. NaN is not.
    fn is_nonzero(self) -> bool;
}

macro_rules! elements {
    ($($value:ident: $wide:ident, $real:ident, |$narrow:ident| $narrowed:expr, |$given:ident| $as_real:expr;)*) => {$(
        impl Element for $value {
            type Wide = $wide;
            type Real = $real;

            #[inline(always)]
            fn widen(self) -> $wide {
                self.into()
            }
            #[inline(always)]
            fn narrow($narrow: $wide) -> Self {
                $narrowed
            }
            #[inline(always)]
            fn real(self) -> $real {
                let $given = self;
                $as_real
            }
            #[inline(always)]
            fn real_of(wide: $wide) -> $real {
                wide as $real
            }
            #[inline(always)]
            fn is_nonzero(self) -> bool {
                self.widen() != <$wide>::default()
            }
        }
    )*};
}

elements! {
    i8: i32, f64, |wide| wide.clamp(Self::MIN.into(), Self::MAX.into()) as Self, |value| value.into();
    u8: u32, f64, |wide| wide.min(Self::MAX.into()) as Self, |value| value.into();
    i16: i32, f64, |wide| wide.clamp(Self::MIN.into(), Self::MAX.into()) as Self, |value| value.into();
    u16: u32, f64, |wide| wide.min(Self::MAX.into()) as Self, |value| value.into();
    Bool: u32, f64, |wide| Self((wide != 0).into()), |value| u32::from(value).into();
    i32: i32, f64, |wide| wide, |value| value.into();
    u32: u32, f64, |wide| wide, |value| value.into();
    i64: i64, f64, |wide| wide, |value| value as f64;
    u64: u64, f64, |wide| wide, |value| value as f64;
    F16: f32, f32, |wide| Self::from_f32(wide), |value| value.into();
    Bf16: f32, f32, |wide| Self::from_f32(wide), |value| value.into();
    f32: f32, f32, |wide| wide, |value| value;
    f64: f64, f64, |wide| wide, |value| value;
}
