#![doc = include_str!("../README.md")]

mod arguments;
mod array;
mod call;
mod dlpack;
mod failed;
mod memory;
mod on_device;
mod on_host;
mod operation;
mod output;
mod plan;
mod source;
mod threads;
mod view;

use arguments::{NormOrder, Options};
use operation::Operation;
use pyo3::prelude::*;

/// Makes the functions that are an operation with the usual arguments.
macro_rules! reductions {
    ($($(#[$doc:meta])* $function:ident $name:literal => $operation:expr;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(name = $name, signature = (x, axis=None, *, keepdims=false, deterministic=false, stream=None, device=None))]
        #[allow(clippy::too_many_arguments, reason = "they are Python's")]
        fn $function<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            keepdims: bool,
            deterministic: bool,
            stream: Option<&Bound<'py, PyAny>>,
            device: Option<&str>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let options = Options { axis, dtype: None, keepdims, deterministic, stream, device };
            call::reduce(x, $operation, &options)
        }
    )*};
}

/// As [`reductions!`], with the type of the result.
macro_rules! reductions_with_dtype {
    ($($(#[$doc:meta])* $function:ident $name:literal $(($parameter:ident: $type:ty = $default:literal))? => $operation:expr;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(name = $name, signature = (x, axis=None, dtype=None, *, $($parameter=$default,)? keepdims=false, deterministic=false, stream=None, device=None))]
        #[allow(clippy::too_many_arguments, reason = "they are Python's")]
        fn $function<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            dtype: Option<&Bound<'py, PyAny>>,
            $($parameter: $type,)?
            keepdims: bool,
            deterministic: bool,
            stream: Option<&Bound<'py, PyAny>>,
            device: Option<&str>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let options = Options { axis, dtype, keepdims, deterministic, stream, device };
            call::reduce(x, $operation, &options)
        }
    )*};
}

reductions_with_dtype! {
    /// The sum of all values, or along axes: of truth values and signed integers in int64, of unsigned integers in uint64, of floats in
    /// their own type, or in dtype.
    sum "sum" => Operation::Sum;
    /// The product of all values, or along axes, in types as those of sum.
    prod "prod" => Operation::Product;
    /// The mean: of integers in float64, of floats in their own type or in a wider dtype.
    mean "mean" => Operation::Mean;
    /// The variance, divided by the number of values − ddof, in types as those of mean. Accurate even where the mean is large.
    var "var" (ddof: u64 = 0) => Operation::Variance { ddof };
    /// The standard deviation, the root of var.
    std_ "std" (ddof: u64 = 0) => Operation::StdDev { ddof };
}

reductions! {
    /// The least value; NaN where one is NaN.
    min "min" => Operation::Min;
    /// The greatest value; NaN where one is NaN.
    max "max" => Operation::Max;
    /// The least and the greatest value, in one pass.
    minmax "minmax" => Operation::MinMax;
    /// ln Σ eˣ, without overflow and without losing small terms.
    logsumexp "logsumexp" => Operation::LogSumExp;
    /// Whether any value is not 0.
    any "any" => Operation::Any;
    /// Whether no value is 0.
    all "all" => Operation::All;
    /// How many values are not 0.
    count_nonzero "count_nonzero" => Operation::CountNonzero;
}

/// Makes the functions that give an index, along one axis or of all values.
macro_rules! indices {
    ($($(#[$doc:meta])* $function:ident => $operation:expr;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, axis=None, *, keepdims=false, stream=None, device=None))]
        fn $function<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<i64>,
            keepdims: bool,
            stream: Option<&Bound<'py, PyAny>>,
            device: Option<&str>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let axis = axis.map(|axis| axis.into_pyobject(x.py())).transpose()?;
            let axis = axis.as_ref().map(|axis| axis.as_any());
            let options = Options { axis, dtype: None, keepdims, deterministic: false, stream, device };
            call::reduce(x, $operation, &options)
        }
    )*};
}

indices! {
    /// The index of the first of the least values, or of the first NaN; of all values in the order of C, or along an axis.
    argmin => Operation::ArgMin;
    /// The index of the first of the greatest values, or of the first NaN; of all values in the order of C, or along an axis.
    argmax => Operation::ArgMax;
}

/// A norm of vectors: the root of the sum of the squares (ord None or 2), the sum of the magnitudes (1), or the greatest (inf). The other
/// norms of matrices, which NumPy has under the same name, are refused.
#[pyfunction]
#[pyo3(signature = (x, ord=None, axis=None, *, keepdims=false, deterministic=false, stream=None, device=None))]
#[allow(clippy::too_many_arguments, reason = "they are Python's")]
fn norm<'py>(
    x: &Bound<'py, PyAny>,
    ord: Option<NormOrder>,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    deterministic: bool,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = Options {
        axis,
        dtype: None,
        keepdims,
        deterministic,
        stream,
        device,
    };
    call::norm(x, ord, &options)
}

/// The dot product of two arrays with one axis, of one type, which is also the result's.
#[pyfunction]
#[pyo3(signature = (x, y, *, deterministic=false, stream=None, device=None))]
fn dot<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    deterministic: bool,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    call::dot(x, y, deterministic, stream, device)
}

/// Makes the functions that are a running reduction.
macro_rules! scans {
    ($($(#[$doc:meta])* $function:ident => $operation:expr;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, axis=None, dtype=None, *, stream=None, device=None))]
        fn $function<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<i64>,
            dtype: Option<&Bound<'py, PyAny>>,
            stream: Option<&Bound<'py, PyAny>>,
            device: Option<&str>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call::scan(x, $operation, axis, dtype, stream, device)
        }
    )*};
}

scans! {
    /// The running sum along an axis, or of all values in the order of C. The order of additions follows from the number of values alone.
    cumsum => Operation::Sum;
    /// The running product along an axis, or of all values in the order of C.
    cumprod => Operation::Product;
}

/// What kernels run on: a line for each GPU that there is, or the reason why there is none.
#[pyfunction]
fn devices(py: Python<'_>) -> String {
    py.detach(|| warpfold::device::keep_current_context(|| warpfold::Device::best().describe()))
}

/// Reductions of arrays at the speed of the memory: of NumPy arrays on the processor's cores, and of arrays of torch, CuPy, JAX and others
/// with DLPack where they are, also on an NVIDIA GPU.
#[pymodule(name = "warpfold")]
mod module {
    #[pymodule_export]
    use super::{
        all, any, argmax, argmin, array::Array, count_nonzero, cumprod, cumsum, devices, dot,
        logsumexp, max, mean, min, minmax, norm, prod, std_, sum, var,
    };
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
