//! Which kernels some work takes, and what becomes of their results.

use crate::failed::Failed;
use crate::on_host::Work;
use crate::operation::{Kind, Operation, kind};
use warpfold::operator::{As, Mean, Product, StdDev, Sum, Variance};
use warpfold::reduce::{Accumulator, Form, Reducible, Text};
use warpfold::sum::Mode;
use warpfold::{Bf16, Bool, F16};
use warpfold_device::for_each_accumulator;
use warpfold_dynamic::TypeName;

/// What becomes of the results that a kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// They are of their type.
    None,
    /// By a kernel of this name.
    By(&'static str),
    /// The low bytes of integers of 8 bytes.
    LowBytes,
}

/// The kernels for some work.
pub(super) struct Chosen {
    pub(super) operation: Operation,
    pub(super) is_wide: bool,
    pub(super) mode: Mode,
    pub(super) conversion: Conversion,
}

impl Chosen {
    pub(super) fn of(work: &Work, values: TypeName) -> Result<Self, Failed> {
        let is_float = kind(values) == Kind::Float;
        let is_sum = matches!(work.operation, Operation::Sum | Operation::Product);
        let mut chosen = Self {
            operation: work.operation,
            is_wide: false,
            mode: Mode::Fast,
            conversion: Conversion::None,
        };
        if kind(work.result) == Kind::Float {
            if work.is_deterministic {
                chosen.mode = Mode::Deterministic;
            }
            if is_sum && !is_float {
                return Err(Failed::NoKernel {
                    values,
                    result: work.result,
                });
            }
            match (values.name(), work.result.name()) {
                ("f16" | "bf16" | "f32", "f64") => chosen.is_wide = true,
                // Extremes are of the values' own type; what is computed from such floats is in `f32`.
                ("f16", "f16") if !is_extreme(work.operation) => {
                    chosen.conversion = Conversion::By("narrow_f16")
                }
                ("bf16", "bf16") if !is_extreme(work.operation) => {
                    chosen.conversion = Conversion::By("narrow_bf16")
                }
                _ => {}
            }
            return Ok(chosen);
        }
        if !is_sum {
            return Ok(chosen);
        }
        chosen.is_wide = values.bytes() < 8;
        if work.result.bytes() < 8 {
            chosen.conversion = Conversion::LowBytes;
        }
        Ok(chosen)
    }
}

fn is_extreme(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Min | Operation::Max | Operation::MinMax
    )
}

/// The library's text of a type with an accumulator of 64 bits, and the form of an operation's kernels for them.
pub(super) fn wide(operation: Operation, values: TypeName) -> (&'static Text, Form) {
    macro_rules! forms {
        (integers { $($integers:tt)* } floats { $($floats:tt)* }) => {
            forms! { [Sum Product] $($integers)* }
            forms! { [Sum Product Mean Variance StdDev] $($floats)* }
        };
        ($operators:tt $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {
            $(if values.name() == <$value as Reducible>::NAME {
                return (<$wide as Accumulator<$value>>::KERNELS, forms! { @form $operators $value $wide });
            })*
        };
        (@form [$($operator:ident)*] $value:ident $wide:ident) => {
            match operation {
                $(Operation::$operator { .. } => Form::of::<$value, As<$wide, $operator>>(),)*
                _ => unreachable!("no other result is wider than what it is made in"),
            }
        };
    }
    for_each_accumulator!(forms);
    unreachable!("other types have no wider accumulator")
}
