//! The laws that the operators state, on values that are likely to break them and on any others.

use proptest::prelude::*;
use std::fmt::Debug;
use warpfold_kernels::operators::o01_operators::{Max, Min, Operator, Product, Sum};

/// What the tests need to know of a type.
trait Tested: Copy + Debug + Arbitrary {
    /// Values that are likely to break a law.
    fn special() -> Vec<Self>;
    /// Whether both are the same to the last bit, or both NaN.
    fn is(self, other: Self) -> bool;
}

macro_rules! integers {
    ($($value:ident)*) => {$(
        impl Tested for $value {
            fn special() -> Vec<Self> {
                vec![0, 1, 2, 7, Self::MAX, Self::MIN, Self::MAX / 2 + 1]
            }

            fn is(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}

macro_rules! floats {
    ($($value:ident)*) => {$(
        impl Tested for $value {
            fn special() -> Vec<Self> {
                let least = Self::from_bits(1);
                let mut values = vec![0.0, 1.0, 0.1, Self::MAX, Self::MIN_POSITIVE, least, Self::INFINITY, Self::NAN];
                values.extend(values.clone().into_iter().map(|value| -value));
                values
            }

            fn is(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )*};
}

integers! { i32 u32 i64 u64 }
floats! { f32 f64 }

/// The laws that hold to the last bit for every operator.
#[track_caller]
fn identity_and_commutativity<O: Operator<T>, T: Tested>(a: T, b: T) {
    assert!(O::combine(a, O::IDENTITY).is(a), "{a:?} ⊕ identity");
    assert!(O::combine(O::IDENTITY, a).is(a), "identity ⊕ {a:?}");
    assert!(O::combine(a, b).is(O::combine(b, a)), "{a:?} ⊕ {b:?}");
}

#[track_caller]
fn associativity<O: Operator<T>, T: Tested>(a: T, b: T, c: T) {
    let left_first = O::combine(O::combine(a, b), c);
    let right_first = O::combine(a, O::combine(b, c));
    assert!(
        left_first.is(right_first),
        "{a:?} ⊕ {b:?} ⊕ {c:?}: {left_first:?} or {right_first:?}"
    );
}

/// All laws of an operator that never rounds.
fn exact_laws<O: Operator<T>, T: Tested>() {
    for a in T::special() {
        for b in T::special() {
            identity_and_commutativity::<O, T>(a, b);
            for c in T::special() {
                associativity::<O, T>(a, b, c);
            }
        }
    }
    proptest!(|(a in any::<T>(), b in any::<T>(), c in any::<T>())| {
        identity_and_commutativity::<O, T>(a, b);
        associativity::<O, T>(a, b, c);
    });
}

/// All laws of an operator that rounds: in another grouping, two roundings on either side may differ.
macro_rules! rounding_laws {
    ($operator:ident, $value:ident, |$a:ident, $b:ident, $c:ident| $magnitude:expr) => {{
        for a in $value::special() {
            for b in $value::special() {
                identity_and_commutativity::<$operator, $value>(a, b);
            }
        }
        proptest!(|(a in any::<$value>(), b in any::<$value>())| {
            identity_and_commutativity::<$operator, $value>(a, b);
        });
        // Far enough from the ends of the type that no product of three reaches them.
        let value = || prop_oneof![1e-10..1e10 as $value, -1e10..-1e-10 as $value];
        proptest!(|($a in value(), $b in value(), $c in value())| {
            let left_first = $operator::combine($operator::combine($a, $b), $c);
            let right_first = $operator::combine($a, $operator::combine($b, $c));
            let bound = 2.01 * $value::EPSILON * $magnitude;
            prop_assert!((left_first - right_first).abs() <= bound, "{left_first:?} or {right_first:?}");
        });
    }};
}

macro_rules! tests {
    (exact $($name:ident: $operator:ident of $value:ident;)*) => {$(
        #[test]
        fn $name() {
            exact_laws::<$operator, $value>();
        }
    )*};
}

tests! { exact
    sum_of_i32: Sum of i32;
    sum_of_u32: Sum of u32;
    sum_of_i64: Sum of i64;
    sum_of_u64: Sum of u64;
    product_of_i32: Product of i32;
    product_of_u32: Product of u32;
    product_of_i64: Product of i64;
    product_of_u64: Product of u64;
    min_of_i32: Min of i32;
    min_of_u32: Min of u32;
    min_of_i64: Min of i64;
    min_of_u64: Min of u64;
    min_of_f32: Min of f32;
    min_of_f64: Min of f64;
    max_of_i32: Max of i32;
    max_of_u32: Max of u32;
    max_of_i64: Max of i64;
    max_of_u64: Max of u64;
    max_of_f32: Max of f32;
    max_of_f64: Max of f64;
}

#[test]
fn sums_of_floats() {
    rounding_laws!(Sum, f32, |a, b, c| a.abs() + b.abs() + c.abs());
    rounding_laws!(Sum, f64, |a, b, c| a.abs() + b.abs() + c.abs());
}

#[test]
fn products_of_floats() {
    rounding_laws!(Product, f32, |a, b, c| (a * b * c).abs());
    rounding_laws!(Product, f64, |a, b, c| (a * b * c).abs());
}

#[test]
fn the_sum_of_floats_is_the_same_in_any_grouping_where_nothing_rounds() {
    for a in -8..8 {
        for b in -8..8 {
            for c in -8..8 {
                let [a, b, c] = [a, b, c].map(|value| value as f32 / 8.0);
                associativity::<Sum, f32>(a, b, c);
            }
        }
    }
}

#[test]
fn the_least_and_the_greatest_of_floats_know_nan_and_the_sign_of_zero() {
    for number in f64::special() {
        for (a, b) in [(number, f64::NAN), (f64::NAN, number)] {
            assert!(Min::combine(a, b).is_nan(), "{number}");
            assert!(Max::combine(a, b).is_nan(), "{number}");
        }
    }
    for (a, b) in [(0.0_f32, -0.0), (-0.0, 0.0)] {
        assert!(Min::combine(a, b).is(-0.0));
        assert!(Max::combine(a, b).is(0.0));
    }
    assert!(Min::combine(-1.0_f32, 2.0).is(-1.0));
    assert!(Max::combine(-1.0_f32, 2.0).is(2.0));
}
