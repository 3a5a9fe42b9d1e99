//! The laws of the operators, with all that floats may be.

use std::fmt::Debug;

use proptest::prelude::*;
use warpfold_device::element::Element;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;

/// Parts of a state that can be compared: numbers, each with its sign.
trait Parts: Copy + Debug {
    fn parts(self) -> Vec<f64>;
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Parts for $number {
            fn parts(self) -> Vec<f64> {
                vec![self as f64]
            }
        }
    )*};
}

numbers! { i32 u32 i64 u64 f32 f64 }

impl<N: Parts> Parts for Extremes<N> {
    fn parts(self) -> Vec<f64> {
        [self.min.parts(), self.max.parts()].concat()
    }
}

impl<N: Parts> Parts for Best<N> {
    fn parts(self) -> Vec<f64> {
        [self.index.parts(), self.value.parts()].concat()
    }
}

impl<N: Parts> Parts for Moments<N> {
    fn parts(self) -> Vec<f64> {
        [self.count.parts(), self.mean.parts(), self.squares.parts()].concat()
    }
}

impl Parts for PowerSums {
    fn parts(self) -> Vec<f64> {
        [(self.sum as i64).parts(), self.squares.parts()].concat()
    }
}

impl<N: Parts> Parts for Scaled<N> {
    fn parts(self) -> Vec<f64> {
        [self.max.parts(), self.sum.parts()].concat()
    }
}

/// The same bits, or both NaN.
#[track_caller]
fn same(left: impl Parts, right: impl Parts, law: &str) {
    let bits = |parts: Vec<f64>| -> Vec<u64> {
        let canonical = |part: f64| if part.is_nan() { f64::NAN } else { part };
        parts
            .into_iter()
            .map(|part| canonical(part).to_bits())
            .collect()
    };
    let (a, b) = (left.parts(), right.parts());
    // A state of which a part is NaN gives NaN, whatever the others are.
    let both_nan = |a: &[f64], b: &[f64]| {
        a.iter().any(|part| part.is_nan()) && b.iter().any(|part| part.is_nan())
    };
    assert!(
        bits(a.clone()) == bits(b.clone()) || both_nan(&a, &b),
        "{law}: {left:?} and {right:?}"
    );
}

/// As [`same`], up to a difference relative to the greatest of the values, whose sum may be as small as can be, or of the results; where one
/// has overflowed, the other may be NaN.
#[track_caller]
fn near(left: impl Parts, right: impl Parts, (tolerance, greatest): (f64, f64), law: &str) {
    for (a, b) in left.parts().into_iter().zip(right.parts()) {
        let is_near = (a - b).abs() <= tolerance * (1.0 + greatest.max(a.abs()).max(b.abs()));
        let overflown = |x: f64| !x.is_finite() || x.abs() > 1e30;
        assert!(
            is_near || a == b || overflown(a) && overflown(b),
            "{law}: {left:?} and {right:?}"
        );
    }
}

/// Whether all parts are equal, among them both zeros, or both NaN.
fn are_alike(left: &[f64], right: &[f64]) -> bool {
    (left.iter().zip(right)).all(|(one, other)| one == other || one.is_nan() && other.is_nan())
}

/// The laws for three states that come from values.
#[track_caller]
fn obeys<T: Copy + Debug, O: Operator<T, State: Parts> + Debug>(
    operator: O,
    values: [T; 6],
    tolerance: f64,
) {
    let lift = |index: usize| operator.lift(values[index], index as u64 + 3);
    // One is of a value, one of two, one of three.
    let a = lift(0);
    let b = operator.combine(lift(1), lift(2));
    let c = operator.lift_all([values[3], values[4], values[5]], 6);
    let identity = operator.identity();
    let law = |law: &str| format!("{law} of {operator:?} over {values:?}");
    let parts = (0..6).flat_map(|index| lift(index).parts());
    let finite = parts.map(f64::abs).filter(|part| part.is_finite());
    let tolerance = (tolerance, finite.fold(0.0, f64::max));
    for state in [a, b, c, identity] {
        same(
            operator.combine(state, identity),
            state,
            &law("a ⊕ identity = a"),
        );
        same(
            operator.combine(identity, state),
            state,
            &law("identity ⊕ a = a"),
        );
    }
    for (left, right) in [(a, b), (b, c), (a, c)] {
        let (one, other) = (operator.combine(left, right), operator.combine(right, left));
        if tolerance.0 == 0.0 {
            same(one, other, &law("a ⊕ b = b ⊕ a"));
        } else {
            near(one, other, tolerance, &law("a ⊕ b = b ⊕ a"));
        }
    }
    if O::HAS_KEYS {
        for (left, right) in [(a, b), (b, a), (a, c), (c, a), (a, identity), (identity, b)] {
            let (key, other) = (operator.key(left), operator.key(right));
            assert!(key >= operator.key(identity) && operator.key(identity) > 0);
            let by_key = operator.of_key(key.max(other)).parts();
            let combined = operator.combine(left, right).parts();
            let law = law("the greater key is a ⊕ b");
            assert!(
                are_alike(&by_key, &combined),
                "{law}: {by_key:?} and {combined:?}"
            );
        }
    }
    let left = operator.combine(operator.combine(a, b), c);
    let right = operator.combine(a, operator.combine(b, c));
    let one_by_one = (0..6).fold(identity, |state, index| {
        operator.combine(state, lift(index))
    });
    if O::VALUES_OF_SHORT > 0 {
        let empty = operator.short_identity();
        let index_of = |place| 3 + 7 * u64::from(place);
        // The last places come first, and all places have room.
        let step = (O::VALUES_OF_SHORT as usize - 1) / 5;
        let short_of = |short, indices: std::ops::Range<usize>, moved_later| {
            let short = indices.rfold(short, |short, index| {
                operator.extend_short(short, values[index], (index * step - moved_later) as u32)
            });
            operator.moved_short(short, moved_later as u32)
        };
        let nothing = operator.moved_short(short_of(empty, 0..0, 0), 5);
        let is_nothing = operator.of_short(nothing, index_of).parts();
        assert!(are_alike(&is_nothing, &identity.parts()), "{operator:?}");
        let first = operator.combine_short(short_of(empty, 0..2, 0), nothing);
        let short = operator.combine_short(short_of(empty, 2..6, 2 * step), first);
        let of_short = operator.of_short(short, index_of).parts();
        let by_one = (0..6).fold(identity, |state, index| {
            operator.combine(
                state,
                operator.lift(values[index], 3 + 7 * (index * step) as u64),
            )
        });
        let (by_one, law) = (by_one.parts(), law("short states are lift and combine"));
        assert!(
            are_alike(&of_short, &by_one),
            "{law}: {of_short:?} and {by_one:?}"
        );
    }
    let [v0, v1, v2, v3, v4, v5] = values;
    // Few vectors of few values, and enough for those that look for a place.
    let in_pairs = operator.accumulate(identity, [[v0, v1], [v2, v3], [v4, v5]], 3, 2);
    let at_last = operator.accumulate(operator.combine(a, b), [[v3], [v4], [v5]], 6, 1);
    let twice = operator.accumulate(left, [values, values], 9, 6);
    let twice_by_combine = (0..12).fold(left, |state, index| {
        let lifted = operator.lift(values[index % 6], index as u64 + 9);
        operator.combine(state, lifted)
    });
    // Two columns, of which the second begins with the second value: three values for states of none, and three more.
    let value_of = |column: usize, index: usize| values[(index + column) % 6];
    let mut columns = [identity; 2];
    for first in [0, 3] {
        operator.accumulate_columns(
            &mut columns,
            2,
            |column| {
                let values = [0, 1, 2].map(|place| value_of(column, first + place));
                (values, 5 + 2 * first as u64)
            },
            2,
        );
    }
    let [first_column, second_column] = [0, 1].map(|column| {
        (0..6).fold(identity, |state, index| {
            let lifted = operator.lift(value_of(column, index), 5 + 2 * index as u64);
            operator.combine(state, lifted)
        })
    });
    for (left, other, law_of) in [
        (left, right, "(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)"),
        (
            first_column,
            columns[0],
            "accumulate_columns is lift and combine",
        ),
        (
            second_column,
            columns[1],
            "accumulate_columns is lift and combine, of the second column",
        ),
        (left, one_by_one, "lift_all is lift and combine"),
        (left, in_pairs, "accumulate is lift and combine"),
        (
            left,
            at_last,
            "accumulate is lift and combine, after a state",
        ),
        (
            twice_by_combine,
            twice,
            "accumulate is lift and combine, of many values",
        ),
    ] {
        if tolerance.0 == 0.0 {
            same(left, other, &law(law_of));
        } else {
            near(left, other, tolerance, &law(law_of));
        }
    }
}

/// All operators over values of a type; those that round up to as much as its floats may.
#[track_caller]
fn all_obey<T>(values: [T; 6], rounding: f64)
where
    T: Element<Wide: Parts, Real: Parts> + Debug,
{
    // Sums of integers wrap around, and are exact.
    let of_accumulators = if std::any::type_name::<T::Wide>().starts_with('f') {
        rounding
    } else {
        0.0
    };
    obeys(Sum, values, of_accumulators);
    obeys(Product, values, of_accumulators);
    obeys(Min, values, 0.0);
    obeys(Max, values, 0.0);
    obeys(MinMax, values, 0.0);
    obeys(ArgMin::FIRST, values, 0.0);
    obeys(ArgMin::LAST.with_index::<u32>(), values, 0.0);
    obeys(ArgMax::FIRST.with_index::<u32>(), values, 0.0);
    obeys(ArgMax::LAST, values, 0.0);
    obeys(Mean, values, rounding);
    obeys(Norm1, values, rounding);
    obeys(Norm2, values, rounding);
    obeys(NormInf, values, 0.0);
    obeys(LogSumExp, values, rounding);
    obeys(Any, values, 0.0);
    obeys(All, values, 0.0);
    obeys(CountNonzero, values, 0.0);
}

/// Ordinary floats, and in one of three cases one with a meaning.
fn floats() -> impl Strategy<Value = [f32; 6]> {
    let special = prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(1.0),
    ];
    proptest::array::uniform6(prop_oneof![2 => -100.0_f32..100.0, 1 => special])
}

/// Small floats, of which no sum cancels so much that rounding is seen.
fn tame() -> impl Strategy<Value = [f64; 6]> {
    proptest::array::uniform6(1.0_f64..100.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn of_integers(words in proptest::array::uniform6(any::<u64>())) {
        all_obey(words.map(|word| word as i8), 1e-12);
        all_obey(words.map(|word| word as u8), 1e-12);
        all_obey(words.map(|word| word as i16), 1e-12);
        all_obey(words.map(|word| word as u16), 1e-12);
        all_obey(words.map(|word| word as i32), 1e-12);
        all_obey(words.map(|word| word as u32), 1e-12);
        all_obey(words.map(|word| word as i64), 1e-12);
        all_obey(words, 1e-12);
        all_obey(words.map(|word| Bool(word as u8 & 1)), 1e-12);
        // Ties.
        all_obey(words.map(|word| (word % 2) as i32), 1e-12);
    }

    #[test]
    fn of_floats(values in floats()) {
        // Sums of either sign may cancel to any small rest.
        all_obey(values, 1e-4);
        all_obey(values.map(f64::from), 1e-12);
        all_obey(values.map(F16::from_f32), 1e-2);
        all_obey(values.map(Bf16::from_f32), 1e-2);
    }

    #[test]
    fn of_variances(values in tame(), special in floats()) {
        obeys(Variance { ddof: 0 }, values, 1e-12);
        obeys(Variance { ddof: 0 }, values.map(|value| value as f32), 1e-5);
        obeys(StdDev { ddof: 1 }, values.map(|value| value as i16), 1e-12);
        // An infinity or NaN makes it NaN, wherever it is.
        let is_nan = Variance { ddof: 0 }.of(special).is_nan();
        prop_assert_eq!(is_nan, special.iter().any(|value| !value.is_finite()));
    }

    #[test]
    fn of_pairs(left in tame(), right in tame()) {
        let pair = |index: usize| (left[index], right[index]);
        obeys(Dot, [0, 1, 2, 3, 4, 5].map(pair), 1e-12);
        obeys(Dot, [0, 1, 2, 3, 4, 5].map(|index| (left[index] as i8, right[index] as i8)), 0.0);
    }

    #[test]
    fn of_other_accumulators(values in proptest::array::uniform6(any::<i32>())) {
        obeys(As::<i64, _>::new(Sum), values, 0.0);
        let sum: i64 = values.iter().map(|&value| i64::from(value)).sum();
        prop_assert_eq!(As::<i64, _>::new(Sum).of(values), sum);
    }

    /// Where the difference of two sums of squares would have no digit left.
    #[test]
    fn variances_with_an_offset(values in proptest::collection::vec(0.0_f64..1.0, 2..200)) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        let found = Variance { ddof: 0 }.of(values.iter().map(|value| value + 1e8));
        // What the offset takes from the values themselves: their last place is 1.5e-8 then.
        prop_assert!((found - variance).abs() <= 1e-7, "{found}, which should be {variance}");
    }
}

/// All values of 8 or 16 bits by their keys: in their order, those that are equal with the same key, and each as it was.
#[track_caller]
fn keys_are_in_order<const IS_LEAST: bool, T: Element<Wide: Into<f64>> + Debug>(
    values: impl Iterator<Item = T>,
) {
    let key_of = |value: T| value.key::<IS_LEAST>();
    let mut by_key: Vec<T> = values.collect();
    by_key.sort_by_key(|&value| key_of(value));
    for pair in by_key.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|value| value.widen().into());
        let is_before = if IS_LEAST { a > b } else { a < b };
        let is_equal = a == b || a.is_nan() && b.is_nan();
        assert!(is_before || is_equal || b.is_nan(), "{pair:?}");
        assert_eq!(is_equal, key_of(pair[0]) == key_of(pair[1]), "{pair:?}");
    }
    for value in by_key {
        let (key, below) = (key_of(value), u32::MAX >> T::KEY_BITS);
        assert_eq!(key & below as i32, 0, "{value:?}");
        let back: f64 = T::of_key::<IS_LEAST>(key | below as i32).into();
        let wide: f64 = value.widen().into();
        assert!(are_alike(&[back], &[wide]), "{value:?}");
    }
}

#[test]
fn keys_of_all_values() {
    keys_are_in_order::<false, _>((0..=u16::MAX).map(Bf16));
    keys_are_in_order::<true, _>((0..=u16::MAX).map(Bf16));
    keys_are_in_order::<false, _>((0..=u16::MAX).map(F16));
    keys_are_in_order::<true, _>((0..=u16::MAX).map(F16));
    keys_are_in_order::<false, _>(i16::MIN..=i16::MAX);
    keys_are_in_order::<true, _>(i16::MIN..=i16::MAX);
    keys_are_in_order::<false, _>(u16::MIN..=u16::MAX);
    keys_are_in_order::<true, _>(u16::MIN..=u16::MAX);
    keys_are_in_order::<false, _>(i8::MIN..=i8::MAX);
    keys_are_in_order::<true, _>(i8::MIN..=i8::MAX);
    keys_are_in_order::<false, _>(u8::MIN..=u8::MAX);
    keys_are_in_order::<true, _>(u8::MIN..=u8::MAX);
    keys_are_in_order::<false, _>((0..2).map(Bool));
    keys_are_in_order::<true, _>((0..2).map(Bool));
}

/// The short state of as many equal values as it may have, as a sum.
#[track_caller]
fn short_sums_do_not_overflow<T: Element<Wide: Into<f64>, Real = f64>>(value: T) {
    let values = <Mean as Operator<T>>::VALUES_OF_SHORT;
    let short = (0..values).fold(Operator::<T>::short_identity(Mean), |short, place| {
        Mean.extend_short(short, value, place)
    });
    let sum = Operator::<T>::of_short(Mean, short, u64::from);
    let wide: f64 = value.widen().into();
    assert_eq!(sum, f64::from(values) * wide);
}

#[test]
fn short_sums_have_room() {
    short_sums_do_not_overflow(i8::MIN);
    short_sums_do_not_overflow(i8::MAX);
    short_sums_do_not_overflow(u8::MAX);
    short_sums_do_not_overflow(Bool(1));
    short_sums_do_not_overflow(i16::MIN);
    short_sums_do_not_overflow(i16::MAX);
    short_sums_do_not_overflow(u16::MAX);
}

#[test]
fn indices_by_numpy() {
    let nan = f32::NAN;
    for (values, first_min, last_min, first_max, last_max) in [
        (&[1.0, -0.0, 0.0, 1.0][..], 1, 2, 0, 3),
        (&[1.0, nan, -5.0, nan, 9.0], 1, 3, 1, 3),
        (&[f32::INFINITY; 3], 0, 2, 0, 2),
        (&[f32::NEG_INFINITY, f32::INFINITY], 0, 0, 1, 1),
        (&[], u64::MAX, u64::MAX, u64::MAX, u64::MAX),
    ] {
        let values = || values.iter().copied();
        assert_eq!(ArgMin::FIRST.of(values()), first_min);
        assert_eq!(ArgMin::LAST.of(values()), last_min);
        assert_eq!(ArgMax::FIRST.of(values()), first_max);
        assert_eq!(ArgMax::LAST.of(values()), last_max);
    }
    assert_eq!(ArgMin::FIRST.with_index::<u32>().of([3_u8, 2, 2]), 1);
}

#[test]
fn results_of_no_values() {
    assert_eq!(Sum.of([0_i8; 0]), 0);
    assert!(Sum.of([0.0_f32; 0]).is_sign_negative());
    assert_eq!(Min.of([0_i8; 0]), i8::MAX);
    assert_eq!(Max.of([0_u16; 0]), 0);
    assert_eq!(Max.of([F16(0); 0]), F16(0xfc00));
    assert_eq!(Min.of([Bool(0); 0]), Bool(1));
    assert!(Mean.of([0_i32; 0]).is_nan());
    assert!(Variance { ddof: 0 }.of([0_i32; 0]).is_nan());
    assert!(Variance { ddof: 1 }.of([5_i32]).is_nan());
    assert_eq!(LogSumExp.of([0.0_f64; 0]), f64::NEG_INFINITY);
    assert_eq!(Norm2.of([0_u8; 0]), 0.0);
    assert_eq!((Any.of([0_i32; 0]), All.of([0_i32; 0])), (Bool(0), Bool(1)));
}

#[test]
fn log_sum_exp_neither_overflows_nor_vanishes() {
    let half = LogSumExp.of([1e4_f64, 1e4]) - 1e4;
    assert!((half - std::f64::consts::LN_2).abs() < 1e-11, "{half}");
    assert_eq!(LogSumExp.of([-1e30_f32]), -1e30);
    assert_eq!(LogSumExp.of([f32::NEG_INFINITY; 4]), f32::NEG_INFINITY);
    assert_eq!(LogSumExp.of([f32::INFINITY, 1.0]), f32::INFINITY);
    assert!(LogSumExp.of([f32::NAN, 1.0]).is_nan());
}
