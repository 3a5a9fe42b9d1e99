//! Every operator over every type, against loops in exact integers and in `f64`.
//!
//! The committed PTX has every operator and every type. `cargo test -p warpfold-example-kernels -- --ignored` compiles the rest and tests
//! each with each.

mod launch;

use launch::{Given, Machine, Random, Watched, machines, values_of};
use std::cmp::Ordering;
use std::fmt::Debug;
use warpfold_device::element::Element;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;
use warpfold_example_kernels::{
    for_each_more, for_few_operators, for_few_types, for_other_operators, for_other_types,
};

const PTX: &str = include_str!("../ptx/every.sm_80.ptx");

/// What the values are like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Any integers; floats of either sign around 1, so that no product overflows.
    Ordinary,
    /// A few different ones, of floats with both zeros.
    Ties,
    /// The first value repeated, and one 0 or NaN somewhere, or an infinity.
    Special,
}

/// A type as the oracle sees it.
trait Sample: HasSpread + Element<Wide: Outcome, Real: Outcome> + Debug {
    /// A value of this kind.
    fn sample(kind: Kind, word: u64) -> Self;
    /// The number itself, if it is an integer.
    fn integer(self) -> Option<i128>;
    /// The nearest float.
    fn float(self) -> f64;
}

macro_rules! integers {
    ($($value:ty: |$bits:ident| $made:expr, |$it:ident| $integer:expr;)*) => {$(
        impl Sample for $value {
            fn sample(kind: Kind, word: u64) -> Self {
                let $bits = match kind {
                    Kind::Ordinary => word,
                    Kind::Ties => word % 3,
                    Kind::Special => u64::from(word % 500 != 0) * 5,
                };
                $made
            }
            fn integer(self) -> Option<i128> {
                let $it = self;
                Some($integer as i128)
            }
            fn float(self) -> f64 {
                let $it = self;
                $integer as f64
            }
        }
    )*};
}

integers! {
    i8: |bits| bits as i8, |it| it;
    u8: |bits| bits as u8, |it| it;
    i16: |bits| bits as i16, |it| it;
    u16: |bits| bits as u16, |it| it;
    i32: |bits| bits as i32, |it| it;
    u32: |bits| bits as u32, |it| it;
    i64: |bits| bits as i64, |it| it;
    u64: |bits| bits, |it| it;
    Bool: |bits| Bool((bits % 256) as u8), |it| u32::from(it);
}

macro_rules! floats {
    ($($value:ty: $from:expr;)*) => {$(
        impl Sample for $value {
            fn sample(kind: Kind, word: u64) -> Self {
                let sign = if word >> 40 & 1 == 1 { -1.0 } else { 1.0 };
                let value = match kind {
                    Kind::Ordinary => sign * (1.0 + (word % 64) as f32 / 2048.0),
                    Kind::Ties => sign * [0.0, 2.0, 3.5][(word % 3) as usize],
                    Kind::Special => match word % 1000 {
                        0 => f32::NAN,
                        1 => f32::INFINITY * sign,
                        _ => 1.0,
                    },
                };
                ($from)(value)
            }
            fn integer(self) -> Option<i128> {
                None
            }
            fn float(self) -> f64 {
                self.into()
            }
        }
    )*};
}

floats! {
    F16: F16::from_f32;
    Bf16: Bf16::from_f32;
    f32: |value| value;
    f64: f64::from;
}

/// A result.
trait Outcome: Copy + Debug {
    fn number(self) -> f64;
    /// What an exact integer becomes in this type, if it is one of integers.
    fn wrapped(_: i128) -> Option<Self> {
        None
    }
}

macro_rules! outcomes {
    ($($value:ty: |$it:ident| $number:expr $(, |$exact:ident| $wrapped:expr)?;)*) => {$(
        impl Outcome for $value {
            fn number(self) -> f64 {
                let $it = self;
                $number
            }
            $(fn wrapped($exact: i128) -> Option<Self> {
                Some($wrapped)
            })?
        }
    )*};
}

outcomes! {
    i32: |it| it.into(), |exact| exact as i32;
    u32: |it| it.into(), |exact| exact as u32;
    i64: |it| it as f64, |exact| exact as i64;
    u64: |it| it as f64, |exact| exact as u64;
    f32: |it| it.into();
    f64: |it| it;
}

/// The relative rounding of a float type, by the accumulator it is computed in.
fn epsilon<T>() -> f64 {
    if size_of::<T>() == 4 {
        f32::EPSILON.into()
    } else {
        f64::EPSILON
    }
}

/// Equal, both NaN, or no further apart than this.
fn close(found: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    let is_right = found == expected
        || found.is_nan() && expected.is_nan()
        || (found - expected).abs() <= tolerance;
    is_right.then_some(()).ok_or_else(|| {
        format!("{found:e}, which should be {expected:e}, give or take {tolerance:e}")
    })
}

fn same<T: PartialEq + Debug>(found: T, expected: T) -> Result<(), String> {
    (found == expected)
        .then_some(())
        .ok_or_else(|| format!("{found:?}, which should be {expected:?}"))
}

/// The judge of an operator's results.
trait Judge<T>: Operator<T> {
    /// What is wrong with the result of these values.
    fn judge(self, values: &[T], found: Self::Output) -> Result<(), String>;
}

macro_rules! judge {
    ($($operator:ty, |$self:ident, $values:ident, $found:ident| $judged:expr;)*) => {$(
        impl<T: Sample> Judge<T> for $operator {
            fn judge($self, $values: &[T], $found: Self::Output) -> Result<(), String> {
                $judged
            }
        }
    )*};
}

/// The sum of some numbers, in `f64`, and of their magnitudes.
fn sums(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((0.0, 0.0), |(sum, size), number| {
        (sum + number, size + number.abs())
    })
}

fn judge_sum<A: Outcome>(
    integers: Vec<Option<i128>>,
    floats: Vec<f64>,
    found: A,
) -> Result<(), String> {
    let exact = integers.iter().flatten().sum();
    if let Some(expected) = A::wrapped(exact) {
        return same(found.number(), expected.number());
    }
    let (sum, size) = sums(floats.into_iter());
    // A value goes through all additions of a thread, and the trees.
    close(
        found.number(),
        sum,
        epsilon::<A>() * size * integers.len().max(1) as f64,
    )
}

/// The moments of some values in two passes.
fn deviations<T: Sample>(values: &[T]) -> (f64, f64) {
    let mean = sums(values.iter().map(|value| value.float())).0 / values.len() as f64;
    let squares = values.iter().map(|value| (value.float() - mean).powi(2));
    (mean, squares.sum())
}

fn judge_variance<T: Sample, R: Outcome>(
    values: &[T],
    ddof: usize,
    found: R,
    root: bool,
) -> Result<(), String> {
    let (mean, squares) = deviations(values);
    let variance = squares / values.len().saturating_sub(ddof) as f64;
    let tolerance = epsilon::<R>()
        * (50 + values.len()) as f64
        * (variance + (mean * mean).min(variance.sqrt() * mean.abs()));
    let expected = if root { variance.sqrt() } else { variance };
    let tolerance = if root {
        tolerance / variance.sqrt()
    } else {
        tolerance
    };
    close(found.number(), expected, tolerance)
}

/// The order of values: NaN last of all, −0.0 and 0.0 as `zeros` says.
fn order<T: Sample>(a: T, b: T, zeros: Ordering) -> Ordering {
    match (a.integer(), b.integer()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.float(), b.float());
            a.partial_cmp(&b)
                .map(|order| {
                    let signs = b.is_sign_negative().cmp(&a.is_sign_negative());
                    order.then(if zeros == Ordering::Equal {
                        zeros
                    } else {
                        signs
                    })
                })
                .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    }
}

/// The least or the greatest value as the operators have it: `None` if one is NaN, or there is none.
fn extreme<T: Sample>(values: &[T], least: bool) -> Option<T> {
    if values.iter().any(|value| value.float().is_nan()) {
        return None;
    }
    let compare = |a: &T, b: &T| order(*a, *b, Ordering::Less);
    let mut values = values.iter().copied();
    if least {
        values.by_ref().min_by(compare)
    } else {
        values.by_ref().max_by(compare)
    }
}

fn judge_extreme<T: Sample>(values: &[T], least: bool, found: T) -> Result<(), String> {
    match extreme(values, least) {
        Some(expected) => {
            let signs = (
                found.float().is_sign_negative(),
                expected.float().is_sign_negative(),
            );
            same(
                (found.integer(), found.float(), signs.0),
                (expected.integer(), expected.float(), signs.1),
            )
        }
        // Of no values it is the other extreme of the type, which no other value is beyond.
        None if values.is_empty() => {
            let beyond = Random(1)
                .take(100)
                .map(|word| T::sample(Kind::Ordinary, word));
            let mut wrong = beyond.filter(|&other| {
                order(found, other, Ordering::Less)
                    == if least {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
            });
            wrong.next().map_or(Ok(()), |other| {
                Err(format!("{found:?} of no values, and there is {other:?}"))
            })
        }
        None => found
            .float()
            .is_nan()
            .then_some(())
            .ok_or_else(|| format!("{found:?} in spite of a NaN")),
    }
}

/// Where the extreme value is, as NumPy has it: of a NaN, if there is one; −0.0 is 0.0.
fn judge_index<T: Sample>(
    values: &[T],
    least: bool,
    first: bool,
    found: u64,
    none: u64,
) -> Result<(), String> {
    let is_better = |new: T, old: T| {
        let (new_is_nan, old_is_nan) = (new.float().is_nan(), old.float().is_nan());
        if new_is_nan || old_is_nan {
            return if new_is_nan == old_is_nan {
                Ordering::Equal
            } else {
                new_is_nan.cmp(&old_is_nan)
            };
        }
        let order = order(new, old, Ordering::Equal);
        if least { order.reverse() } else { order }
    };
    let mut best = None;
    for (index, &value) in values.iter().enumerate() {
        let takes_over = best.is_none_or(|old: usize| match is_better(value, values[old]) {
            Ordering::Greater => true,
            Ordering::Equal => !first,
            Ordering::Less => false,
        });
        if takes_over {
            best = Some(index);
        }
    }
    same(found, best.map_or(none, |index| index as u64))
}

fn judge_log_sum_exp<T: Sample, R: Outcome>(values: &[T], found: R) -> Result<(), String> {
    let numbers = || values.iter().map(|value| value.float());
    if numbers().any(f64::is_nan) {
        return close(found.number(), f64::NAN, 0.0);
    }
    let max = numbers().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = numbers()
        .map(|number| {
            if number == max {
                1.0
            } else {
                (number - max).exp()
            }
        })
        .sum();
    let expected = if max.is_infinite() {
        max
    } else {
        max + sum.ln()
    };
    // The sum may be off by as many roundings as a thread has values, the logarithm makes that an absolute error.
    close(
        found.number(),
        expected,
        epsilon::<R>() * (expected.abs() + values.len() as f64),
    )
}

judge! {
    Sum, |self, values, found| judge_sum(integers(values), floats(values), found);
    Product, |self, values, found| {
        let exact = integers(values).into_iter().flatten().fold(1_i128, |a, b| a.wrapping_mul(b));
        match T::Wide::wrapped(exact) {
            Some(expected) => same(found.number(), expected.number()),
            None => {
                let product: f64 = floats(values).into_iter().product();
                close(found.number(), product, product.abs() * epsilon::<T::Wide>() * values.len() as f64)
            }
        }
    };
    Min, |self, values, found| judge_extreme(values, true, found);
    Max, |self, values, found| judge_extreme(values, false, found);
    MinMax, |self, values, found| {
        judge_extreme(values, true, found.min).and_then(|()| judge_extreme(values, false, found.max))
    };
    ArgMin<u32>, |self, values, found| judge_index(values, true, true, found.into(), u32::MAX.into());
    ArgMax<u32>, |self, values, found| judge_index(values, false, false, found.into(), u32::MAX.into());
    Mean, |self, values, found| {
        let (sum, size) = sums(values.iter().map(|value| value.float()));
        let n = values.len() as f64;
        close(found.number(), sum / n, epsilon::<T::Real>() * size)
    };
    Variance, |self, values, found| judge_variance(values, self.ddof as usize, found, false);
    StdDev, |self, values, found| judge_variance(values, self.ddof as usize, found, true);
    Norm1, |self, values, found| {
        let (_, size) = sums(values.iter().map(|value| value.float()));
        close(found.number(), size, epsilon::<T::Real>() * size * values.len() as f64)
    };
    Norm2, |self, values, found| {
        let (squares, _) = sums(values.iter().map(|value| value.float().powi(2)));
        close(found.number(), squares.sqrt(), epsilon::<T::Real>() * squares.sqrt() * values.len() as f64)
    };
    NormInf, |self, values, found| {
        let largest = values.iter().fold(0.0, |largest: f64, value| {
            let size = value.float().abs();
            if size.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(size) }
        });
        close(found.number(), largest, 0.0)
    };
    LogSumExp, |self, values, found| judge_log_sum_exp(values, found);
    Any, |self, values, found| same(found, values.iter().any(|value| value.float() != 0.0).into());
    All, |self, values, found| same(found, values.iter().all(|value| value.float() != 0.0).into());
    CountNonzero, |self, values, found| {
        same(found, values.iter().filter(|value| value.float() != 0.0).count() as u64)
    };
}

/// The two that have other ties than their namesakes with indices of 32 bits.
impl<T: Sample> Judge<T> for ArgMin {
    fn judge(self, values: &[T], found: u64) -> Result<(), String> {
        judge_index(values, true, false, found, u64::MAX)
    }
}

/// Both: which one is launched says the name of the kernel, and what it means the first of equal values of a test.
impl<T: Sample> Judge<T> for ArgMax {
    fn judge(self, values: &[T], found: u64) -> Result<(), String> {
        let first = self.combine(
            Best {
                index: 1_u64,
                value: 0_i32,
            },
            Best { index: 2, value: 0 },
        );
        judge_index(values, false, first.index == 1, found, u64::MAX)
    }
}

impl Judge<i32> for As<i64, Sum> {
    fn judge(self, values: &[i32], found: i64) -> Result<(), String> {
        judge_sum(integers(values), floats(values), found)
    }
}

impl Judge<u8> for As<u64, Sum> {
    fn judge(self, values: &[u8], found: u64) -> Result<(), String> {
        judge_sum(integers(values), floats(values), found)
    }
}

impl Judge<f32> for As<f64, Mean> {
    fn judge(self, values: &[f32], found: f64) -> Result<(), String> {
        let wide: Vec<f64> = values.iter().map(|&value| value.into()).collect();
        Mean.judge(&wide, found)
    }
}

impl Judge<F16> for As<f64, Variance> {
    fn judge(self, values: &[F16], found: f64) -> Result<(), String> {
        judge_variance(values, 0, found, false)
    }
}

fn integers<T: Sample>(values: &[T]) -> Vec<Option<i128>> {
    values.iter().map(|value| value.integer()).collect()
}

fn floats<T: Sample>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.float()).collect()
}

/// Lengths around those of vectors and warps.
const LENGTHS: [usize; 9] = [0, 1, 2, 15, 33, 100, 257, 1000, 4099];
/// Blocks and their threads.
const SHAPES: [(u32, u32); 7] = [
    (1, 1),
    (2, 33),
    (4, 64),
    (3, 100),
    (1, 512),
    (2, 999),
    (5, 7),
];
const KINDS: [Kind; 3] = [Kind::Ordinary, Kind::Ties, Kind::Special];

fn values<T: Sample>(kind: Kind, n: usize) -> Vec<T> {
    Random(n as u64)
        .take(n)
        .map(|word| T::sample(kind, word))
        .collect()
}

fn given<T: Sample, O: Operator<T>>(values: &[T], places: usize, shape: (u32, u32)) -> [Given; 5] {
    [
        Given::shifted(values, places),
        Given::count(values.len()),
        Given::room::<O::State>(shape.0 as usize),
        Given::values(&[0_u32]),
        Given::room::<O::Output>(1),
    ]
}

/// Launches a kernel over all lengths in some of the shapes, from several places on, and has its results judged.
fn check<T: Sample, O: Judge<T>>(machines: &[Machine], entry: &str, operator: O) {
    for machine in machines {
        for (step, &n) in LENGTHS.iter().enumerate() {
            for (turn, kind) in KINDS.into_iter().enumerate() {
                let values = values::<T>(kind, n);
                let shape = SHAPES[(2 * step + 3 * turn) % SHAPES.len()];
                let places = (3 * step + turn) % 5;
                // Twice, because a launch leaves the counter to the next.
                let left = machine.launch(entry, shape, &given::<T, O>(&values, places, shape), 2);
                let found = values_of::<O::Output>(&left[4])[0];
                if let Err(mistake) = operator.judge(&values, found) {
                    panic!(
                        "{entry}, {n} values from place {places} on, {kind:?}, {shape:?}: {mistake}"
                    );
                }
            }
        }
    }
}

macro_rules! each_operator {
    ($machines:ident, $types:ident; $($name:ident: $operator:ty = $make:expr;)*) => {$(
        $types! { each_type, $machines, $name, $operator, $make }
    )*};
}

macro_rules! each_type {
    ($machines:ident, $name:ident, $operator:ty, $make:expr; $($value:ident)*) => {$(
        let entry = format!("{}_{}", stringify!($name), stringify!($value).to_lowercase());
        check::<$value, $operator>(&$machines, &entry, $make);
    )*};
}

macro_rules! each_more {
    ($machines:ident; $($name:ident $value:ident: $operator:ty = $make:expr;)*) => {$(
        let entry = format!("{}_{}", stringify!($name), stringify!($value).to_lowercase());
        check::<$value, $operator>(&$machines, &entry, $make);
    )*};
}

#[test]
fn few_operators_of_all_types() {
    let machines = machines(PTX, 80);
    for_few_operators! { each_operator, machines, for_few_types }
    for_few_operators! { each_operator, machines, for_other_types }
}

#[test]
fn all_operators_of_few_types() {
    let machines = machines(PTX, 80);
    for_other_operators! { each_operator, machines, for_few_types }
}

#[test]
fn other_accumulators() {
    let machines = machines(PTX, 80);
    for_each_more! { each_more, machines }
}

#[test]
#[ignore = "compiles the 160 kernels that are not committed"]
fn every_operator_of_all_other_types() {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    let ptx = cuda_builder::CudaBuilder::new(env!("CARGO_MANIFEST_DIR"))
        .build_args(&["--no-default-features", "--features", "rest"])
        .arch(cuda_builder::NvvmArch::Compute80)
        .copy_to(folder.path().join("rest.ptx"))
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let ptx = std::fs::read_to_string(ptx).expect("it was written");
    let machines = machines(&ptx, 80);
    for_other_operators! { each_operator, machines, for_other_types }
}

macro_rules! dots {
    ($machines:ident; $($value:ident)*) => {$(
        let entry = format!("dot_{}", stringify!($value).to_lowercase());
        for machine in &$machines {
            // As far from a multiple of 16 bytes as each other, and not.
            for (n, places, shape) in [(0, [0, 0], (1, 32)), (1, [1, 1], (2, 33)), (999, [3, 3], (3, 64)), (1000, [0, 1], (2, 100)), (4099, [2, 2], (2, 256))] {
                let (left, right) = (values::<$value>(Kind::Ordinary, n), values::<$value>(Kind::Ties, n));
                let [a, n_given, states, counter, result] = given::<$value, Sum>(&left, places[0], shape);
                let arguments = [a, Given::shifted(&right, places[1]), n_given, states, counter, result];
                let found = machine.launch(&entry, shape, &arguments, 2);
                let pairs = left.iter().zip(&right);
                let exact = pairs.clone().map(|(a, b)| Some(a.integer()?.wrapping_mul(b.integer()?))).collect();
                let products = pairs.map(|(a, b)| a.float() * b.float()).collect();
                let judged = judge_sum(exact, products, values_of::<<$value as Element>::Wide>(&found[5])[0]);
                assert_eq!(judged, Ok(()), "{entry}, {n} pairs");
            }
        }
    )*};
}

#[test]
fn dots() {
    let machines = machines(PTX, 80);
    for_few_types! { dots, machines }
    for_other_types! { dots, machines }
}

macro_rules! each_is_clean {
    ($($name:ident: $operator:ty = $make:expr;)*) => {$({
        let values = values::<f32>(Kind::Special, 1000);
        let entry = concat!(stringify!($name), "_f32");
        Watched::new(PTX, entry, (3, 40), &given::<f32, $operator>(&values, 1, (3, 40))).is_clean();
    })*};
}

#[test]
fn every_operator_is_clean() {
    for_few_operators! { each_is_clean }
    for_other_operators! { each_is_clean }
}
