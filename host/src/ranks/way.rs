//! Which way the results of the ranks become one: as data.

use super::transport::{Fold, Number};
use crate::sum::Mode;

/// How the results of the ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Each rank reduces its values to one number, and the transport combines the numbers.
    AllReduce(Number, Fold),
    /// Each rank reduces its values to one, and all of these once more, by the same operator.
    Again,
    /// All ranks get the states of all chunks, and combine them in their order.
    Chunks,
}

impl Way {
    /// That of an operator over a type, or over one with a wider accumulator, by their names in kernels, in this order.
    ///
    /// | operator | type | by |
    /// |---|---|---|
    /// | sum, product | integers; floats in the fast order | an all-reduce of accumulators |
    /// | min, max | integers of 8, 32 and 64 bits, bool | an all-reduce |
    /// | min, max | floats, integers of 16 bits | a gather of the ranks' results, and the same reduction of them |
    /// | any, all, count_nonzero | every type | an all-reduce |
    /// | all others; sum, product | every type; floats in the deterministic order | a gather of the chunks' states, and a fold in their order |
    ///
    /// For min and max NCCL promises neither NaN where one value is NaN, as NumPy does, nor which of the two zeros results; and it has no
    /// integers of 16 bits. Sums and products of floats with a NaN are NaN by themselves.
    pub(super) fn of(operator: &str, element: &str, mode: Mode) -> Self {
        // What sums, products and extremes are computed in.
        let accumulator = element.split_once('_').map(|(_, wider)| wider);
        let (wide, narrow) = match accumulator.unwrap_or(element) {
            "bool" => (Number::U32, Some(Number::U8)),
            "i8" => (Number::I32, Some(Number::I8)),
            "u8" => (Number::U32, Some(Number::U8)),
            "i16" => (Number::I32, None),
            "u16" => (Number::U32, None),
            "i32" => (Number::I32, Some(Number::I32)),
            "u32" => (Number::U32, Some(Number::U32)),
            "i64" => (Number::I64, Some(Number::I64)),
            "u64" => (Number::U64, Some(Number::U64)),
            "f64" => (Number::F64, None),
            "f16" | "bf16" | "f32" => (Number::F32, None),
            other => unreachable!("the library has no elements of type {other}"),
        };
        let is_float = matches!(wide, Number::F32 | Number::F64);
        let extreme = |fold| narrow.map_or(Self::Again, |number| Self::AllReduce(number, fold));
        match operator {
            "sum" | "product" if is_float && mode == Mode::Deterministic => Self::Chunks,
            "sum" => Self::AllReduce(wide, Fold::Sum),
            "product" => Self::AllReduce(wide, Fold::Product),
            "min" => extreme(Fold::Min),
            "max" => extreme(Fold::Max),
            "any" => Self::AllReduce(Number::U8, Fold::Max),
            "all" => Self::AllReduce(Number::U8, Fold::Min),
            "count_nonzero" => Self::AllReduce(Number::U64, Fold::Sum),
            _ => Self::Chunks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::{BuiltIn, Reducible};
    use warpfold_device::half::{Bf16, Bool, F16};
    use warpfold_device::operator::*;
    use warpfold_device::{
        for_each_accumulator, for_each_element, for_each_operator, for_each_short_index,
    };

    /// What is all-reduced has the size of the results, and is no float's extreme; what is reduced again gives values of its own type.
    fn fits<T: Reducible, O: BuiltIn<T>>(operator: O) {
        let (name, _) = operator.kernels();
        for mode in [Mode::Fast, Mode::Deterministic] {
            match Way::of(name, O::KERNELS.name(), mode) {
                Way::AllReduce(number, fold) => {
                    let bytes = size_of::<O::Output>();
                    assert_eq!(number.bytes(), bytes, "{name} {}", O::KERNELS.name());
                    let is_float = matches!(number, Number::F32 | Number::F64);
                    assert!(!is_float || matches!(fold, Fold::Sum | Fold::Product));
                    assert!(!is_float || mode == Mode::Fast);
                }
                Way::Again => {
                    let output = std::any::type_name::<O::Output>();
                    assert_eq!(output, std::any::type_name::<T>());
                }
                Way::Chunks => {}
            }
        }
    }

    macro_rules! operators {
        ($value:ty; $($name:ident: $operator:ty = $make:expr;)*) => {$(
            fits::<$value, $operator>($make);
        )*};
    }

    macro_rules! elements {
        ($($name:ident: $value:ty;)*) => {$(
            for_each_operator!(operators, $value);
            for_each_short_index!(operators, $value);
        )*};
    }

    macro_rules! accumulators {
        ($($kind:ident { $($file:literal $name:ident: $value:ident in $wide:ident;)* })*) => {$($(
            fits::<$value, _>(As::<$wide, _>::new(Sum));
            fits::<$value, _>(As::<$wide, _>::new(Product));
        )*)*};
    }

    #[test]
    fn each_operator_of_each_type_has_a_way_that_fits() {
        for_each_element!(elements);
        for_each_accumulator!(accumulators);
    }

    #[test]
    fn floats_are_never_all_reduced_where_the_bits_count() {
        assert_eq!(
            Way::of("sum", "f32", Mode::Fast),
            Way::AllReduce(Number::F32, Fold::Sum)
        );
        assert_eq!(Way::of("sum", "bf16", Mode::Deterministic), Way::Chunks);
        assert_eq!(
            Way::of("sum", "i16", Mode::Deterministic),
            Way::AllReduce(Number::I32, Fold::Sum)
        );
        assert_eq!(Way::of("max", "f64", Mode::Deterministic), Way::Again);
        assert_eq!(Way::of("min", "u16", Mode::Fast), Way::Again);
    }
}
