//! Values whose results need more bits than they have.

use crate::number::Number;
use crate::oracle::{Oracle, by_chunks};
use crate::random::Random;
use crate::reducible::{Plain, Reducible};
use rand::rngs::ChaCha8Rng;
use warpfold::cpu::cores;
use warpfold::device::Pod;
use warpfold_kernels::catalogue::{ElementType, Operator, Reduction, Variant};
use warpfold_kernels::for_each_widening;

/// A type with one of twice the bits.
pub trait Narrow: Plain + Sync {
    /// That type.
    type Wide: Plain + From<Self> + Sync;
}

/// A value that is widened before anything else is done to it: partial results and the result are of the wide type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Wide<T>(pub T);

/// A value that the values of its tile are combined with as it is: partial results wrap or round. Only the result, into which the host
/// combines them, is of the wide type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct WideTotal<T>(pub T);

macro_rules! newtypes {
    ($($newtype:ident)*) => { $(
        // SAFETY: the type has the layout of `T`.
        unsafe impl<T: Pod> Pod for $newtype<T> {}
        // SAFETY: likewise.
        unsafe impl<T: Pod> bytemuck::Zeroable for $newtype<T> {}

        impl<T: Narrow> From<$newtype<T>> for Number {
            fn from($newtype(value): $newtype<T>) -> Self {
                value.into()
            }
        }

        impl<T: From<u16>> From<u16> for $newtype<T> {
            fn from(value: u16) -> Self {
                Self(value.into())
            }
        }

        impl<T: Narrow> Random for $newtype<T> {
            fn draw(generator: &mut ChaCha8Rng, values: &mut [Self]) {
                T::draw(generator, bytemuck::cast_slice_mut(values));
            }

            fn of(number: u64) -> Self {
                Self(T::of(number))
            }

            fn into_factor(self) -> Self {
                Self(self.0.into_factor())
            }
        }
    )* };
}

newtypes! { Wide WideTotal }

impl<T: Narrow> Reducible for Wide<T> {
    const ELEMENT_TYPE: ElementType = T::ELEMENT_TYPE;

    type Partial = T::Wide;
    type Result = T::Wide;
    type Oracle = <T::Wide as Reducible>::Oracle;

    fn oracle(reduction: &Reduction, _: Variant, values: &[Self]) -> Self::Oracle {
        by_chunks(reduction.operator, values, |&Self(value)| {
            T::Wide::from(value)
        })
    }

    fn finish(operator: Operator, partials: &[T::Wide]) -> T::Wide {
        T::Wide::finish(operator, partials)
    }
}

impl<T: Narrow> Reducible for WideTotal<T> {
    const ELEMENT_TYPE: ElementType = T::ELEMENT_TYPE;

    type Partial = T;
    type Result = T::Wide;
    type Oracle = <T::Wide as Reducible>::Oracle;

    /// Each tile by [`Reducible::finish`], which is exact for integers: a kernel that rounds within a tile would not be judged fairly.
    fn oracle(reduction: &Reduction, variant: Variant, values: &[Self]) -> Self::Oracle {
        let tile = reduction.elements_per_thread(variant) as usize * variant.block as usize;
        let values: &[T] = bytemuck::cast_slice(values);
        let of_tile = |values: &[T]| T::Wide::from(T::finish(reduction.operator, values));
        let of_tiles = cores::map_parts(values, tile, of_tile);
        Self::Oracle::new(reduction.operator, &of_tiles)
    }

    fn finish(operator: Operator, partials: &[T]) -> T::Wide {
        let partials: Vec<T::Wide> = partials
            .iter()
            .map(|&partial| T::Wide::from(partial))
            .collect();
        T::Wide::finish(operator, &partials)
    }
}

macro_rules! narrow {
    ($($variant:ident $value:ident $wide_variant:ident $wide:ident;)*) => { $(
        impl Narrow for $value {
            type Wide = $wide;
        }
    )* };
}

for_each_widening!(narrow);

/// `with_reduction!(reduction, T => expression)`: the expression with `T` as the type whose values the reduction takes.
#[macro_export]
macro_rules! with_reduction {
    ($reduction:expr, $name:ident => $body:expr) => {{
        let reduction: &::warpfold_kernels::catalogue::Reduction = $reduction;
        if reduction.result_type == reduction.element_type {
            $crate::with_reducible!(reduction.element_type, $name => $body)
        } else {
            ::warpfold_kernels::for_each_widening!([$crate::match_widening], reduction, $name => $body;)
        }
    }};
}

/// The `match` of [`with_reduction!`], with arms for each row of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! match_widening {
    ($reduction:ident, $name:ident => $body:expr; $($variant:ident $value:ident $wide_variant:ident $wide:ident;)*) => {
        match ($reduction.element_type, $reduction.partial_type, $reduction.result_type) {
            $(
                (
                    ::warpfold_kernels::catalogue::ElementType::$variant,
                    ::warpfold_kernels::catalogue::ElementType::$wide_variant,
                    ::warpfold_kernels::catalogue::ElementType::$wide_variant,
                ) => {
                    type $name = $crate::wide::Wide<$value>;
                    $body
                }
                (
                    ::warpfold_kernels::catalogue::ElementType::$variant,
                    ::warpfold_kernels::catalogue::ElementType::$variant,
                    ::warpfold_kernels::catalogue::ElementType::$wide_variant,
                ) => {
                    type $name = $crate::wide::WideTotal<$value>;
                    $body
                }
            )*
            types => unreachable!("no lesson of the catalogue has the types {types:?}"),
        }
    };
}

pub use with_reduction;

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_kernels::catalogue::{find, lessons};

    #[test]
    fn every_reduction_of_the_catalogue_has_its_types() {
        for lesson in lessons() {
            if let Some(reduction) = lesson.reduction() {
                with_reduction!(reduction, T => {
                    assert_eq!(T::ELEMENT_TYPE, reduction.element_type, "{}", lesson.id);
                    assert_eq!(<T as Reducible>::Partial::ELEMENT_TYPE, reduction.partial_type, "{}", lesson.id);
                    assert_eq!(<T as Reducible>::Result::ELEMENT_TYPE, reduction.result_type, "{}", lesson.id);
                });
            }
        }
    }

    #[test]
    fn a_wide_sum_does_not_wrap_and_a_wide_total_does_so_in_its_tiles() {
        let values = [i32::MAX; 1000];
        let lesson = find("block_reduce_1").expect("it is a lesson");
        let (reduction, variant) = (lesson.reduction().expect("it reduces"), lesson.usual(64));
        let wide: &[Wide<i32>] = bytemuck::cast_slice(&values);
        let wide = Wide::oracle(reduction, variant, wide);
        assert_eq!(wide.exact, Some(1000 * i128::from(i32::MAX)));
        let total: &[WideTotal<i32>] = bytemuck::cast_slice(&values);
        let total = WideTotal::oracle(reduction, variant, total);
        // 64 times 2^31 − 1 is −64 in 32 bits; 15 such tiles, and 40 values more.
        assert_eq!(total.exact, Some(15 * -64 - 40));
        assert_eq!(
            WideTotal::<i32>::finish(Operator::Sum, &[i32::MAX; 3]),
            3 * i64::from(i32::MAX)
        );
    }
}
