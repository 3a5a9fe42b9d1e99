//! What a type brings to the tests of its lessons.

use super::replay::{Launch, replay, replay_wide};
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use warpfold::device::Pod;
use warpfold_course::reducible::Reducible;
use warpfold_course::wide::{Narrow, Wide, WideTotal};
use warpfold_kernels::catalogue::Operator;
use warpfold_kernels::for_each_element;
use warpfold_kernels::operators::o01_operators::{self, Sum};
use warpfold_kernels::operators::o05_vectorized::Vectorized;

/// A type whose lessons are tested.
pub trait Tested: Reducible {
    /// Values of the type, as different as they come.
    fn any_values() -> BoxedStrategy<Vec<Self>>;

    /// Values that need a test of their own, wherever among others they stand.
    fn special_values() -> Vec<Self>;

    /// Whether both are the same to the last bit, or both NaN.
    fn are_same(left: Self::Result, right: Self::Result) -> bool;

    /// What the launch leaves, if its tree is known.
    fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<Self::Result>;

    /// What plain arithmetic from left to right comes to, where the order cannot matter.
    fn plainly(launch: &Launch<'_>, values: &[Self]) -> Option<Self::Result>;
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

            fn are_same(left: Self, right: Self) -> bool {
                left == right
            }

            fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<Self> {
                replay(launch, values)
            }

            fn plainly(launch: &Launch<'_>, values: &[Self]) -> Option<Self> {
                let values = values.iter().copied();
                Some(match launch.lesson.reduction()?.operator {
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

            fn are_same(left: Self, right: Self) -> bool {
                left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
            }

            fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<Self> {
                replay(launch, values)
            }

            fn plainly(_: &Launch<'_>, _: &[Self]) -> Option<Self> {
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

impl<T> Tested for Wide<T>
where
    T: Tested + Narrow<Wide: Tested> + Vectorized,
    Sum: o01_operators::Operator<T::Wide>,
{
    fn any_values() -> BoxedStrategy<Vec<Self>> {
        T::any_values().prop_map(|values| cast(&values)).boxed()
    }

    fn special_values() -> Vec<Self> {
        cast(&T::special_values())
    }

    fn are_same(left: T::Wide, right: T::Wide) -> bool {
        T::Wide::are_same(left, right)
    }

    fn replay(launch: &Launch<'_>, values: &[Self]) -> Option<T::Wide> {
        replay_wide::<T>(launch, &cast(values))
    }

    fn plainly(launch: &Launch<'_>, values: &[Self]) -> Option<T::Wide> {
        let values: Vec<T::Wide> = values
            .iter()
            .map(|&Self(value)| T::Wide::from(value))
            .collect();
        T::Wide::plainly(launch, &values)
    }
}

impl<T: Tested + Narrow<Wide: Tested>> Tested for WideTotal<T> {
    fn any_values() -> BoxedStrategy<Vec<Self>> {
        T::any_values().prop_map(|values| cast(&values)).boxed()
    }

    fn special_values() -> Vec<Self> {
        cast(&T::special_values())
    }

    fn are_same(left: T::Wide, right: T::Wide) -> bool {
        T::Wide::are_same(left, right)
    }

    fn replay(_: &Launch<'_>, _: &[Self]) -> Option<T::Wide> {
        None
    }

    /// One tile after the other, each as its type has it.
    fn plainly(launch: &Launch<'_>, values: &[Self]) -> Option<T::Wide> {
        let values: Vec<T> = cast(values);
        let tiles = values.chunks(launch.block);
        let of_tiles: Option<Vec<T::Wide>> = tiles
            .map(|tile| T::plainly(launch, tile).map(T::Wide::from))
            .collect();
        T::Wide::plainly(launch, &of_tiles?)
    }
}

/// The same values as those of a type that stands for them.
fn cast<T: Pod, U: Pod>(values: &[T]) -> Vec<U> {
    bytemuck::cast_slice(values).to_vec()
}
