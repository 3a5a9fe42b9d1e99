//! The types and the operators that the generic bodies of the course are built for. Each is listed here and nowhere else. A macro that
//! gets the list writes what is needed for each row.
//!
//! To add a type or an operator, add its row here and its entries at the end of each page of `operators/`. The entries are listed
//! by name because a macro cannot build an identifier from parts. The compiler and the tests then name what else is missing.

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
