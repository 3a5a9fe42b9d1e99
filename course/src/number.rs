//! A number with its type: what a reduction comes to.

use serde::{Serialize, Serializer};
use std::fmt;

/// A number of one of the types that reductions have results in.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is the Rust type of that name")]
pub enum Number {
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
}

macro_rules! from {
    ($($variant:ident of $number:ty;)*) => {$(
        impl From<$number> for Number {
            fn from(number: $number) -> Self {
                Self::$variant(number)
            }
        }
    )*};
}

from! {
    I32 of i32;
    U32 of u32;
    I64 of i64;
    U64 of u64;
    F32 of f32;
    F64 of f64;
}

impl Number {
    /// As an integer, if it is of an integer type.
    pub fn to_integer(self) -> Option<i128> {
        match self {
            Self::I32(number) => Some(number.into()),
            Self::U32(number) => Some(number.into()),
            Self::I64(number) => Some(number.into()),
            Self::U64(number) => Some(number.into()),
            Self::F32(_) | Self::F64(_) => None,
        }
    }

    /// As a float, if it is of a float type.
    pub fn to_float(self) -> Option<f64> {
        match self {
            Self::F32(number) => Some(number.into()),
            Self::F64(number) => Some(number),
            Self::I32(_) | Self::U32(_) | Self::I64(_) | Self::U64(_) => None,
        }
    }
}

/// Floats with as many digits as it takes to read them back, and at least one after the point.
impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I32(number) => write!(formatter, "{number}"),
            Self::U32(number) => write!(formatter, "{number}"),
            Self::I64(number) => write!(formatter, "{number}"),
            Self::U64(number) => write!(formatter, "{number}"),
            Self::F32(number) => write!(formatter, "{number:?}"),
            Self::F64(number) => write!(formatter, "{number:?}"),
        }
    }
}

/// A number; a string for what JSON has no number for: `"NaN"`, `"inf"`, `"-inf"`.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::I32(number) => serializer.serialize_i32(number),
            Self::U32(number) => serializer.serialize_u32(number),
            Self::I64(number) => serializer.serialize_i64(number),
            Self::U64(number) => serializer.serialize_u64(number),
            Self::F32(number) if number.is_finite() => serializer.serialize_f32(number),
            Self::F64(number) if number.is_finite() => serializer.serialize_f64(number),
            Self::F32(_) | Self::F64(_) => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_numbers_where_it_can() {
        let json = |number: Number| serde_json::to_string(&number).unwrap();
        assert_eq!(json(Number::I32(-7)), "-7");
        assert_eq!(json(Number::U64(u64::MAX)), "18446744073709551615");
        assert_eq!(json(Number::F32(0.1)), "0.1");
        assert_eq!(json(Number::F64(-0.0)), "-0.0");
        assert_eq!(json(Number::F32(f32::NAN)), "\"NaN\"");
        assert_eq!(json(Number::F64(f64::NEG_INFINITY)), "\"-inf\"");
    }

    #[test]
    fn floats_look_like_floats() {
        assert_eq!(Number::F32(3.0).to_string(), "3.0");
        assert_eq!(Number::F32(16_777_216.5).to_string(), "16777216.0");
        assert_eq!(Number::F64(f64::INFINITY).to_string(), "inf");
    }
}
