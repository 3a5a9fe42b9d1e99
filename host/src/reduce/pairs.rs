//! The pairs of an operator and a type that the library has kernels for.

use crate::device::Pod;
use std::fmt::Debug;
use warpfold_device::element::Element;
use warpfold_device::for_each_element;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;
use warpfold_device::vector::Loaded;

mod sealed {
    pub trait Sealed {}
}

/// A type that the library reduces. Nobody else can implement it, because the library carries PTX for these types only. For a type of
/// your own there is [`Reduction::from_ptx`](super::Reduction::from_ptx).
pub trait Reducible:
    Element<Wide: Pod + Debug, Real: Pod + Debug> + Loaded + Pod + Debug + sealed::Sealed
{
    /// Its name in kernels and on the command line: `f32`, `bf16`, `bool`.
    const NAME: &'static str;
}

macro_rules! reducible {
    ($($name:ident: $value:ty;)*) => {$(
        impl sealed::Sealed for $value {}
        impl Reducible for $value {
            const NAME: &'static str = stringify!($name);
        }
    )*};
}

for_each_element!(reducible);

/// An operator that the library has kernels of, for values of type `T`. Nobody else can implement it.
pub trait BuiltIn<T: Reducible>: Operator<T, Output: Pod + Debug> + Debug + sealed::Sealed {
    /// Its name in kernels; and what they take as their last argument, if they take one more than those of other operators.
    fn kernels(&self) -> (&'static str, Option<u64>);
}

macro_rules! built_in {
    ($($operator:ident: |$it:pat_param| $kernels:expr;)*) => {$(
        impl sealed::Sealed for $operator {}
        impl<T: Reducible> BuiltIn<T> for $operator {
            fn kernels(&self) -> (&'static str, Option<u64>) {
                let $it = *self;
                $kernels
            }
        }
    )*};
}

built_in! {
    Sum: |_| ("sum", None);
    Product: |_| ("product", None);
    Min: |_| ("min", None);
    Max: |_| ("max", None);
    MinMax: |_| ("minmax", None);
    ArgMin: |it| match it.ties() {
        Ties::First => ("argmin", None),
        Ties::Last => ("last_argmin", None),
    };
    ArgMax: |it| match it.ties() {
        Ties::First => ("argmax", None),
        Ties::Last => ("last_argmax", None),
    };
    Mean: |_| ("mean", None);
    Variance: |Variance { ddof }| ("variance", Some(ddof));
    StdDev: |StdDev { ddof }| ("std", Some(ddof));
    Norm1: |_| ("norm1", None);
    Norm2: |_| ("norm2", None);
    NormInf: |_| ("norm_inf", None);
    LogSumExp: |_| ("logsumexp", None);
    Any: |_| ("any", None);
    All: |_| ("all", None);
    CountNonzero: |_| ("count_nonzero", None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use warpfold_device::for_each_operator;

    macro_rules! each_is_named {
        ($($name:ident: $operator:ty = $make:expr;)*) => {$(
            let operator: $operator = $make;
            let (name, _) = BuiltIn::<f32>::kernels(&operator);
            assert_eq!(name, stringify!($name).trim_start_matches("sample_"));
        )*};
    }

    #[test]
    fn names_are_those_of_the_list() {
        for_each_operator!(each_is_named);
    }

    macro_rules! each_has_kernels {
        ($element:ident, $entries:ident; $($name:ident: $operator:ty = $make:expr;)*) => {$(
            let name = stringify!($name).trim_start_matches("sample_");
            for suffix in ["_rows", "_large_array", "_aligned_rows", "_short_rows", "_packed_rows", "_columns", "_fixed_rows", "_fixed_short_rows", "_fixed_columns", "_segments", "_fixed_segments", "_chunks", "_of_chunks", "_part"] {
                let entry = format!("{name}_{}{suffix}", $element);
                assert!($entries.contains(entry.as_str()), "{entry}");
            }
        )*};
    }

    #[test]
    fn each_pair_has_its_kernels() {
        for element in warpfold_reductions::elements() {
            let text = warpfold_reductions::text(element).expect("it is there");
            let after = text.split(".visible .entry ").skip(1);
            let entries: HashSet<&str> = after
                .filter_map(|text| Some(text.split_once('(')?.0))
                .collect();
            for_each_operator!(each_has_kernels, element, entries);
        }
    }
}
