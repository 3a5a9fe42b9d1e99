//! The laws that the operators state, on values that are likely to break them and on any others.

use proptest::prelude::*;
use std::fmt::Debug;
use warpfold_kernels::for_each_element;
use warpfold_kernels::operators::o01_operators::{Max, Min, Operator, Product, Sum};

/// What the tests need to know of a type.
trait Tested: Copy + Debug + Arbitrary {
    /// Values that are likely to break a law.
    fn special() -> Vec<Self>;
    /// Whether both are the same to the last bit, or both NaN.
    fn is(self, other: Self) -> bool;
}

macro_rules! tested {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(tested!(@$kind $value);)* };
    (@integer $value:ident) => {
        impl Tested for $value {
            fn special() -> Vec<Self> {
                vec![0, 1, 2, 7, Self::MAX, Self::MIN, Self::MAX / 2 + 1]
            }

            fn is(self, other: Self) -> bool {
                self == other
            }
        }
    };
    (@float $value:ident) => {
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
    };
}

for_each_element!(tested);

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

/// Calls `exact_laws` for each operator that never rounds for a type: all of them for integers, the extremes for floats.
macro_rules! every_exact_law {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(every_exact_law!(@$kind $value);)* };
    (@integer $value:ident) => {
        exact_laws::<Sum, $value>();
        exact_laws::<Product, $value>();
        every_exact_law!(@float $value);
    };
    (@float $value:ident) => {
        exact_laws::<Min, $value>();
        exact_laws::<Max, $value>();
    };
}

#[test]
fn every_type_obeys_the_laws_that_hold_to_the_last_bit() {
    for_each_element!(every_exact_law);
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
