//! What a type brings to the tests of its lessons.

use super::replay::{Launch, replay};
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use warpfold_course::reducible::Reducible;
use warpfold_kernels::catalogue::Operator;
use warpfold_kernels::for_each_element;

/// A type whose lessons are tested.
pub trait Tested: Reducible {
    /// Values of the type, as different as they come.
    fn any_values() -> BoxedStrategy<Vec<Self>>;

    /// Values that need a test of their own, wherever among others they stand.
    fn special_values() -> Vec<Self>;

    /// Whether both are the same to the last bit, or both NaN.
    fn is(self, other: Self) -> bool;

    /// What the launch leaves, if its tree is known.
    fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<Self>;

    /// What plain arithmetic from left to right comes to, where the order cannot matter.
    fn plainly(operator: Operator, values: &[Self]) -> Option<Self>;
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Tested for $integer {
            fn any_values() -> BoxedStrategy<Vec<Self>> {
                prop::collection::vec(any::<Self>(), 0..20_000).boxed()
            }

            fn special_values() -> Vec<Self> {
                vec![Self::MAX, Self::MIN, 0]
            }

            fn is(self, other: Self) -> bool {
                self == other
            }

            fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<Self> {
                replay(launch, values)
            }

            fn plainly(operator: Operator, values: &[Self]) -> Option<Self> {
                let values = values.iter().copied();
                Some(match operator {
                    Operator::Sum => values.fold(0, Self::wrapping_add),
                    Operator::Product => values.fold(1, Self::wrapping_mul),
                    Operator::Min => values.fold(Self::MAX, Ord::min),
                    Operator::Max => values.fold(Self::MIN, Ord::max),
                })
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Tested for $float {
            /// Values that round, values of any exponent, and values with infinities and NaN among them.
            fn any_values() -> BoxedStrategy<Vec<Self>> {
                let values_of = |value: BoxedStrategy<Self>| prop::collection::vec(value, 0..20_000);
                prop_oneof![
                    values_of((-1e3..1e3 as Self).boxed()),
                    values_of(prop_oneof![0.99..1.01 as Self, -1.01..-0.99 as Self].boxed()),
                    values_of(any::<Self>().boxed()),
                    values_of(prop_oneof![9999 => -1.0..1.0 as Self, 1 => prop::num::$float::ANY].boxed()),
                ]
                .boxed()
            }

            fn special_values() -> Vec<Self> {
                vec![Self::NAN, Self::INFINITY, Self::NEG_INFINITY, Self::MAX, Self::from_bits(1), -0.0]
            }

            fn is(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }

            fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<Self> {
                replay(launch, values)
            }

            fn plainly(_: Operator, _: &[Self]) -> Option<Self> {
                None
            }
        }
    )*};
}

macro_rules! tested {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(tested!(@$kind $value);)* };
    (@integer $integer:ident) => { integers! { $integer } };
    (@float $float:ident) => { floats! { $float } };
}

for_each_element!(tested);
