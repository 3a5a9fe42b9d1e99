//! Which kernels some work takes, and what becomes of their results.

use super::failed::Failed;
use crate::on_host::Work;
use crate::operation::{Kind, Operation, kind};
use warpfold::operator::{As, Product, Sum};
use warpfold::reduce::Form;
use warpfold::sum::Mode;
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
        let of_values = kind(values);
        let is_sum = matches!(work.operation, Operation::Sum | Operation::Product);
        let mut chosen = Self {
            operation: work.operation,
            is_wide: false,
            mode: Mode::Fast,
            conversion: Conversion::None,
        };
        let failed = Failed::NoKernel {
            values,
            result: work.result,
        };
        if kind(work.result) == Kind::Float {
            if work.is_deterministic {
                chosen.mode = Mode::Deterministic;
            }
            if is_sum && of_values != Kind::Float {
                return Err(failed);
            }
            match (values.name(), work.result.name()) {
                ("f16" | "bf16", "f64") => return Err(failed),
                ("f32", "f64") => chosen.is_wide = true,
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
        match (of_values, work.operation) {
            (Kind::Bool, Operation::Sum) => chosen.operation = Operation::CountNonzero,
            (Kind::Bool, _) => {
                chosen.operation = Operation::All;
                chosen.conversion = Conversion::By("widen_bool");
            }
            _ => chosen.is_wide = values.bytes() < 8,
        }
        if work.result.bytes() < 8 {
            chosen.conversion = match chosen.conversion {
                Conversion::None => Conversion::LowBytes,
                _ => return Err(failed),
            };
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

/// What the launches of sums and products in 64 bits depend on.
pub(super) fn wide_form(operation: Operation, values: TypeName) -> Form {
    macro_rules! forms {
        ($($value:ident in $wide:ident;)*) => {
            match (values.name(), operation) {
                $((stringify!($value), Operation::Sum) => Form::of::<$value, As<$wide, Sum>>(),
                (stringify!($value), _) => Form::of::<$value, As<$wide, Product>>(),)*
                _ => unreachable!("other types have kernels of their own"),
            }
        };
    }
    forms! {
        i8 in i64;
        u8 in u64;
        i16 in i64;
        u16 in u64;
        i32 in i64;
        u32 in u64;
        f32 in f64;
    }
}
