//! The types and the operators that the generic bodies of the course are built for: each is listed here and nowhere else. What has to
//! be written for each of them is written by a macro that gets the list.
//!
//! A new type or operator is one row here, and its entries under the last heading of each page of `operators/`, which stand there by
//! name because an entry's name cannot be put together by a macro. The compiler and the tests then name what else is missing.

/// Calls a macro with a row for each element type: its variant in `catalogue::ElementType`, the type itself, whether it is an
/// `integer` or a `float`, and its bits. What is in parentheses after the macro's name goes first.
///
/// ```
/// macro_rules! names {
///     ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { [$(stringify!($value)),*] };
/// }
/// assert_eq!(warpfold_kernels::for_each_element!(names)[0], "i32");
/// ```
#[macro_export]
macro_rules! for_each_element {
    ($callback:ident $(($($first:tt)*))?) => {
        $callback! { $($($first)*)?
            I32 i32 integer 32;
            U32 u32 integer 32;
            I64 i64 integer 64;
            U64 u64 integer 64;
            F32 f32 float 32;
            F64 f64 float 64;
        }
    };
}

/// Calls a macro with a row for each operator: its variant in `catalogue::Operator`, which is also its type in `operators`, and its
/// name in ids. What is in parentheses after the macro's name goes first.
///
/// ```
/// macro_rules! names {
///     ($($operator:ident $name:ident;)*) => { [$(stringify!($name)),*] };
/// }
/// assert_eq!(warpfold_kernels::for_each_operator!(names)[0], "sum");
/// ```
#[macro_export]
macro_rules! for_each_operator {
    ($callback:ident $(($($first:tt)*))?) => {
        $callback! { $($($first)*)?
            Sum sum;
            Product product;
            Min min;
            Max max;
        }
    };
}
