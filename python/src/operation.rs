//! What is computed, and in which types, as NumPy has them.

use pyo3::PyResult;
use pyo3::exceptions::PyTypeError;
use warpfold::{Bf16, F16};
use warpfold_dynamic::{Named, Number, TypeName};

/// A reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// Both.
    MinMax,
    /// Where the first of the least values is.
    ArgMin,
    /// Where the first of the greatest values is.
    ArgMax,
    /// The mean.
    Mean,
    /// The variance.
    Variance {
        /// What the number of values is lessened by.
        ddof: u64,
    },
    /// The standard deviation.
    StdDev {
        /// What the number of values is lessened by.
        ddof: u64,
    },
    /// The sum of the magnitudes.
    Norm1,
    /// The root of the sum of the squares.
    Norm2,
    /// The greatest magnitude.
    NormInf,
    /// ln Σ eˣ.
    LogSumExp,
    /// Whether any value is not 0.
    Any,
    /// Whether no value is 0.
    All,
    /// How many values are not 0.
    CountNonzero,
}

use Operation::*;

/// A type by its name, which is one of the library's.
pub fn element(name: &str) -> TypeName {
    name.parse().expect("the name is one of the list")
}

/// The type that NumPy, torch and CuPy give this name.
pub fn type_named(name: &str) -> Option<TypeName> {
    Some(element(match name {
        "bool" | "bool_" => "bool",
        "int8" => "i8",
        "uint8" => "u8",
        "int16" => "i16",
        "uint16" => "u16",
        "int32" => "i32",
        "uint32" => "u32",
        "int64" => "i64",
        "uint64" => "u64",
        "float16" => "f16",
        "bfloat16" => "bf16",
        "float32" => "f32",
        "float64" => "f64",
        _ => return None,
    }))
}

/// The name that NumPy, torch and CuPy give a type.
pub fn name_of(element: TypeName) -> &'static str {
    match element.name() {
        "bool" => "bool",
        "i8" => "int8",
        "u8" => "uint8",
        "i16" => "int16",
        "u16" => "uint16",
        "i32" => "int32",
        "u32" => "uint32",
        "i64" => "int64",
        "u64" => "uint64",
        "f16" => "float16",
        "bf16" => "bfloat16",
        "f32" => "float32",
        _ => "float64",
    }
}

/// What a type is, besides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// An integer that may be negative.
    Signed,
    /// One that may not.
    Unsigned,
    /// A float.
    Float,
}

/// What this type is.
pub fn kind(element: TypeName) -> Kind {
    match element.name().as_bytes()[0] {
        b'i' => Kind::Signed,
        b'u' => Kind::Unsigned,
        b'f' => Kind::Float,
        _ if element.name() == "bf16" => Kind::Float,
        _ => Kind::Bool,
    }
}

impl Operation {
    /// The operator's name in the library, and the divisor that its kernels take.
    pub fn named(self) -> (Named, Option<u64>) {
        let (name, ddof) = match self {
            Sum => ("sum", None),
            Product => ("product", None),
            Min => ("min", None),
            Max => ("max", None),
            MinMax => ("minmax", None),
            ArgMin => ("argmin", None),
            ArgMax => ("argmax", None),
            Mean => ("mean", None),
            Variance { ddof: 1 } => ("sample_variance", Some(1)),
            Variance { ddof } => ("variance", Some(ddof)),
            StdDev { ddof: 1 } => ("sample_std", Some(1)),
            StdDev { ddof } => ("std", Some(ddof)),
            Norm1 => ("norm1", None),
            Norm2 => ("norm2", None),
            NormInf => ("norm_inf", None),
            LogSumExp => ("logsumexp", None),
            Any => ("any", None),
            All => ("all", None),
            CountNonzero => ("count_nonzero", None),
        };
        let named = name.parse().expect("the name is one of the list");
        (named, ddof)
    }

    /// The same with what NumPy does where no value is left to divide by.
    pub fn for_length(self, length: usize) -> Self {
        match self {
            Variance { ddof } => Variance {
                ddof: ddof.min(length as u64),
            },
            StdDev { ddof } => StdDev {
                ddof: ddof.min(length as u64),
            },
            other => other,
        }
    }

    /// Whether the result is an index, so that the values have an order.
    pub fn is_index(self) -> bool {
        matches!(self, ArgMin | ArgMax)
    }

    /// Whether there is no result of no values.
    pub fn needs_values(self) -> bool {
        matches!(self, Min | Max | MinMax | ArgMin | ArgMax)
    }

    /// The type of the result.
    ///
    /// # Errors
    /// One was asked for that the operation has not from such values.
    pub fn result(self, values: TypeName, asked: Option<TypeName>) -> PyResult<TypeName> {
        let usual = match (self, kind(values)) {
            (Sum | Product, Kind::Bool | Kind::Signed) => element("i64"),
            (Sum | Product, Kind::Unsigned) => element("u64"),
            (ArgMin | ArgMax | CountNonzero, _) => element("i64"),
            (Any | All, _) => element("bool"),
            (Min | Max | MinMax, _) | (_, Kind::Float) => values,
            _ => element("f64"),
        };
        let Some(asked) = asked.filter(|&asked| asked != usual) else {
            return Ok(usual);
        };
        let is_float = kind(values) == Kind::Float;
        let can = match kind(asked) {
            Kind::Bool => false,
            Kind::Signed | Kind::Unsigned => !is_float,
            // Nothing is lost.
            Kind::Float => {
                (is_float && asked.bytes() > values.bytes()) || (!is_float && asked.name() == "f64")
            }
        };
        let takes_one = match self {
            Sum | Product => true,
            Mean | Variance { .. } | StdDev { .. } => is_float,
            _ => false,
        };
        if takes_one && can {
            return Ok(asked);
        }
        Err(PyTypeError::new_err(format!(
            "dtype: this reduction of {} gives {}, not {}: leave dtype out, or convert the array before",
            name_of(values),
            name_of(usual),
            name_of(asked)
        )))
    }
}

/// What writes numbers as bytes of a type. Integers are taken modulo 2 to the number of bits, as they overflow everywhere.
pub type Write = fn(Number, &mut [u8]);

/// That for results of this type.
pub fn writer(to: TypeName) -> Write {
    macro_rules! writers {
        ($($name:literal: |$number:ident| $value:expr;)*) => {
            match to.name() {
                $($name => |$number, bytes| bytes.copy_from_slice(&{ $value }.to_ne_bytes()),)*
                _ => unreachable!("a name is one of the list"),
            }
        };
    }
    writers! {
        "bool": |number| u8::from(whole(number) != 0);
        "i8": |number| whole(number) as i8;
        "u8": |number| whole(number) as u8;
        "i16": |number| whole(number) as i16;
        "u16": |number| whole(number) as u16;
        "i32": |number| whole(number) as i32;
        "u32": |number| whole(number) as u32;
        "i64": |number| whole(number) as i64;
        "u64": |number| whole(number) as u64;
        "f16": |number| F16::from_f32(float(number) as f32).0;
        "bf16": |number| Bf16::from_f32(float(number) as f32).0;
        "f32": |number| float(number) as f32;
        "f64": |number| float(number);
    }
}

fn whole(number: Number) -> i128 {
    match number {
        Number::Bool(truth) => i128::from(truth),
        Number::Integer(integer) => integer,
        Number::F32(float) => float as i128,
        Number::F64(float) => float as i128,
    }
}

fn float(number: Number) -> f64 {
    match number {
        Number::F32(float) => float.into(),
        Number::F64(float) => float,
        other => whole(other) as f64,
    }
}
