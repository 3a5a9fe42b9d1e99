//! Tensors that libraries hand to each other: the structs of `dlpack.h`, and the capsules that carry them.

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{ffi, intern};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::slice;

/// `kDLCPU`, and host memory that a GPU can reach: `kDLCUDAHost`.
pub const ON_HOST: [i32; 2] = [1, 3];
/// `kDLCUDA`, and `kDLCUDAManaged`.
pub const ON_GPU: [i32; 2] = [2, 13];

/// The newest major version of the structs that is read here.
const MAJOR: u32 = 1;
/// More axes than any library gives a tensor.
const MOST_AXES: i32 = 64;

const PLAIN: &CStr = c"dltensor";
const USED_PLAIN: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// `DLDevice`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Which memory.
    pub kind: i32,
    /// Which GPU.
    pub index: i32,
}

impl Device {
    /// Whether both are the host's memory, of whichever kind, or that of one GPU. torch says of a page-locked tensor in one place that it is
    /// page-locked, and in another that it is in plain memory of the host.
    pub fn is_where(self, other: Self) -> bool {
        let are = |kinds: [i32; 2]| kinds.contains(&self.kind) && kinds.contains(&other.kind);
        self == other || are(ON_HOST) || are(ON_GPU) && self.index == other.index
    }
}

/// `DLDataType`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// Integers are 0, unsigned ones 1, floats 2, bfloat16 4 and truth values 6.
    pub code: u8,
    /// Bits of an element.
    pub bits: u8,
    /// Numbers of an element that is a vector; 1 otherwise.
    pub lanes: u16,
}

/// `DLTensor`
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`
#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`
#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Tensor,
}

/// A tensor that was taken out of its capsule; given back when it is dropped, which the interpreter's lock is held for.
pub struct Taken(Kind);

enum Kind {
    Plain(NonNull<Managed>),
    Versioned(NonNull<ManagedVersioned>),
}

/// What a tensor says of itself. Nothing of it is checked but that it can be read.
pub struct Described {
    /// Where the first element is, with the offset.
    pub address: u64,
    /// Where the memory is.
    pub device: Device,
    /// What the elements are.
    pub dtype: DataType,
    /// The length of each axis.
    pub shape: Vec<i64>,
    /// The distance of two neighbours along each, in elements; none where they lie side by side in the order of C.
    pub strides: Option<Vec<i64>>,
}

/// Where the object's memory is.
///
/// # Errors
/// What its `__dlpack_device__` raises, or that it returns something else than two numbers.
pub fn device_of(object: &Bound<'_, PyAny>) -> PyResult<Device> {
    let py = object.py();
    let (kind, index) = object
        .call_method0(intern!(py, "__dlpack_device__"))?
        .extract()?;
    Ok(Device { kind, index })
}

/// The object's tensor, ready for work on this stream.
///
/// # Errors
/// What its `__dlpack__` raises; what it returns is no capsule of a tensor, or one that somebody else has taken, or of another major version.
pub fn take(object: &Bound<'_, PyAny>, stream: Option<i64>) -> PyResult<Taken> {
    let py = object.py();
    let arguments = pyo3::types::PyDict::new(py);
    if let Some(stream) = stream {
        arguments.set_item(intern!(py, "stream"), stream)?;
    }
    let plain = arguments.copy()?;
    arguments.set_item(intern!(py, "max_version"), (MAJOR, 0))?;
    let export = object.getattr(intern!(py, "__dlpack__"))?;
    // Libraries from before the versions do not know the argument.
    let capsule = match export.call((), Some(&arguments)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call((), Some(&plain)),
        other => other,
    }?;
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|_| {
        PyTypeError::new_err("__dlpack__ has returned no capsule: give an array or a tensor")
    })?;
    Taken::out_of(&capsule)
}

impl Taken {
    fn out_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let (py, object) = (capsule.py(), capsule.as_ptr());
        let pointer = |name: &CStr| {
            // SAFETY: the object is a capsule, and the name a text.
            let is_named = unsafe { ffi::PyCapsule_IsValid(object, name.as_ptr()) } == 1;
            // SAFETY: as above, and its name is this one.
            is_named.then(|| unsafe { ffi::PyCapsule_GetPointer(object, name.as_ptr()) })
        };
        let rename = |name: &'static CStr| {
            // SAFETY: the object is a capsule, and the name lives as long as the program.
            match unsafe { ffi::PyCapsule_SetName(object, name.as_ptr()) } {
                0 => Ok(()),
                _ => Err(PyErr::fetch(py)),
            }
        };
        // A capsule that has been renamed does not call the deleter any more: whoever has renamed it does, once.
        if let Some(managed) = pointer(VERSIONED).and_then(NonNull::new) {
            let managed = managed.cast::<ManagedVersioned>();
            // SAFETY: a capsule of this name points to such a struct, whose first number tells the version of the rest.
            let major = unsafe { (*managed.as_ptr()).major };
            if major != MAJOR {
                return Err(PyBufferError::new_err(format!(
                    "the tensor is described in DLPack {major}, which this version of warpfold does not read: update one of the libraries"
                )));
            }
            rename(USED_VERSIONED)?;
            return Ok(Self(Kind::Versioned(managed)));
        }
        if let Some(managed) = pointer(PLAIN).and_then(NonNull::new) {
            rename(USED_PLAIN)?;
            return Ok(Self(Kind::Plain(managed.cast())));
        }
        Err(PyTypeError::new_err(
            "the capsule is not that of a tensor which nobody has taken yet: call with the array itself",
        ))
    }

    fn tensor(&self) -> &Tensor {
        // SAFETY: whoever made the capsule keeps the struct until its deleter is called, which happens when this is dropped.
        unsafe {
            match &self.0 {
                Kind::Plain(managed) => &managed.as_ref().tensor,
                Kind::Versioned(managed) => &managed.as_ref().tensor,
            }
        }
    }

    /// What the tensor says of itself.
    ///
    /// # Errors
    /// A number of axes that no tensor has, or axes without lengths.
    pub fn described(&self) -> PyResult<Described> {
        let tensor = self.tensor();
        let ndim = match tensor.ndim {
            ndim @ 0..=MOST_AXES => ndim as usize,
            other => {
                return Err(PyBufferError::new_err(format!(
                    "the tensor says that it has {other} axes: 0 to {MOST_AXES} are taken"
                )));
            }
        };
        let numbers = |pointer: *mut i64| {
            // SAFETY: as the standard says, each pointer that is not null has as many numbers as there are axes.
            (!pointer.is_null()).then(|| unsafe { slice::from_raw_parts(pointer, ndim) }.to_vec())
        };
        let shape = match ndim {
            0 => Vec::new(),
            _ => numbers(tensor.shape).ok_or_else(|| {
                PyBufferError::new_err("the tensor has axes without lengths: nothing can be read")
            })?,
        };
        let address = (tensor.data as u64).checked_add(tensor.byte_offset);
        Ok(Described {
            address: address.ok_or_else(|| {
                PyBufferError::new_err("the tensor begins after the last address of any memory")
            })?,
            device: tensor.device,
            dtype: tensor.dtype,
            shape,
            strides: match ndim {
                0 => None,
                _ => numbers(tensor.strides),
            },
        })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the capsule was renamed, so that nobody else calls the deleter, and this is the one call; nothing refers to the struct
        // any more. A struct may have no deleter.
        unsafe {
            match self.0 {
                Kind::Plain(managed) => {
                    if let Some(deleter) = (*managed.as_ptr()).deleter {
                        deleter(managed.as_ptr());
                    }
                }
                Kind::Versioned(managed) => {
                    if let Some(deleter) = (*managed.as_ptr()).deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
        }
    }
}

/// What a result keeps alive while its tensor is in another library's hands.
struct Lent<O> {
    managed: ManagedParts,
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    _owner: O,
}

enum ManagedParts {
    Plain(Managed),
    Versioned(ManagedVersioned),
}

/// A capsule of a tensor whose memory `owner` keeps.
///
/// # Errors
/// Python has no memory.
///
/// # Safety
/// As long as the owner is alive, the elements are where the tensor says.
pub unsafe fn lend<'py, O: Send + 'static>(
    py: Python<'py>,
    lent: Described,
    is_versioned: bool,
    owner: O,
) -> PyResult<Bound<'py, PyAny>> {
    let Described {
        address,
        device,
        dtype,
        shape,
        strides,
    } = lent;
    let empty = || Tensor {
        data: address as *mut c_void,
        device,
        ndim: shape.len() as i32,
        dtype,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = if is_versioned {
        ManagedParts::Versioned(ManagedVersioned {
            major: MAJOR,
            minor: 0,
            context: std::ptr::null_mut(),
            deleter: Some(delete_versioned::<O>),
            flags: 0,
            tensor: empty(),
        })
    } else {
        ManagedParts::Plain(Managed {
            tensor: empty(),
            context: std::ptr::null_mut(),
            deleter: Some(delete_plain::<O>),
        })
    };
    let lent = Box::into_raw(Box::new(Lent {
        managed,
        shape,
        strides,
        _owner: owner,
    }));
    // SAFETY: the box is this function's own, and stays where it is. The pointers to its parts are valid until it is freed.
    let (pointer, name) = unsafe {
        let shape = (*lent).shape.as_mut_ptr();
        let strides = match &mut (*lent).strides {
            Some(strides) => strides.as_mut_ptr(),
            None => std::ptr::null_mut(),
        };
        match &mut (*lent).managed {
            ManagedParts::Plain(managed) => {
                (managed.tensor.shape, managed.tensor.strides) = (shape, strides);
                managed.context = lent.cast();
                ((&raw mut *managed).cast::<c_void>(), PLAIN)
            }
            ManagedParts::Versioned(managed) => {
                (managed.tensor.shape, managed.tensor.strides) = (shape, strides);
                managed.context = lent.cast();
                ((&raw mut *managed).cast::<c_void>(), VERSIONED)
            }
        }
    };
    // SAFETY: the pointer is not null, the name lives as long as the program, and the destructor is one for such capsules.
    let capsule = unsafe { ffi::PyCapsule_New(pointer, name.as_ptr(), Some(end_of_capsule)) };
    if capsule.is_null() {
        // SAFETY: nobody has seen the box.
        drop(unsafe { Box::from_raw(lent) });
    }
    // SAFETY: it is a new reference, or null where an error is set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// # Safety
/// The struct is one that [`lend`] has made with this owner; this is the one call.
unsafe extern "C" fn delete_plain<O>(managed: *mut Managed) {
    // SAFETY: its context is the box that it is part of.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Lent<O>>()) });
}

/// # Safety
/// As for [`delete_plain`].
unsafe extern "C" fn delete_versioned<O>(managed: *mut ManagedVersioned) {
    // SAFETY: its context is the box that it is part of.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Lent<O>>()) });
}

/// Frees what nobody has taken out of a capsule.
///
/// # Safety
/// The object is a capsule that [`lend`] has made.
unsafe extern "C" fn end_of_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: the object is a capsule. One that still has its first name has a tensor that nobody has taken, and whose deleter is there.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr());
            let managed = managed.cast::<ManagedVersioned>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast::<Managed>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}
