//! Reductions of columns and segments, of operators and types of every kind; and scans, runs and pairs.

use warpfold_device::half::Bf16;
use warpfold_device::operator::*;

/// The sum, a half of it and a quarter: a large result of the smallest values.
#[derive(Clone, Copy)]
pub struct Parts;

impl Combine<i32> for Parts {
    fn identity(self) -> i32 {
        0
    }
    fn combine(self, left: i32, right: i32) -> i32 {
        left + right
    }
}

impl Operator<i8> for Parts {
    type State = i32;
    type Output = [f64; 3];
    fn lift(self, value: i8, _index: u64) -> i32 {
        value.into()
    }
    fn finish(self, sum: i32, _count: u64) -> [f64; 3] {
        let sum = f64::from(sum);
        [sum, sum / 2.0, sum / 4.0]
    }
}

/// Calls a macro with a row for each operator that is tested: the kernels' name, the operator, its value, and the type.
#[macro_export]
macro_rules! for_each_shaped {
    ($callback:path) => {
        $callback! {
            /// The sum.
            sum_f32: Sum = Sum, f32;
            /// Where the greatest value is.
            argmax_f32: ArgMax = ArgMax::FIRST, f32;
            /// The variance of a sample.
            variance_f32: Variance = Variance { ddof: 1 }, f32;
            /// The sum in 32 bits.
            sum_i8: Sum = Sum, i8;
            /// The variance in `f64`, the largest state for the smallest values.
            variance_i8: Variance = Variance { ddof: 0 }, i8;
            /// The greatest value.
            max_bf16: Max = Max, Bf16;
            /// The logarithm of the sum of exponentials.
            log_sum_exp_f64: LogSumExp = LogSumExp, f64;
            /// The sum of bytes and parts of it, 24 times as large as a value.
            parts_i8: Parts = Parts, i8;
        }
    };
}

for_each_shaped! { warpfold_device::column_reductions }
for_each_shaped! { warpfold_device::segment_reductions }

warpfold_device::fixed_reductions! {
    /// The sum, in the fixed order.
    sum_f32: Sum = Sum, f32;
    /// The variance of a sample, in the fixed order.
    variance_f32: Variance = Variance { ddof: 1 }, f32;
}

warpfold_device::pair_reductions! {
    /// The sum of the products.
    dot_f32: Dot = Dot, f32;
}

warpfold_device::scans! {
    /// Running sums.
    sum_f32: Sum = Sum, f32;
    /// Running sums in 32 bits.
    sum_i8: Sum = Sum, i8;
    /// Running maxima in `f64`.
    max_f64: Max = Max, f64;
}

warpfold_device::runs! {
    /// Runs of equal keys.
    runs_u32: u32;
}
