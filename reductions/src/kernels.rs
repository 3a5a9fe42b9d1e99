//! The kernels: for each type those of every operator, and for wider accumulators those that are more exact with them.

#![allow(missing_docs, reason = "each has the documentation of its operator")]
#![allow(
    unused_imports,
    unused_macros,
    reason = "a build is for one type, or for one and its accumulator"
)]

use warpfold_device::{
    for_each_accumulator, for_each_operator, for_each_scan, for_each_short_index,
};

macro_rules! kernels {
    ($($feature:literal $name:ident: $value:ty;)*) => {$(
        #[cfg(feature = $feature)]
        pub mod $name {
            use warpfold_device::half::{Bf16, Bool, F16};
            use warpfold_device::operator::*;

            super::for_each_operator!(super::of_type, $name, $value);
            super::for_each_short_index!(super::of_type, $name, $value);
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

/// The kernels of a pair with a wider accumulator: sums and products, their scans, and dot products; of floats also means and so on.
macro_rules! wide_kernels {
    (integers { $($integers:tt)* } floats { $($floats:tt)* }) => {
        wide_kernels! { @integers $($integers)* }
        wide_kernels! { @floats $($floats)* }
    };
    (@integers $($feature:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        #[cfg(feature = $feature)]
        pub mod $name {
            use warpfold_device::half::Bool;
            use warpfold_device::operator::{As, DotIn, Product, Sum};

            super::wide_kernels! { @both $name $value $wide }
        }
    )*};
    (@floats $($feature:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        #[cfg(feature = $feature)]
        pub mod $name {
            use warpfold_device::half::{Bf16, F16};
            use warpfold_device::operator::*;

            super::wide_kernels! { @both $name $value $wide }
            super::of_type! { @kernels mean $name: As<$wide, Mean> = As::<$wide, _>::new(Mean), $value; }
            super::of_type! { @kernels variance $name (ddof): As<$wide, Variance> = As::<$wide, _>::new(Variance { ddof }), $value; }
            super::of_type! { @kernels std $name (ddof): As<$wide, StdDev> = As::<$wide, _>::new(StdDev { ddof }), $value; }
            super::of_type! { @kernels norm1 $name: As<$wide, Norm1> = As::<$wide, _>::new(Norm1), $value; }
            super::of_type! { @kernels norm2 $name: As<$wide, Norm2> = As::<$wide, _>::new(Norm2), $value; }
            super::of_type! { @kernels logsumexp $name: As<$wide, LogSumExp> = As::<$wide, _>::new(LogSumExp), $value; }
        }
    )*};
    (@both $name:ident $value:ident $wide:ident) => {
        super::of_type! { @kernels sum $name: As<$wide, Sum> = As::<$wide, _>::new(Sum), $value; }
        super::of_type! { @kernels product $name: As<$wide, Product> = As::<$wide, _>::new(Product), $value; }
        pastey::paste! {
            warpfold_device::scans! {
                [<sum_ $name>]: As<$wide, Sum> = As::<$wide, _>::new(Sum), $value;
                [<product_ $name>]: As<$wide, Product> = As::<$wide, _>::new(Product), $value;
            }
            warpfold_device::pair_reductions! { [<dot_ $name>]: DotIn<$wide> = DotIn::<$wide>::new(), $value; }
        }
    };
}
use wide_kernels;

for_each_accumulator!(wide_kernels);
