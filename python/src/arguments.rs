//! What Python's callers say besides the array.

use crate::operation::Operation;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use warpfold::DeviceChoice;

/// The arguments of a reduction besides the array.
pub struct Options<'a, 'py> {
    /// None, a number or several.
    pub axis: Option<&'a Bound<'py, PyAny>>,
    /// The type of the result, in the notation of any library.
    pub dtype: Option<&'a Bound<'py, PyAny>>,
    /// Whether the reduced axes stay, with length 1.
    pub keepdims: bool,
    /// Whether the result has the same bits everywhere.
    pub deterministic: bool,
    /// The stream that the work is queued on.
    pub stream: Option<&'a Bound<'py, PyAny>>,
    /// Where an array of the host is reduced.
    pub device: Option<&'a str>,
}

/// Which axes are reduced: a truth value for each. An array without axes may be asked for its first, as in NumPy.
///
/// # Errors
/// Axes that the array has not, twice the same, or none.
pub fn reduced_axes(axis: Option<&Bound<'_, PyAny>>, axes: usize) -> PyResult<Vec<bool>> {
    let Some(axis) = axis else {
        return Ok(vec![true; axes]);
    };
    let several = if axis.is_instance_of::<PyTuple>() || axis.is_instance_of::<PyList>() {
        axis.extract::<Vec<i64>>()
    } else {
        axis.extract::<i64>().map(|axis| vec![axis])
    };
    let several = several
        .map_err(|_| PyTypeError::new_err("axis: give None, an integer, or a tuple of integers"))?;
    if several.is_empty() {
        return Err(PyValueError::new_err(
            "axis: an empty tuple reduces nothing: give None for all axes",
        ));
    }
    let mut reduced = vec![false; axes.max(1)];
    for number in several {
        let place = reduced_axis(number, axes.max(1))?;
        if std::mem::replace(&mut reduced[place], true) {
            return Err(PyValueError::new_err(format!(
                "axis: {number} is there twice"
            )));
        }
    }
    reduced.truncate(axes);
    Ok(reduced)
}

/// The number of an axis, counted from the first.
///
/// # Errors
/// The array has no such axis.
pub fn reduced_axis(number: i64, axes: usize) -> PyResult<usize> {
    let place = if number < 0 {
        number + axes as i64
    } else {
        number
    };
    usize::try_from(place)
        .ok()
        .filter(|&place| place < axes)
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "axis {number} is out of bounds for array of dimension {axes}"
            ))
        })
}

/// Where an array is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Wherever its memory is: the host's by the processor.
    Nothing,
    /// By the processor.
    Processor,
    /// On this device.
    Device(DeviceChoice),
}

/// Where an array is to be reduced.
///
/// # Errors
/// A text that names no device.
pub fn device(text: Option<&str>) -> PyResult<Asked> {
    let text = match text {
        None => return Ok(Asked::Nothing),
        Some("cpu") => return Ok(Asked::Processor),
        Some(text) => text,
    };
    let choice = text.replacen("cuda", "gpu", 1).parse();
    match choice {
        Ok(choice @ (DeviceChoice::Gpu(_) | DeviceChoice::Emulator)) => Ok(Asked::Device(choice)),
        _ => Err(PyValueError::new_err(format!(
            "device: '{text}' names no device: give 'cpu', 'emulator', 'gpu' or 'gpu:N' (the GPU of index N, counted from 0)"
        ))),
    }
}

/// Which norm.
#[derive(Clone, Copy, Debug)]
pub struct NormOrder(f64);

impl<'py> FromPyObject<'_, 'py> for NormOrder {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let order = object.extract::<f64>().ok();
        order
            .filter(|&order| order == 1.0 || order == 2.0 || order == f64::INFINITY)
            .map(Self)
            .ok_or_else(|| PyValueError::new_err("ord: give None, 1, 2 or inf"))
    }
}

impl NormOrder {
    /// The operation.
    pub fn operation(self) -> Operation {
        match self.0 {
            1.0 => Operation::Norm1,
            2.0 => Operation::Norm2,
            _ => Operation::NormInf,
        }
    }
}
