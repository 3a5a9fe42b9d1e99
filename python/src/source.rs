//! Arrays as they come from Python: whose they are, and where their elements lie.

use crate::dlpack::{self, DataType, ON_GPU, ON_HOST, Taken};
use crate::operation::{element, type_named};
use crate::view::View;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};
use warpfold_dynamic::TypeName;

/// Whose array it is; results are made by the same library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// NumPy.
    NumPy,
    /// PyTorch.
    Torch,
    /// CuPy.
    CuPy,
    /// Any other that has DLPack, such as JAX.
    Other,
}

/// Where an array's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the host's.
    Host,
    /// In that of the GPU of this index.
    Gpu(u32),
}

/// An array, whose memory is there as long as this is.
pub struct Source<'py> {
    /// The array.
    pub object: Bound<'py, PyAny>,
    /// Where its elements are.
    pub view: View,
    /// Where the memory is.
    pub place: Place,
    /// Whose it is.
    pub library: Library,
    /// The stream that its work is queued on: the handle.
    pub stream: usize,
    _taken: Option<Taken>,
}

/// Whether an object is of a class of a module that has been imported: nobody has an array of another.
fn is_of(object: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = object.py();
    let modules = MODULES.get_or_try_init(py, || {
        let modules = py.import("sys")?.getattr("modules")?;
        PyResult::Ok(modules.cast_into::<PyDict>()?.unbind())
    })?;
    match modules.bind(py).get_item(module)? {
        // A module may be there before all of its classes are.
        Some(module) => match module.getattr_opt(class)? {
            Some(class) => object.is_instance(&class),
            None => Ok(false),
        },
        None => Ok(false),
    }
}

impl<'py> Source<'py> {
    /// The array that Python has given, ready for work on this stream of it, or on the current one of its library.
    ///
    /// # Errors
    /// It is none that is taken here: each error says why.
    pub fn of(object: &Bound<'py, PyAny>, stream: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        Self::ready_for(object, stream, None)
    }

    /// As [`Self::of`], for a stream by its handle.
    ///
    /// # Errors
    /// As there.
    pub fn on(object: &Bound<'py, PyAny>, handle: usize) -> PyResult<Self> {
        Self::ready_for(object, None, Some(handle))
    }

    fn ready_for(
        object: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
        handle: Option<usize>,
    ) -> PyResult<Self> {
        let py = object.py();
        if is_of(object, "numpy", "ndarray")? {
            return Self::of_numpy(object.clone(), stream);
        }
        let is_plain = object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>()
            || object.is_instance_of::<PyBool>()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyFloat>()
            || is_of(object, "numpy", "generic")?;
        if is_plain {
            let numpy = py.import(intern!(py, "numpy"))?;
            return Self::of_numpy(
                numpy.call_method1(intern!(py, "asarray"), (object,))?,
                stream,
            );
        }
        if !object.hasattr(intern!(py, "__dlpack__"))? {
            return Err(PyTypeError::new_err(format!(
                "{} is neither a NumPy array nor has it __dlpack__, as arrays of torch, CuPy and JAX have: convert it to one of them",
                object.get_type().name()?
            )));
        }
        let resolved;
        let (library, object) = if is_of(object, "torch", "Tensor")? {
            // What torch negates lazily, such as the imaginary part of a conjugate, its memory holds with the other sign.
            resolved = object.call_method0(intern!(py, "resolve_neg"))?;
            (Library::Torch, &resolved)
        } else if is_of(object, "cupy", "ndarray")? {
            (Library::CuPy, object)
        } else {
            (Library::Other, object)
        };
        let device = dlpack::device_of(object)?;
        let (place, on_host) = match (device.kind, u32::try_from(device.index)) {
            (kind, _) if ON_HOST.contains(&kind) => {
                refuse_stream(stream)?;
                (Place::Host, 0)
            }
            (kind, Ok(index)) if ON_GPU.contains(&kind) => (Place::Gpu(index), 0),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "the array is on device {} of DLPack's type {}: the host's memory and that of an NVIDIA GPU are taken",
                    device.index, device.kind
                )));
            }
        };
        let ready = || {
            let given = match (handle, stream) {
                (None, Some(stream)) => Some(handle_of(stream)?),
                (handle, _) => handle,
            };
            let handle = match given {
                Some(given) => given,
                None => current_stream(object, library)?,
            };
            // DLPack calls the default stream 1, since 0 would be ambiguous.
            let stream = i64::try_from(handle.max(1)).map_err(|_| {
                PyValueError::new_err(format!("stream: {handle} is no handle of a stream"))
            })?;
            let taken = dlpack::take(object, Some(stream))?;
            if given.is_some()
                && library == Library::Torch
                && handle != current_stream(object, library)?
            {
                // Otherwise torch gives the memory to others as soon as nobody holds the tensor any more.
                let stream = stream_of_torch(&object.getattr(intern!(py, "device"))?, handle)?;
                object.call_method1(intern!(py, "record_stream"), (stream,))?;
            }
            Ok((taken, handle))
        };
        let (taken, handle) = match place {
            Place::Gpu(index) => on_device_of(object, library, index, ready),
            Place::Host => dlpack::take(object, None).map(|taken| (taken, on_host)),
        }?;
        let described = taken.described()?;
        if !described.device.is_where(device) {
            return Err(PyTypeError::new_err(
                "the array's __dlpack_device__ and its tensor name different devices",
            ));
        }
        let view = View::checked(
            described.address,
            type_of(described.dtype)?,
            &described.shape,
            described.strides.as_deref(),
        )?;
        Ok(Self {
            object: object.clone(),
            view,
            place,
            library,
            stream: handle,
            _taken: Some(taken),
        })
    }

    /// By the description that NumPy gives of its own arrays, also of those that may not be written.
    fn of_numpy(
        mut object: Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let py = object.py();
        refuse_stream(stream)?;
        if !is_exactly_ndarray(&object)? && is_of(&object, "numpy.ma", "MaskedArray")? {
            return Err(PyTypeError::new_err(
                "a masked array has values that do not count, which warpfold does not know of: give array.compressed()",
            ));
        }
        let mut described = Interface::of(&object)?;
        let element = match type_of_text(&described.typestr) {
            Some(element) => element,
            None => type_of_numpy(&object.getattr(intern!(py, "dtype"))?)?,
        };
        let bytes = element.bytes() as i64;
        if !described.is_for(bytes) {
            // A field of a record, say.
            let numpy = py.import(intern!(py, "numpy"))?;
            object = numpy.call_method1(intern!(py, "array"), (object,))?;
            described = Interface::of(&object)?;
        }
        let strides = described.strides.map(|strides| {
            let strides: Vec<i64> = strides.iter().map(|stride| stride / bytes).collect();
            strides
        });
        let view = View::checked(
            described.address,
            element,
            &described.shape,
            strides.as_deref(),
        )?;
        Ok(Self {
            object,
            view,
            place: Place::Host,
            library: Library::NumPy,
            stream: 0,
            _taken: None,
        })
    }
}

fn is_exactly_ndarray(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    Ok(class.name()? == "ndarray" && class.module()? == "numpy")
}

/// NumPy's description of an array.
struct Interface {
    address: u64,
    typestr: String,
    shape: Vec<i64>,
    /// In bytes.
    strides: Option<Vec<i64>>,
}

impl Interface {
    fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = array.py();
        let described = array.getattr(intern!(py, "__array_interface__"))?;
        let (address, _): (u64, bool) = described.get_item(intern!(py, "data"))?.extract()?;
        Ok(Self {
            address,
            typestr: described.get_item(intern!(py, "typestr"))?.extract()?,
            shape: described.get_item(intern!(py, "shape"))?.extract()?,
            strides: described.get_item(intern!(py, "strides"))?.extract()?,
        })
    }

    /// Whether elements of this many bytes are at addresses for them, a whole number of them apart.
    fn is_for(&self, bytes: i64) -> bool {
        let mut strides = self.strides.iter().flatten();
        self.address.is_multiple_of(bytes as u64) && strides.all(|stride| stride % bytes == 0)
    }
}

/// The element type that NumPy writes so, in this machine's byte order.
fn type_of_text(typestr: &str) -> Option<TypeName> {
    let text = match cfg!(target_endian = "little") {
        true => typestr.strip_prefix(['<', '|']),
        false => typestr.strip_prefix(['>', '|']),
    };
    Some(element(match text? {
        "b1" => "bool",
        "i1" => "i8",
        "u1" => "u8",
        "i2" => "i16",
        "u2" => "u16",
        "i4" => "i32",
        "u4" => "u32",
        "i8" => "i64",
        "u8" => "u64",
        "f2" => "f16",
        "f4" => "f32",
        "f8" => "f64",
        _ => return None,
    }))
}

/// The element type of a NumPy array, by what the type says of itself.
fn type_of_numpy(dtype: &Bound<'_, PyAny>) -> PyResult<TypeName> {
    let py = dtype.py();
    let order: String = dtype.getattr(intern!(py, "byteorder"))?.extract()?;
    let name: String = dtype.getattr(intern!(py, "name"))?.extract()?;
    let other = if cfg!(target_endian = "little") {
        ">"
    } else {
        "<"
    };
    if order == other {
        return Err(PyTypeError::new_err(format!(
            "the array is of {name} in the byte order of another machine: give array.astype(array.dtype.newbyteorder('='))"
        )));
    }
    type_named(&name).ok_or_else(|| unknown(&name))
}

fn unknown(name: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "elements of type {name} are not reduced: convert them to bool, an integer of 8 to 64 bits, float16, bfloat16, float32 or float64"
    ))
}

/// The element type of a tensor.
fn type_of(dtype: DataType) -> PyResult<TypeName> {
    let DataType { code, bits, lanes } = dtype;
    let found = match (code, bits, lanes) {
        (0, bits @ (8 | 16 | 32 | 64), 1) => type_named(&format!("int{bits}")),
        (1, bits @ (8 | 16 | 32 | 64), 1) => type_named(&format!("uint{bits}")),
        (2, bits @ (16 | 32 | 64), 1) => type_named(&format!("float{bits}")),
        (4, 16, 1) => type_named("bfloat16"),
        (6, 8, 1) => type_named("bool"),
        _ => None,
    };
    found.ok_or_else(|| {
        unknown(&format!(
            "(code {code}, {bits} bits, {lanes} lanes) of DLPack"
        ))
    })
}

/// What DLPack calls a type.
pub fn data_type(element: TypeName) -> DataType {
    let code = match element.name().as_bytes() {
        [b'i', ..] => 0,
        [b'u', ..] => 1,
        [b'f', ..] => 2,
        b"bf16" => 4,
        _ => 6,
    };
    DataType {
        code,
        bits: element.bytes() as u8 * 8,
        lanes: 1,
    }
}

fn refuse_stream(stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match stream {
        None => Ok(()),
        Some(_) => Err(PyValueError::new_err(
            "stream: the array is in the host's memory, where there are no streams: leave it out",
        )),
    }
}

/// The handle of a stream of any library.
fn handle_of(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = stream.py();
    if stream.is_instance_of::<PyBool>() {
        // True is a number to Python, and a stream of CUDA's too.
        return Err(no_stream(stream)?);
    }
    if stream.is_instance_of::<PyInt>() {
        // CUDA knows the default stream by both numbers.
        let handle: usize = stream.extract()?;
        return Ok(if handle == 1 { 0 } else { handle });
    }
    if let Some(protocol) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let described = match protocol.is_callable() {
            true => protocol.call0()?,
            false => protocol,
        };
        let (_, handle): (usize, usize) = described.extract()?;
        return Ok(handle);
    }
    for name in ["cuda_stream", "ptr"] {
        if let Some(handle) = stream.getattr_opt(name)? {
            return handle.extract();
        }
    }
    Err(no_stream(stream)?)
}

fn no_stream(stream: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    Ok(PyTypeError::new_err(format!(
        "stream: {} is no stream: give one of torch or CuPy, one with __cuda_stream__, or the handle as a number",
        stream.get_type().name()?
    )))
}

/// Runs a function while the array's GPU is the library's current one: by that the library knows its current stream.
fn on_device_of<R>(
    object: &Bound<'_, PyAny>,
    library: Library,
    index: u32,
    function: impl FnOnce() -> PyResult<R>,
) -> PyResult<R> {
    let py = object.py();
    let (current, device): (u32, _) = match library {
        Library::Torch => {
            let cuda = py.import(intern!(py, "torch.cuda"))?;
            let current = cuda.call_method0(intern!(py, "current_device"))?;
            (current.extract()?, cuda.getattr(intern!(py, "device"))?)
        }
        Library::CuPy => {
            let cuda = py.import(intern!(py, "cupy.cuda"))?;
            let runtime = cuda.getattr(intern!(py, "runtime"))?;
            let current = runtime.call_method0(intern!(py, "getDevice"))?;
            (current.extract()?, cuda.getattr(intern!(py, "Device"))?)
        }
        Library::NumPy | Library::Other => return function(),
    };
    if current == index {
        return function();
    }
    within(&device.call1((index,))?, function)
}

/// Runs a function within a context manager.
///
/// # Errors
/// What the function or the manager raises.
pub fn within<R>(
    manager: &Bound<'_, PyAny>,
    function: impl FnOnce() -> PyResult<R>,
) -> PyResult<R> {
    let py = manager.py();
    manager.call_method0(intern!(py, "__enter__"))?;
    let result = function();
    let none = py.None();
    manager.call_method1(intern!(py, "__exit__"), (&none, &none, &none))?;
    result
}

/// The stream of torch's for a handle, on a device of torch's.
///
/// # Errors
/// What torch raises.
pub fn stream_of_torch<'py>(
    device: &Bound<'py, PyAny>,
    handle: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = device.py();
    let cuda = py.import(intern!(py, "torch.cuda"))?;
    match handle {
        0 | 1 => cuda.call_method1(intern!(py, "default_stream"), (device,)),
        handle => cuda.call_method1(intern!(py, "ExternalStream"), (handle, device)),
    }
}

/// The stream on which the library queues work now: the handle.
fn current_stream(object: &Bound<'_, PyAny>, library: Library) -> PyResult<usize> {
    let py = object.py();
    let (stream, handle) = match library {
        Library::Torch => {
            let cuda = py.import(intern!(py, "torch.cuda"))?;
            (
                cuda.call_method0(intern!(py, "current_stream"))?,
                intern!(py, "cuda_stream"),
            )
        }
        Library::CuPy => {
            let cuda = py.import(intern!(py, "cupy.cuda"))?;
            (
                cuda.call_method0(intern!(py, "get_current_stream"))?,
                intern!(py, "ptr"),
            )
        }
        Library::NumPy | Library::Other => return Ok(0),
    };
    stream.getattr(handle)?.extract()
}
