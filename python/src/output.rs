//! Results as arrays of the library whose the input is.

use crate::operation::{name_of, type_named};
use crate::source::{Library, Place, Source, stream_of_torch, within};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpfold_dynamic::TypeName;

/// An array for results, side by side in the order of C, and where its memory begins.
pub struct Output<'py> {
    /// The array.
    pub array: Bound<'py, PyAny>,
    /// The address of its first element.
    pub address: u64,
}

/// A new array of the library whose the source is, where that is.
///
/// # Errors
/// The library has no such type, or no memory.
pub fn new<'py>(source: &Source<'py>, shape: &[usize], of: TypeName) -> PyResult<Output<'py>> {
    let py = source.object.py();
    let shape = PyTuple::new(py, shape)?;
    match (source.library, source.place) {
        (Library::Torch, _) => of_torch(source, &shape, of),
        (Library::CuPy, _) => of_cupy(source, &shape, of),
        (_, Place::Host) => of_numpy(source, &shape, of),
        (_, Place::Gpu(_)) => Err(PyTypeError::new_err(
            "in a GPU's memory, dot, cumsum and cumprod take arrays of torch and CuPy only: convert the array by torch.from_dlpack",
        )),
    }
}

fn of_numpy<'py>(
    source: &Source<'py>,
    shape: &Bound<'py, PyTuple>,
    of: TypeName,
) -> PyResult<Output<'py>> {
    let py = shape.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let dtype = match (of.name(), source.library) {
        // NumPy itself has no such type; this one is from the library that made the array.
        ("bf16", Library::NumPy) => source.object.getattr(intern!(py, "dtype"))?,
        ("bf16", _) => py.import("ml_dtypes")?.getattr("bfloat16")?,
        _ => name_of(of).into_pyobject(py)?.into_any(),
    };
    let array = numpy.call_method1(intern!(py, "empty"), (shape, dtype))?;
    let interface = array.getattr(intern!(py, "__array_interface__"))?;
    let (address, _): (u64, bool) = interface.get_item(intern!(py, "data"))?.extract()?;
    Ok(Output { array, address })
}

fn of_torch<'py>(
    source: &Source<'py>,
    shape: &Bound<'py, PyTuple>,
    of: TypeName,
) -> PyResult<Output<'py>> {
    let py = shape.py();
    let torch = py.import(intern!(py, "torch"))?;
    let dtype = torch.getattr_opt(name_of(of))?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "this version of torch has no {}, which the result is of: update torch, or convert the tensor before",
            name_of(of)
        ))
    })?;
    let device = source.object.getattr(intern!(py, "device"))?;
    let arguments = PyDict::new(py);
    arguments.set_item(intern!(py, "dtype"), dtype)?;
    arguments.set_item(intern!(py, "device"), &device)?;
    let allocate = || torch.call_method(intern!(py, "empty"), (shape,), Some(&arguments));
    let cuda = torch.getattr(intern!(py, "cuda"))?;
    let array = match source.place {
        Place::Host => allocate(),
        Place::Gpu(_) => {
            // Memory that torch reuses has been freed in the order of the stream which is current when it is allocated.
            let current = cuda.call_method1(intern!(py, "current_stream"), (&device,))?;
            let handle: usize = current.getattr(intern!(py, "cuda_stream"))?.extract()?;
            if handle == source.stream {
                allocate()
            } else {
                let stream = stream_of_torch(&device, source.stream)?;
                within(&cuda.call_method1("stream", (stream,))?, allocate)
            }
        }
    }?;
    let address = array.call_method0(intern!(py, "data_ptr"))?.extract()?;
    Ok(Output { array, address })
}

fn of_cupy<'py>(
    source: &Source<'py>,
    shape: &Bound<'py, PyTuple>,
    of: TypeName,
) -> PyResult<Output<'py>> {
    let py = shape.py();
    let cupy = py.import(intern!(py, "cupy"))?;
    let dtype = match of.name() {
        "bf16" => source.object.getattr(intern!(py, "dtype"))?,
        _ => name_of(of).into_pyobject(py)?.into_any(),
    };
    let cuda = cupy.getattr(intern!(py, "cuda"))?;
    let device = source.object.getattr(intern!(py, "device"))?;
    let array = within(&device, || {
        let current = cuda.call_method0(intern!(py, "get_current_stream"))?;
        let handle: usize = current.getattr(intern!(py, "ptr"))?.extract()?;
        let allocate = || cupy.call_method1(intern!(py, "empty"), (shape, &dtype));
        if handle == source.stream {
            allocate()
        } else {
            // As torch, CuPy reuses memory in the order of a stream.
            let stream = match source.stream {
                0 | 1 => cuda.getattr("Stream")?.getattr("null")?,
                handle => cuda.call_method1("ExternalStream", (handle,))?,
            };
            within(&stream, allocate)
        }
    })?;
    let data = array.getattr(intern!(py, "data"))?;
    let address = data.getattr(intern!(py, "ptr"))?.extract()?;
    Ok(Output { array, address })
}

/// The type that somebody names: `"float64"`, `numpy.float64`, `numpy.dtype("f8")`, `torch.float64`.
///
/// # Errors
/// It is none that is reduced.
pub fn type_of(dtype: &Bound<'_, PyAny>) -> PyResult<TypeName> {
    let py = dtype.py();
    let text: String = dtype.str()?.extract()?;
    let text = text.strip_prefix("torch.").unwrap_or(&text);
    if let Some(found) = type_named(text) {
        return Ok(found);
    }
    // What else NumPy takes for a type.
    let numpy = py.import(intern!(py, "numpy"))?;
    let name: String = numpy
        .call_method1(intern!(py, "dtype"), (dtype,))?
        .getattr(intern!(py, "name"))?
        .extract()?;
    type_named(&name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "dtype: no result is of type {name}: leave it out, or give an integer or float of up to 64 bits"
        ))
    })
}
