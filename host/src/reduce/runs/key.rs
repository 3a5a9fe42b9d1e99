//! The types of keys.

use crate::device::Pod;
use warpfold_device::half::Bool;

mod sealed {
    pub trait Sealed {}
}

/// A type of keys: the integers of up to 64 bits, and `Bool`. Keys are equal if all their bits are.
pub trait Key: Pod + sealed::Sealed {}

macro_rules! keys {
    ($($key:ty)*) => {$(
        impl sealed::Sealed for $key {}
        impl Key for $key {}
    )*};
}

keys! { i8 u8 i16 u16 i32 u32 i64 u64 Bool }
