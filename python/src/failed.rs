//! Why there is no result.

use crate::operation::name_of;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use warpfold::Error;
use warpfold_dynamic::TypeName;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The device or a kernel fails.
    #[error(transparent)]
    Library(#[from] Error),
    /// An array that would take more than a copy.
    #[error(
        "no kernel goes through this many axes that do not lie side by side: give a copy whose elements do, such as x.contiguous() or cupy.ascontiguousarray(x)"
    )]
    Strides,
    /// A stream that is being captured.
    #[error(
        "the stream is being captured into a graph, in which nothing can be loaded or allocated: call before the capture begins"
    )]
    Capturing,
    /// The thread that a GPU's memory belongs to is not there.
    #[error("the thread that keeps the GPU's memory cannot be started or has ended: call again")]
    NoThread,
    /// A copy of an array, for which there is no memory.
    #[error(
        "there is no memory for {bytes} bytes of the array's copy: give fewer elements at once"
    )]
    NoMemory {
        /// The bytes of the copy.
        bytes: usize,
    },
    /// Operations that only the CPU has.
    #[error(
        "a device does not reduce {} to {} by this operation: leave dtype out, or convert the array before", name_of(*values), name_of(*result)
    )]
    NoKernel {
        /// The type of the array.
        values: TypeName,
        /// That of the results.
        result: TypeName,
    },
}

/// What Python raises.
impl From<Failed> for PyErr {
    fn from(error: Failed) -> Self {
        let text = error.to_string();
        match error {
            Failed::Strides => PyValueError::new_err(text),
            Failed::NoKernel { .. } => PyTypeError::new_err(text),
            Failed::NoMemory { .. } => PyMemoryError::new_err(text),
            Failed::Library(Error::Device(error)) if error.is_lack_of_memory() => {
                PyMemoryError::new_err(text)
            }
            _ => PyRuntimeError::new_err(text),
        }
    }
}
