//! The types, the operators and the block sizes that the generic bodies of the course are built for. Each is listed here and nowhere
//! else. A macro that gets the list writes what is needed for each row.
//!
//! To add a type or an operator, add its row here. An operator also needs what it does, in
//! [`o01_operators`](crate::operators::o01_operators). Everything else follows from the rows: the entries of `operators/`, the catalogue,
//! and what hosts know of types and operators.

/// Calls a macro with a row for each element type: its variant in `catalogue::ElementType`, the type itself, `integer` or `float`, and
/// its number of bits. Tokens after the macro's name and a comma are passed to it before the rows. A macro that is named by a path is
/// written in brackets: `[$crate::names]`.
///
/// ```
/// macro_rules! names {
///     ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { [$(stringify!($value)),*] };
/// }
/// assert_eq!(warpfold_kernels::for_each_element!(names)[0], "i32");
/// ```
#[macro_export]
macro_rules! for_each_element {
    ($callback:ident $($first:tt)*) => {
        $crate::for_each_element! { [$callback] $($first)* }
    };
    ([$($callback:tt)+] $(, $($first:tt)*)?) => {
        $($callback)+! { $($($first)*)?
            I32 i32 integer 32;
            U32 u32 integer 32;
            I64 i64 integer 64;
            U64 u64 integer 64;
            F32 f32 float 32;
            F64 f64 float 64;
        }
    };
}

/// As [`for_each_element!`], with the integers before them that are too small to be reduced, but that buffers and arguments may hold.
///
/// ```
/// macro_rules! names {
///     ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { [$(stringify!($value)),*] };
/// }
/// assert_eq!(warpfold_kernels::for_each_scalar!(names)[..5], ["i8", "u8", "i16", "u16", "i32"]);
/// ```
#[macro_export]
macro_rules! for_each_scalar {
    ($callback:ident $($first:tt)*) => {
        $crate::for_each_scalar! { [$callback] $($first)* }
    };
    ([$($callback:tt)+] $(, $($first:tt)*)?) => {
        $crate::for_each_element! { [$($callback)+], $($($first)*)?
            I8 i8 integer 8;
            U8 u8 integer 8;
            I16 i16 integer 16;
            U16 u16 integer 16;
        }
    };
}

/// Calls a macro with a row for each element type that there is a wider one for: its variant in `catalogue::ElementType`, the type
/// itself, and the same of the type of twice the bits. Further tokens and a macro named by a path are passed as to
/// [`for_each_element!`].
///
/// ```
/// macro_rules! wide {
///     ($($variant:ident $value:ident $wide_variant:ident $wide:ident;)*) => { [$(stringify!($wide)),*] };
/// }
/// assert_eq!(warpfold_kernels::for_each_widening!(wide), ["i64", "u64", "f64"]);
/// ```
#[macro_export]
macro_rules! for_each_widening {
    ($callback:ident $($first:tt)*) => {
        $crate::for_each_widening! { [$callback] $($first)* }
    };
    ([$($callback:tt)+] $(, $($first:tt)*)?) => {
        $($callback)+! { $($($first)*)?
            I32 i32 I64 i64;
            U32 u32 U64 u64;
            F32 f32 F64 f64;
        }
    };
}

/// Calls a macro with a row for each operator: its variant in `catalogue::Operator`, which is also the name of its type in
/// `operators`, and its name in ids. Further tokens and a macro named by a path are passed as to [`for_each_element!`].
///
/// ```
/// macro_rules! names {
///     ($($operator:ident $name:ident;)*) => { [$(stringify!($name)),*] };
/// }
/// assert_eq!(warpfold_kernels::for_each_operator!(names)[0], "sum");
/// ```
#[macro_export]
macro_rules! for_each_operator {
    ($callback:ident $($first:tt)*) => {
        $crate::for_each_operator! { [$callback] $($first)* }
    };
    ([$($callback:tt)+] $(, $($first:tt)*)?) => {
        $($callback)+! { $($($first)*)?
            Sum sum;
            Product product;
            Min min;
            Max max;
        }
    };
}

/// Calls a macro once for each operator and element type, with the operator's type, its name in ids, and the element type:
/// `Sum sum i32`.
#[allow(
    unused_macros,
    reason = "the modules of a GPU that have no generic bodies have no use for it"
)]
macro_rules! for_each_instance {
    ($callback:ident) => {
        $crate::for_each_operator! { [$crate::lists::for_each_instance], @operators $callback }
    };
    (@operators $callback:ident $($operator:ident $name:ident;)*) => { $(
        $crate::for_each_element! { [$crate::lists::for_each_instance], @elements $callback $operator $name }
    )* };
    (@elements $callback:ident $operator:ident $name:ident $($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(
        $callback! { $operator $name $value }
    )* };
}

/// Calls a macro with every block size that the kernels are built for. Further tokens are passed as to [`for_each_element!`].
#[allow(
    unused_macros,
    reason = "the modules of a GPU that have no generic bodies have no use for it"
)]
macro_rules! for_each_block_size {
    ($callback:ident $(, $($first:tt)*)?) => {
        $callback! { $($($first)*)? 64 128 256 512 1024 }
    };
}

#[allow(
    unused_imports,
    reason = "the modules of a GPU that have no generic bodies have no use for them"
)]
pub(crate) use {for_each_block_size, for_each_instance};
