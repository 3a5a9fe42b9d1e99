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

    /// How many bits a [key](Self::key) has, fewer than a word; 0 for types without keys.
    const KEY_BITS: u32 = 0;
    /// A number that is greater where the value is, or if `IS_LEAST` where it is less: the upper [`KEY_BITS`](Self::KEY_BITS) bits of a word whose
    /// others are 0. Both zeros have the same key. So have all NaNs, and it is greater than any other.
    #[inline(always)]
    fn key<const IS_LEAST: bool>(self) -> i32 {
        0
    }
    /// A value with this key, whose other bits may be any.
    #[inline(always)]
    fn of_key<const IS_LEAST: bool>(key: i32) -> Self::Wide {
        let _ = key;
        Self::Wide::LEAST
    }
}

/// Keys of integers: their bits, the uppermost of a word.
macro_rules! integer_keys {
    ($bits:literal, $wide:ident) => {
        const KEY_BITS: u32 = $bits;
        #[inline(always)]
        fn key<const IS_LEAST: bool>(self) -> i32 {
            // The sign of an unsigned one is inverted, and all bits where less is greater.
            let inverted = if $wide::MIN == 0 { i32::MIN } else { 0 };
            let inverted = if IS_LEAST {
                !inverted >> (32 - $bits) << (32 - $bits)
            } else {
                inverted
            };
            (self.widen() << (32 - $bits)) as i32 ^ inverted
        }
        #[inline(always)]
        fn of_key<const IS_LEAST: bool>(key: i32) -> $wide {
            let inverted = if $wide::MIN == 0 { i32::MIN } else { 0 };
            let inverted = if IS_LEAST { !inverted } else { inverted };
            (key ^ inverted) as $wide >> (32 - $bits)
        }
    };
}

/// Keys of `Bf16`: the upper bits of an `f32`, all but the sign inverted where it is negative.
macro_rules! float_keys {
    ($bits:literal, $wide:ident) => {
        const KEY_BITS: u32 = $bits;
        #[inline(always)]
        fn key<const IS_LEAST: bool>(self) -> i32 {
            let bits = canonical::<IS_LEAST>(self.widen()).to_bits() as i32;
            in_order(bits) >> (32 - $bits) << (32 - $bits)
        }
        #[inline(always)]
        fn of_key<const IS_LEAST: bool>(key: i32) -> $wide {
            let bits = in_order(key) >> (32 - $bits) << (32 - $bits);
            canonical::<IS_LEAST>($wide::from_bits(bits as u32))
        }
    };
}

/// Keys of `F16`: its bits, all but the sign inverted where it is negative.
macro_rules! half_keys {
    ($bits:literal, $wide:ident) => {
        const KEY_BITS: u32 = $bits;
        #[inline(always)]
        fn key<const IS_LEAST: bool>(self) -> i32 {
            let bits = u32::from(self.canonical::<IS_LEAST>().0) << (32 - $bits);
            in_order(bits as i32) >> (32 - $bits) << (32 - $bits)
        }
        #[inline(always)]
        fn of_key<const IS_LEAST: bool>(key: i32) -> $wide {
            let bits = in_order(key) as u32 >> (32 - $bits);
            Self(bits as u16).canonical::<IS_LEAST>().widen()
        }
    };
}

/// The bits of a float, of which the sign comes first, as a number that is greater where the float is, and back.
#[inline(always)]
fn in_order(bits: i32) -> i32 {
    bits ^ (bits >> 31 & i32::MAX)
}

/// A float, negated if that is wanted; 0.0 for both zeros, and for any NaN the one with the greatest bits.
#[inline(always)]
fn canonical<const IS_NEGATED: bool>(value: f32) -> f32 {
    // A GPU makes that NaN of any, and 0.0 of two zeros that differ.
    let float = if IS_NEGATED { 0.0 - value } else { 0.0 + value };
    if cfg!(not(target_arch = "nvptx64")) && float.is_nan() {
        f32::from_bits(i32::MAX as u32)
    } else {
        float
    }
}

macro_rules! elements {
    ($($value:ident: $wide:ident, $real:ident, |$narrow:ident| $narrowed:expr, |$given:ident| $as_real:expr $(, $keys:ident! $bits:literal)?;)*) => {$(
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
            $($keys! { $bits, $wide })?
        }
    )*};
}

elements! {
    i8: i32, f64, |wide| wide.clamp(Self::MIN.into(), Self::MAX.into()) as Self, |value| value.into(), integer_keys! 8;
    u8: u32, f64, |wide| wide.min(Self::MAX.into()) as Self, |value| value.into(), integer_keys! 8;
    i16: i32, f64, |wide| wide.clamp(Self::MIN.into(), Self::MAX.into()) as Self, |value| value.into(), integer_keys! 16;
    u16: u32, f64, |wide| wide.min(Self::MAX.into()) as Self, |value| value.into(), integer_keys! 16;
    Bool: u32, f64, |wide| Self((wide != 0).into()), |value| u32::from(value).into(), integer_keys! 8;
    i32: i32, f64, |wide| wide, |value| value.into();
    u32: u32, f64, |wide| wide, |value| value.into();
    i64: i64, f64, |wide| wide, |value| value as f64;
    u64: u64, f64, |wide| wide, |value| value as f64;
    F16: f32, f32, |wide| Self::from_f32(wide), |value| value.into(), half_keys! 16;
    Bf16: f32, f32, |wide| Self::from_f32(wide), |value| value.into(), float_keys! 16;
    f32: f32, f32, |wide| wide, |value| value;
    f64: f64, f64, |wide| wide, |value| value;
}
