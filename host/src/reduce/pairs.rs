//! The pairs of an operator and a type that the library has kernels for.

use crate::device::Pod;
use std::fmt::Debug;
use warpfold_device::element::Element;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::number::Number;
use warpfold_device::operator::*;
use warpfold_device::vector::Loaded;
use warpfold_device::{for_each_accumulator, for_each_element};
use warpfold_reductions::{Text, text};

mod sealed {
    pub trait Sealed {}
}

/// A type that the library reduces. Nobody else can implement it, because the library carries PTX for these types only. For a type of
/// your own there is [`Reduction::from_ptx`](super::Reduction::from_ptx).
pub trait Reducible:
    HasSpread
    + Element<Wide: Accumulator<Self>, Real: Pod + Debug>
    + Loaded
    + Pod
    + Debug
    + sealed::Sealed
{
    /// Its name in kernels and on the command line: `f32`, `bf16`, `bool`.
    const NAME: &'static str;
    /// The library's kernels of this type, with its usual accumulator.
    #[doc(hidden)]
    const KERNELS: &'static Text = text_of(Self::NAME);
}

/// The library's text of this name. Where it is a constant, a program carries that text and no other.
const fn text_of(name: &str) -> &'static Text {
    text(name).expect("each type has its text")
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

/// A type that the library's kernels add and multiply values of type `T` in: its usual [`Wide`](Element::Wide), or 64 bits of the same kind.
/// Nobody else can implement it.
///
/// | `T` | accumulators, the usual one first |
/// |---|---|
/// | `i8` `i16` | `i32`, `i64` |
/// | `u8` `u16` `bool` | `u32`, `u64` |
/// | `i32` | `i32`, `i64` |
/// | `u32` | `u32`, `u64` |
/// | `f16` `bf16` `f32` | `f32`, `f64` |
/// | `i64` `u64` `f64` | itself |
///
/// [`As<A, O>`](As) is the operator `O` in the accumulator `A`, for a [`Reduction`](super::Reduction), also of a [group](crate::Group) or of
/// [ranks](crate::ranks), and for a [`Scan`](crate::Scan): a [`Sum`] or [`Product`], and of floats, but not for `Scan`, also a [`Mean`],
/// [`Variance`], [`StdDev`], [`Norm1`], [`Norm2`] or [`LogSumExp`].
/// [`DotProduct::with_accumulator`](crate::DotProduct::with_accumulator) has dot products in it.
pub trait Accumulator<T: Reducible>: Number + Pod + Debug + sealed::Sealed {
    /// The library's kernels with this accumulator.
    #[doc(hidden)]
    const KERNELS: &'static Text;
}

/// The usual accumulators. `Reducible` requires them to be those of [`Element`].
macro_rules! usual_accumulators {
    ($($value:ident in $wide:ident;)*) => {$(
        impl Accumulator<$value> for $wide {
            const KERNELS: &'static Text = <$value as Reducible>::KERNELS;
        }
    )*};
}

usual_accumulators! {
    Bool in u32;
    i8 in i32;
    u8 in u32;
    i16 in i32;
    u16 in u32;
    F16 in f32;
    Bf16 in f32;
    i32 in i32;
    u32 in u32;
    f32 in f32;
    i64 in i64;
    u64 in u64;
    f64 in f64;
}

/// An operator that the library has kernels of, for values of type `T`. Nobody else can implement it.
pub trait BuiltIn<T: Reducible>: Operator<T, Output: Pod + Debug> + Debug + sealed::Sealed {
    /// Its name in kernels; and what they take as their last argument, if they take one more than those of other operators.
    fn kernels(&self) -> (&'static str, Option<u64>);
    /// The library's kernels of this type, with the operator's accumulator.
    #[doc(hidden)]
    const KERNELS: &'static Text = T::KERNELS;
}

/// The name for the first and the last of equal values.
fn of_ties(ties: Ties, [first, last]: [&'static str; 2]) -> &'static str {
    match ties {
        Ties::First => first,
        Ties::Last => last,
    }
}

macro_rules! built_in {
    ($($operator:ty: |$it:pat_param| $kernels:expr;)*) => {$(
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
    ArgMin: |it| (of_ties(it.ties(), ["argmin", "last_argmin"]), None);
    ArgMax: |it| (of_ties(it.ties(), ["argmax", "last_argmax"]), None);
    ArgMin<u32>: |it| (of_ties(it.ties(), ["argmin_u32", "last_argmin_u32"]), None);
    ArgMax<u32>: |it| (of_ties(it.ties(), ["argmax_u32", "last_argmax_u32"]), None);
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

/// The operators that have kernels with wider accumulators.
macro_rules! with_accumulators {
    (integers { $($integers:tt)* } floats { $($floats:tt)* }) => {
        with_accumulators! { [Sum Product] $($integers)* }
        with_accumulators! { [Sum Product Mean Variance StdDev Norm1 Norm2 LogSumExp] $($floats)* }
    };
    ($operators:tt $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        with_accumulators! { @pair $operators $text $value $wide }
    )*};
    (@pair [$($operator:ident)*] $text:literal $value:ident $wide:ident) => {
        with_accumulators! { @accumulator $text $value $wide }
        $(impl BuiltIn<$value> for As<$wide, $operator> {
            const KERNELS: &'static Text = text_of($text);

            fn kernels(&self) -> (&'static str, Option<u64>) {
                BuiltIn::<$wide>::kernels(&self.operator())
            }
        })*
    };
    (@accumulator $text:literal $value:ident $wide:ident) => {
        impl Accumulator<$value> for $wide {
            const KERNELS: &'static Text = text_of($text);
        }
    };
}

impl<A, O: sealed::Sealed> sealed::Sealed for As<A, O> {}

for_each_accumulator!(with_accumulators);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use warpfold_device::{for_each_operator, for_each_short_index};

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
        for_each_short_index!(each_is_named);
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

    /// The entries of a text.
    fn entries(text: &Text) -> HashSet<String> {
        let text = text.read();
        let after = text.split(".visible .entry ").skip(1);
        after
            .filter_map(|text| Some(text.split_once('(')?.0.to_owned()))
            .collect()
    }

    #[test]
    fn each_pair_has_its_kernels() {
        for text in warpfold_reductions::elements() {
            let (element, entries) = (text.name(), entries(text));
            for_each_operator!(each_has_kernels, element, entries);
            for_each_short_index!(each_has_kernels, element, entries);
        }
    }

    macro_rules! some_have_kernels {
        ($text:ident, $entries:ident; $($name:ident: $operator:ty = $make:expr;)*) => {$(
            let name = stringify!($name);
            let is_of_sums = ["sum", "product"].contains(&name);
            let is_of_floats = ["mean", "variance", "std", "norm1", "norm2", "logsumexp"].contains(&name);
            let is_there = is_of_sums || is_of_floats && $text.ends_with("f64");
            assert_eq!($entries.contains(format!("{name}_{}_rows", $text).as_str()), is_there, "{name} {}", $text);
        )*};
    }

    macro_rules! let_be_names {
        ($names:ident; $($kind:ident { $($text:literal $name:ident: $value:ident in $wide:ident;)* })*) => {
            let $names = [$($(<$wide as Accumulator<$value>>::KERNELS.name()),*),*];
        };
    }

    #[test]
    fn wider_accumulators_have_the_texts_of_their_names() {
        for_each_accumulator!(let_be_names, names);
        let texts = warpfold_reductions::accumulators().map(Text::name);
        assert_eq!(texts.collect::<Vec<_>>(), names);
        for text in warpfold_reductions::accumulators() {
            let (text, entries) = (text.name(), entries(text));
            for_each_operator!(some_have_kernels, text, entries);
            for scan in ["sum", "product"] {
                assert!(entries.contains(format!("{scan}_{text}_segment_scan").as_str()));
            }
            assert!(entries.contains(format!("dot_{text}_pairs").as_str()));
        }
    }
}
