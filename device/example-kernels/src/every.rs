//! Every operator over an array of every type.

use warpfold_device::block;
use warpfold_device::grid::finish_by_ticket;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;
use warpfold_device::scratch;
use warpfold_device::vector::{Share, fold};

use cuda_std::kernel;
use pastey::paste;

/// Calls a macro with a row for each operator that every type has in the committed PTX: its name in entries, its type and its value.
/// Tokens after the macro's name are passed before the rows, as in the following macros.
#[macro_export]
macro_rules! for_few_operators {
    ($callback:ident $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            sum: Sum = Sum;
            max: Max = Max;
            first_argmin: ArgMin<u32> = ArgMin::FIRST.with_index::<u32>();
            mean: Mean = Mean;
            any: Any = Any;
        }
    };
}

/// As [`for_few_operators!`], with the others.
#[macro_export]
macro_rules! for_other_operators {
    ($callback:ident $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            product: Product = Product;
            min: Min = Min;
            minmax: MinMax = MinMax;
            last_argmin: ArgMin = ArgMin::LAST;
            first_argmax: ArgMax = ArgMax::FIRST;
            last_argmax: ArgMax<u32> = ArgMax::LAST.with_index::<u32>();
            variance: Variance = Variance { ddof: 0 };
            std_dev: StdDev = StdDev { ddof: 1 };
            norm_1: Norm1 = Norm1;
            norm_2: Norm2 = Norm2;
            norm_inf: NormInf = NormInf;
            log_sum_exp: LogSumExp = LogSumExp;
            all: All = All;
            count_nonzero: CountNonzero = CountNonzero;
        }
    };
}

/// Calls a macro with each type that has every operator in the committed PTX.
#[macro_export]
macro_rules! for_few_types {
    ($callback:ident, $($first:tt)*) => {
        $callback! { $($first)*; i32 f32 }
    };
}

/// As [`for_few_types!`], with the others.
#[macro_export]
macro_rules! for_other_types {
    ($callback:ident, $($first:tt)*) => {
        $callback! { $($first)*; i8 u8 i16 u16 u32 i64 u64 F16 Bf16 f64 Bool }
    };
}

/// Calls a macro with a row for each of a few more: with another accumulator than the usual one, or in `f64`, which has other instructions.
#[macro_export]
macro_rules! for_each_more {
    ($callback:ident $(, $($first:tt)*)?) => {
        $callback! { $($($first)*;)?
            more_min f64: Min = Min;
            more_last_argmax f64: ArgMax = ArgMax::LAST;
            more_std_dev f64: StdDev = StdDev { ddof: 1 };
            more_norm_inf f64: NormInf = NormInf;
            more_log_sum_exp f64: LogSumExp = LogSumExp;
            sum_in_i64 i32: As<i64, Sum> = As::new(Sum);
            sum_in_u64 u8: As<u64, Sum> = As::new(Sum);
            mean_in_f64 f32: As<f64, Mean> = As::new(Mean);
            variance_in_f64 F16: As<f64, Variance> = As::new(Variance { ddof: 0 });
        }
    };
}

/// The same as [`warpfold_device::reduce::array`] with one load at a time, which makes the kernels short; of an array, or of pairs.
///
/// # Safety
/// As there.
macro_rules! body {
    ($operator:ty, $item:ty, $make:expr, $fold:expr, $n:expr, $states:expr, $counter:expr, $result:expr) => {{
        let operator: $operator = $make;
        let scratch = scratch!(scratch: <$operator as Operator<$item>>::State, 1024);
        let of_block = block::reduce(operator, $fold, scratch);
        let total = finish_by_ticket(operator, of_block, $states, $counter, scratch);
        if let Some(state) = total {
            *$result = Operator::<$item>::finish(operator, state, $n as u64);
        }
    }};
}

macro_rules! entry {
    ($name:ident, $operator:ty, $make:expr, $value:ident) => {
        #[doc = concat!("The operator `", stringify!($operator), "` over `", stringify!($value), "` values.")]
        ///
        /// # Safety
        /// As for the entries of [`warpfold_device::reductions!`] over arrays, but `states` points to one state per block.
        #[kernel]
        pub unsafe fn $name(
            input: *const $value,
            n: usize,
            states: *mut <$operator as Operator<$value>>::State,
            counter: *mut u32,
            result: *mut <$operator as Operator<$value>>::Output,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                body!(
                    $operator, $value, $make,
                    fold::<1, $value, $operator>($make, input, n, 0, Share::of_grid()),
                    n, states, counter, result
                );
            }
        }
    };
}

macro_rules! operators {
    ($types:ident; $($name:ident: $operator:ty = $make:expr;)*) => {$(
        $types! { entries, $name, $operator, $make }
    )*};
}

macro_rules! entries {
    ($name:ident, $operator:ty, $make:expr; $($value:ident)*) => {$(
        paste! { entry! { [<$name _ $value:lower>], $operator, $make, $value } }
    )*};
}

/// What is committed: every operator and every type, but not each with each.
#[cfg(any(not(target_arch = "nvptx64"), feature = "every"))]
pub mod sample {
    use super::*;
    use warpfold_device::vector::fold_pairs;

    macro_rules! more {
        ($($name:ident $value:ident: $operator:ty = $make:expr;)*) => {$(
            paste! { entry! { [<$name _ $value:lower>], $operator, $make, $value } }
        )*};
    }

    macro_rules! dots {
        (; $($value:ident)*) => {$( paste! {
            #[doc = concat!("The dot product of two vectors of `", stringify!($value), "`.")]
            ///
            /// # Safety
            /// As for the other entries; `left` and `right` point to `n` values each.
            #[kernel]
            pub unsafe fn [<dot_ $value:lower>](
                left: *const $value,
                right: *const $value,
                n: usize,
                states: *mut <Dot as Operator<($value, $value)>>::State,
                counter: *mut u32,
                result: *mut <Dot as Operator<($value, $value)>>::Output,
            ) {
                // SAFETY: the caller's promise.
                unsafe {
                    body!(
                        Dot, ($value, $value), Dot,
                        fold_pairs::<1, $value, Dot>(Dot, [left, right], n, 0, Share::of_grid()),
                        n, states, counter, result
                    );
                }
            }
        } )*};
    }

    for_few_operators! { operators, for_few_types }
    for_other_operators! { operators, for_few_types }
    for_few_operators! { operators, for_other_types }
    for_each_more! { more }
    for_few_types! { dots, }
    for_other_types! { dots, }
}

/// The rest, which is large.
#[cfg(any(not(target_arch = "nvptx64"), feature = "rest"))]
pub mod rest {
    use super::*;

    for_other_operators! { operators, for_other_types }
}
