//! Results of any type.

use std::fmt;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::Extremes;

/// A number of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// An integer or an index.
    Integer(i128),
    /// A float of 32 bits, or one of 16 bits, which it holds exactly.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
}

/// A result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// One number.
    One(Number),
    /// The least and the greatest value.
    Extremes(Number, Number),
}

macro_rules! numbers {
    ($($type:ty: |$value:ident| $number:expr;)*) => {$(
        impl From<$type> for Number {
            fn from($value: $type) -> Self {
                $number
            }
        }
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::One(value.into())
            }
        }
    )*};
}

numbers! {
    Bool: |value| Self::Bool(value.0 != 0);
    i8: |value| Self::Integer(value.into());
    u8: |value| Self::Integer(value.into());
    i16: |value| Self::Integer(value.into());
    u16: |value| Self::Integer(value.into());
    i32: |value| Self::Integer(value.into());
    u32: |value| Self::Integer(value.into());
    i64: |value| Self::Integer(value.into());
    u64: |value| Self::Integer(value.into());
    F16: |value| Self::F32(value.into());
    Bf16: |value| Self::F32(value.into());
    f32: |value| Self::F32(value);
    f64: |value| Self::F64(value);
}

impl<T: Into<Number>> From<Extremes<T>> for Value {
    fn from(extremes: Extremes<T>) -> Self {
        Self::Extremes(extremes.min.into(), extremes.max.into())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(truth) => write!(formatter, "{truth}"),
            Self::Integer(integer) => write!(formatter, "{integer}"),
            Self::F32(float) => write!(formatter, "{float:?}"),
            Self::F64(float) => write!(formatter, "{float:?}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(number) => write!(formatter, "{number}"),
            Self::Extremes(min, max) => write!(formatter, "{min} … {max}"),
        }
    }
}

/// The results of an operator.
pub trait Results: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// The result of this number.
    ///
    /// # Panics
    /// There are not as many.
    fn value(&self, place: usize) -> Value;
}

impl<R: Copy + Into<Value> + Send + Sync> Results for Vec<R> {
    fn count(&self) -> usize {
        self.len()
    }

    fn value(&self, place: usize) -> Value {
        self[place].into()
    }
}
