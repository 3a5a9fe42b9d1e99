//! The kernels: for each type those of every operator.

#![allow(missing_docs, reason = "each has the documentation of its operator")]

use warpfold_device::{for_each_operator, for_each_scan};

macro_rules! kernels {
    ($($feature:literal $name:ident: $value:ty;)*) => {$(
        #[cfg(feature = $feature)]
        pub mod $name {
            #[allow(unused_imports, reason = "some types are primitive")]
            use warpfold_device::half::{Bf16, Bool, F16};
            use warpfold_device::operator::*;

            super::for_each_operator!(super::of_type, $name, $value);
            super::for_each_scan!(super::scans_of_type, $name, $value);
            super::others_of_type! { $name, $value }
        }
    )*};
}

/// Takes the rows one by one; those of samples have the kernels of their namesakes, with another `ddof`.
macro_rules! of_type {
    ($element:ident, $value:ty;) => {};
    ($element:ident, $value:ty; variance: $operator:ty = $make:expr; $($rest:tt)*) => {
        of_type! { @kernels variance $element (ddof): Variance = Variance { ddof }, $value; }
        of_type! { $element, $value; $($rest)* }
    };
    ($element:ident, $value:ty; std: $operator:ty = $make:expr; $($rest:tt)*) => {
        of_type! { @kernels std $element (ddof): StdDev = StdDev { ddof }, $value; }
        of_type! { $element, $value; $($rest)* }
    };
    ($element:ident, $value:ty; sample_variance: $operator:ty = $make:expr; $($rest:tt)*) => {
        of_type! { $element, $value; $($rest)* }
    };
    ($element:ident, $value:ty; sample_std: $operator:ty = $make:expr; $($rest:tt)*) => {
        of_type! { $element, $value; $($rest)* }
    };
    ($element:ident, $value:ty; $name:ident: $operator:ty = $make:expr; $($rest:tt)*) => {
        of_type! { @kernels $name $element: $operator = $make, $value; }
        of_type! { $element, $value; $($rest)* }
    };
    (@kernels $name:ident $element:ident $($line:tt)*) => {
        pastey::paste! {
            warpfold_device::row_reductions! { [<$name _ $element>] $($line)* }
            warpfold_device::column_reductions! { [<$name _ $element>] $($line)* }
            warpfold_device::fixed_reductions! { [<$name _ $element>] $($line)* }
            warpfold_device::segment_reductions! { [<$name _ $element>] $($line)* }
            warpfold_device::part_reductions! { [<$name _ $element>] $($line)* }
        }
    };
}
use of_type;

macro_rules! scans_of_type {
    ($element:ident, $value:ty; $($name:ident: $operator:ty = $make:expr;)*) => {
        pastey::paste! {
            warpfold_device::scans! { $([<$name _ $element>]: $operator = $make, $value;)* }
        }
    };
}
use scans_of_type;

/// The kernels of pairs, and for words the one that finds runs of them.
macro_rules! others_of_type {
    ($element:ident, $value:ty) => {
        pastey::paste! {
            warpfold_device::pair_reductions! { [<dot_ $element>]: Dot = Dot, $value; }
            others_of_type! { @runs $element }
        }
    };
    (@runs u8) => {
        warpfold_device::runs! { runs_u8: u8; }
    };
    (@runs u16) => {
        warpfold_device::runs! { runs_u16: u16; }
    };
    (@runs u32) => {
        warpfold_device::runs! { runs_u32: u32; }
    };
    (@runs u64) => {
        warpfold_device::runs! { runs_u64: u64; }
    };
    (@runs $other:ident) => {};
}
use others_of_type;

kernels! {
    "bool" bool: Bool;
    "i8" i8: i8;
    "u8" u8: u8;
    "i16" i16: i16;
    "u16" u16: u16;
    "f16" f16: F16;
    "bf16" bf16: Bf16;
    "i32" i32: i32;
    "u32" u32: u32;
    "f32" f32: f32;
    "i64" i64: i64;
    "u64" u64: u64;
    "f64" f64: f64;
}
