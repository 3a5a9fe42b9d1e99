//! Results in a GPU's memory, for arrays of libraries that do not allocate them.

use crate::dlpack::{self, Described, Device, ON_GPU};
use crate::memory::Memory;
use crate::operation::{Kind, kind, name_of};
use crate::source::data_type;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice, PyTuple};
use std::sync::Arc;
use warpfold_dynamic::TypeName;

/// A result in a GPU's memory, complete when it is returned. Any library with DLPack takes it; the two of `minmax` one that takes strides,
/// since each has the other's values between its own.
#[pyclass(frozen, module = "warpfold", name = "Array")]
pub struct Array {
    /// The memory.
    pub memory: Arc<Memory>,
    /// The length of each axis.
    pub lengths: Vec<usize>,
    /// What the values are.
    pub element: TypeName,
    /// How many values lie before the first.
    pub first: usize,
    /// The distance of two neighbours in the order of C, in values.
    pub step: usize,
}

impl Array {
    /// All that have this index along the last axis.
    pub fn at_last(&self, index: usize) -> Self {
        let (&last, lengths) = self.lengths.split_last().expect("there is a last axis");
        Self {
            memory: self.memory.clone(),
            lengths: lengths.to_vec(),
            element: self.element,
            first: self.first + index * self.step,
            step: self.step * last,
        }
    }
}

#[pymethods]
impl Array {
    /// The length of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.lengths)
    }

    /// The name of the type of the values.
    #[getter]
    fn dtype(&self) -> &'static str {
        name_of(self.element)
    }

    fn __dlpack_device__(&self) -> (i32, u32) {
        (ON_GPU[0], self.memory.index)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, u32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The values are there already, for a stream like any other.
        let _ = stream;
        if dl_device.is_some_and(|asked| asked != self.__dlpack_device__()) || copy == Some(true) {
            return Err(PyBufferError::new_err(
                "the result is lent where it is: copy it by the library that takes it",
            ));
        }
        let mut strides = vec![self.step as i64; self.lengths.len()];
        for axis in (1..strides.len()).rev() {
            strides[axis - 1] = strides[axis] * self.lengths[axis] as i64;
        }
        let lent = Described {
            address: self.memory.address() + (self.first * self.element.bytes()) as u64,
            device: Device {
                kind: ON_GPU[0],
                index: self.memory.index as i32,
            },
            dtype: data_type(self.element),
            shape: self.lengths.iter().map(|&length| length as i64).collect(),
            strides: Some(strides),
        };
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        // SAFETY: the memory, which the capsule keeps, has these values.
        unsafe { dlpack::lend(py, lent, is_versioned, self.memory.clone()) }
    }

    /// A copy as a NumPy array.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let memory = &self.memory;
        let bytes = py.detach(|| memory.read());
        let bytes = bytes?;
        let count: usize = self.lengths.iter().product();
        let ends = (self.first + count * self.step) as isize;
        let own = PySlice::new(py, self.first as isize, ends, self.step as isize);
        let numpy = py.import(intern!(py, "numpy"))?;
        let dtype = match self.element.name() {
            "bf16" => py.import("ml_dtypes")?.getattr("bfloat16")?,
            _ => self.dtype().into_pyobject(py)?.into_any(),
        };
        numpy
            .call_method1("frombuffer", (PyBytes::new(py, &bytes), dtype))?
            .get_item(own)?
            .call_method1("reshape", (self.shape(py)?,))
    }

    /// The value of a result that is one.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy(py)?.call_method0("item")
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py)?.call_method0("__int__")
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match kind(self.element) {
            Kind::Signed | Kind::Unsigned => self.item(py),
            _ => Err(PyTypeError::new_err("only an integer is an index")),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.is_truthy()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let values: String = self.numpy(py)?.call_method0("__str__")?.extract()?;
        Ok(format!(
            "warpfold.Array({values}, dtype={}, device=gpu:{})",
            self.dtype(),
            self.memory.index
        ))
    }
}
