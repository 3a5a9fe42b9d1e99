//! The operators and the types, in lists that macros take: one row for each, so that kernels, hosts and commands have the same ones.

/// Calls a macro with a row for each operator over single values: its name in entries and commands, its type and its value.
///
/// `for_each_operator!(rows, of f32)` becomes `rows! { of f32; sum: Sum = Sum; product: Product = Product; … }`: the tokens after the
/// macro's name come before the rows. The names of types are those of [`operator`](mod@crate::operator).
#[macro_export]
macro_rules! for_each_operator {
    ($callback:path $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            sum: Sum = Sum;
            product: Product = Product;
            min: Min = Min;
            max: Max = Max;
            minmax: MinMax = MinMax;
            argmin: ArgMin = ArgMin::FIRST;
            argmax: ArgMax = ArgMax::FIRST;
            last_argmin: ArgMin = ArgMin::LAST;
            last_argmax: ArgMax = ArgMax::LAST;
            mean: Mean = Mean;
            variance: Variance = Variance { ddof: 0 };
            std: StdDev = StdDev { ddof: 0 };
            sample_variance: Variance = Variance { ddof: 1 };
            sample_std: StdDev = StdDev { ddof: 1 };
            norm1: Norm1 = Norm1;
            norm2: Norm2 = Norm2;
            norm_inf: NormInf = NormInf;
            logsumexp: LogSumExp = LogSumExp;
            any: Any = Any;
            all: All = All;
            count_nonzero: CountNonzero = CountNonzero;
        }
    };
}

/// Calls a macro with a row for each operator whose result is an index of 32 bits, as [`for_each_operator!`](crate::for_each_operator!), which has
/// them with 64.
#[macro_export]
macro_rules! for_each_short_index {
    ($callback:path $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            argmin_u32: ArgMin<u32> = ArgMin::FIRST.with_index::<u32>();
            argmax_u32: ArgMax<u32> = ArgMax::FIRST.with_index::<u32>();
            last_argmin_u32: ArgMin<u32> = ArgMin::LAST.with_index::<u32>();
            last_argmax_u32: ArgMax<u32> = ArgMax::LAST.with_index::<u32>();
        }
    };
}

/// Calls a macro with a row for each operator that the library scans by, as [`for_each_operator!`](crate::for_each_operator!).
#[macro_export]
macro_rules! for_each_scan {
    ($callback:path $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            sum: Sum = Sum;
            product: Product = Product;
            min: Min = Min;
            max: Max = Max;
        }
    };
}

/// Calls a macro with a row for each type: its name in entries and commands, and the type. `Bool`, `F16` and `Bf16` are those of
/// [`half`](crate::half). Tokens after the macro's name come before the rows, as in [`for_each_operator!`](crate::for_each_operator!).
#[macro_export]
macro_rules! for_each_element {
    ($callback:path $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            bool: Bool;
            i8: i8;
            u8: u8;
            i16: i16;
            u16: u16;
            f16: F16;
            bf16: Bf16;
            i32: i32;
            u32: u32;
            f32: f32;
            i64: i64;
            u64: u64;
            f64: f64;
        }
    };
}

/// Calls a macro with a row for each type and an accumulator of 64 bits that the library also has kernels for: the name of the pair in
/// entries, as a literal too, the type, and the accumulator. Integers and floats come apart, because integers are added and multiplied in
/// theirs, and floats also averaged and so on.
///
/// `for_each_accumulator!(rows)` becomes `rows! { integers { "i8_i64" i8_i64: i8 in i64; … } floats { "f32_f64" f32_f64: f32 in f64; … } }`;
/// tokens after the macro's name come before.
#[macro_export]
macro_rules! for_each_accumulator {
    ($callback:path $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            integers {
                "bool_u64" bool_u64: Bool in u64;
                "i8_i64" i8_i64: i8 in i64;
                "u8_u64" u8_u64: u8 in u64;
                "i16_i64" i16_i64: i16 in i64;
                "u16_u64" u16_u64: u16 in u64;
                "i32_i64" i32_i64: i32 in i64;
                "u32_u64" u32_u64: u32 in u64;
            }
            floats {
                "f16_f64" f16_f64: F16 in f64;
                "bf16_f64" bf16_f64: Bf16 in f64;
                "f32_f64" f32_f64: f32 in f64;
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::half::{Bf16, Bool, F16};
    use crate::operator::*;
    use std::collections::HashSet;
    use std::vec::Vec;

    macro_rules! each_of_one_value {
        ($value:ty, $names:ident; $($name:ident: $operator:ty = $make:expr;)*) => {$(
            $names.push(stringify!($name));
            let operator: $operator = $make;
            let _ = operator.of([<$value>::default()]);
        )*};
    }

    macro_rules! each_type {
        ($($name:ident: $value:ty;)*) => {$(
            let mut names = Vec::new();
            for_each_operator!(each_of_one_value, $value, names);
            for_each_short_index!(each_of_one_value, $value, names);
            let different: HashSet<_> = names.iter().collect();
            assert_eq!(different.len(), names.len());
            assert_eq!(stringify!($name), stringify!($value).to_lowercase());
        )*};
    }

    #[test]
    fn every_operator_takes_every_type() {
        for_each_element!(each_type);
    }
}
