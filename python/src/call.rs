//! From the arguments of a call to its result.

use crate::arguments::{self, Asked, NormOrder, Options, reduced_axes, reduced_axis};
use crate::array::Array;
use crate::failed::Failed;
use crate::memory::Memory;
use crate::on_device::{self, Task};
use crate::on_host::{self, Split, Work};
use crate::operation::Operation;
use crate::output::{self, Output};
use crate::source::{Library, Place, Source};
use crate::threads;
use crate::view::{Axis, View, count};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyTuple};
use std::slice;
use std::sync::Arc;
use warpfold::DeviceChoice;
use warpfold_dynamic::TypeName;

/// Arrays of the host that one thread reduces sooner than it wakes others.
const FEW: usize = 1 << 14;

/// The result of a reduction.
///
/// # Errors
/// An array or arguments that are refused, and failures of the device.
pub fn reduce<'py>(
    x: &Bound<'py, PyAny>,
    operation: Operation,
    options: &Options<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = arguments::device(options.device)?;
    let source = Source::of(x, options.stream)?;
    reduce_source(&source, operation, options, device)
}

/// A norm of vectors.
///
/// # Errors
/// As [`reduce`], and what NumPy takes for a norm of matrices.
pub fn norm<'py>(
    x: &Bound<'py, PyAny>,
    order: Option<NormOrder>,
    options: &Options<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = arguments::device(options.device)?;
    let source = Source::of(x, options.stream)?;
    let axes = source.view.axes.len();
    let reduced = reduced_axes(options.axis, axes)?;
    let vectors = reduced.iter().filter(|&&is_reduced| is_reduced).count();
    if order.is_some() && vectors > 1 {
        return Err(PyValueError::new_err(
            "ord: of more than one axis NumPy has norms of matrices, which warpfold has not: give one axis, or leave ord out",
        ));
    }
    let operation = order.map_or(Operation::Norm2, NormOrder::operation);
    reduce_source(&source, operation, options, device)
}

fn reduce_source<'py>(
    source: &Source<'py>,
    operation: Operation,
    options: &Options<'_, 'py>,
    device: Asked,
) -> PyResult<Bound<'py, PyAny>> {
    let view = &source.view;
    let reduced = reduced_axes(options.axis, view.axes.len())?;
    let asked = options.dtype.map(output::type_of).transpose()?;
    let work = Work {
        operation,
        result: operation.result(view.element, asked)?,
        is_deterministic: options.deterministic,
    };
    let axes = |is_asked: bool| -> Vec<Axis> {
        let axes = view.axes.iter().zip(&reduced);
        axes.filter(|&(_, &is_reduced)| is_reduced == is_asked)
            .map(|(&axis, _)| axis)
            .collect()
    };
    let split = Split {
        kept: axes(false),
        reduced: axes(true),
    };
    let mut shape: Vec<usize> = Vec::new();
    for (axis, &is_reduced) in view.axes.iter().zip(&reduced) {
        match is_reduced {
            true if options.keepdims => shape.push(1),
            true => {}
            false => shape.push(axis.length),
        }
    }
    let has_two = work.results_of_place() == 2;
    if has_two {
        shape.push(2);
    }
    // More results than any memory has room for are refused before any is made.
    count_of(&split.kept)?;
    if count(&split.reduced) == 0 && operation.needs_values() {
        return Err(PyValueError::new_err(
            "there is no least, greatest or first of no values: the reduced axes have length 0",
        ));
    }
    let result = match (source.place, source.library) {
        (Place::Gpu(index), library) => {
            unless_elsewhere(source, device)?;
            match library {
                Library::Torch | Library::CuPy => {
                    let output = output::new(source, &shape, work.result)?;
                    on_gpu(source, index, &split, &work, &output)?;
                    output.array
                }
                _ => on_gpu_of_others(source, index, &split, &work, &shape)?,
            }
        }
        (Place::Host, _) => {
            let output = output::new(source, &shape, work.result)?;
            on_host(source, device, &split, &work, &output)?;
            match source.library {
                Library::Other => of_library(&source.object, output.array, work.result)?,
                _ => output.array,
            }
        }
    };
    let py = result.py();
    if has_two {
        let of = |place: usize| -> PyResult<Bound<'py, PyAny>> {
            if let Ok(array) = result.cast::<Array>() {
                return Ok(Bound::new(py, array.get().at_last(place))?.into_any());
            }
            let index = (PyEllipsis::get(py), place);
            scalar(source, result.get_item(index)?)
        };
        return Ok(PyTuple::new(py, [of(0)?, of(1)?])?.into_any());
    }
    scalar(source, result)
}

/// Refuses another device than that whose memory the array is in.
fn unless_elsewhere(source: &Source<'_>, device: Asked) -> PyResult<()> {
    match (source.place, device) {
        (Place::Gpu(index), asked)
            if asked != Asked::Nothing && asked != Asked::Device(DeviceChoice::Gpu(index)) =>
        {
            Err(PyValueError::new_err(format!(
                "device: the array is in the memory of GPU {index}, where it is reduced: leave device out, or copy the array"
            )))
        }
        _ => Ok(()),
    }
}

/// An array of NumPy without axes becomes a scalar, as NumPy itself has it.
fn scalar<'py>(source: &Source<'py>, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = result.py();
    if source.library != Library::NumPy {
        return Ok(result);
    }
    // Of an array with axes it is the array.
    result.get_item(PyTuple::empty(py))
}

/// The product of lengths, each of which may be 0, so that others may be anything.
fn count_of(axes: &[Axis]) -> PyResult<usize> {
    if axes.iter().any(|axis| axis.length == 0) {
        return Ok(0);
    }
    let product = axes
        .iter()
        .try_fold(1_usize, |count, axis| count.checked_mul(axis.length));
    product.ok_or_else(|| {
        PyMemoryError::new_err("there are more results than any memory has room for")
    })
}

/// What the reduction of no values gives.
fn of_nothing(operation: Operation) -> f64 {
    match operation {
        Operation::Product | Operation::All => 1.0,
        Operation::Mean | Operation::Variance { .. } | Operation::StdDev { .. } => f64::NAN,
        Operation::LogSumExp => f64::NEG_INFINITY,
        _ => 0.0,
    }
}

/// Fills an array with what the reduction of no values gives.
fn fill(source: &Source<'_>, array: &Bound<'_, PyAny>, operation: Operation) -> PyResult<()> {
    let value = of_nothing(operation);
    let fill = match source.library {
        Library::Torch => "fill_",
        _ => "fill",
    };
    array.call_method1(fill, (value,))?;
    Ok(())
}

/// The bytes of results.
fn bytes_of(output: &Output<'_>, split: &Split, work: &Work) -> usize {
    debug_assert_ne!(output.address, 0);
    count(&split.kept) * work.results_of_place() * work.result.bytes()
}

fn on_host(
    source: &Source<'_>,
    device: Asked,
    split: &Split,
    work: &Work,
    output: &Output<'_>,
) -> PyResult<()> {
    if count_of(&split.kept)? == 0 {
        return Ok(());
    }
    if source.view.count() == 0 {
        return fill(source, &output.array, work.operation);
    }
    let (address, bytes) = (output.address as usize, bytes_of(output, split, work));
    let view = &source.view;
    let reduced = source.object.py().detach(|| {
        // SAFETY: the array of the results was made for this call, with as many bytes, and nobody else has it yet.
        let results = unsafe { slice::from_raw_parts_mut(address as *mut u8, bytes) };
        // SAFETY: the source keeps the memory. As with NumPy's own functions, whoever lets another thread write to an array that is being
        // reduced gets a result of either contents.
        unsafe {
            match device {
                Asked::Device(device) => {
                    on_device::reduce(device, Task { view, split, work }, results)
                }
                _ if view.count() <= FEW && work.is_simple(view.element, split) => {
                    on_host::reduce(view, split, work, results)
                }
                _ => threads::with(|| on_host::reduce(view, split, work, results)),
            }
        }
    });
    Ok(reduced?)
}

fn on_gpu(
    source: &Source<'_>,
    index: u32,
    split: &Split,
    work: &Work,
    output: &Output<'_>,
) -> PyResult<()> {
    if count_of(&split.kept)? == 0 {
        return Ok(());
    }
    if source.view.count() == 0 {
        return fill(source, &output.array, work.operation);
    }
    let (view, stream, address) = (&source.view, source.stream, output.address);
    let queued = source.object.py().detach(|| {
        // SAFETY: torch keeps the tensor's memory for a given stream, and reuses it in the order of its own current one; whoever gives a
        // stream with an array of another library keeps that, as the stub says. The results were made for this call, in the order of the
        // same stream.
        unsafe { on_device::queue(index, stream, Task { view, split, work }, address) }
    });
    Ok(queued?)
}

/// The result for a library that allocates none: complete when this returns.
fn on_gpu_of_others<'py>(
    source: &Source<'py>,
    index: u32,
    split: &Split,
    work: &Work,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let py = source.object.py();
    if count_of(&split.kept)? == 0 || source.view.count() == 0 {
        return Err(PyValueError::new_err(
            "an array without elements, in a GPU's memory, is reduced for torch and CuPy only",
        ));
    }
    let (view, stream) = (&source.view, source.stream);
    let made = py.detach(|| -> Result<Memory, Failed> {
        let task = Task { view, split, work };
        let memory = Memory::new(index, task.result_bytes())?;
        // SAFETY: the tensor that was exported for this stream keeps the memory, and so does this for the results, until the end of the work
        // below.
        unsafe {
            on_device::queue(index, stream, task, memory.address())?;
            on_device::synchronize(index, stream)?;
        }
        Ok(memory)
    });
    let array = Array {
        memory: Arc::new(made?),
        lengths: shape.to_vec(),
        element: work.result,
        first: 0,
        step: 1,
    };
    of_library(
        &source.object,
        Bound::new(py, array)?.into_any(),
        work.result,
    )
}

/// The result as an array of the library whose the input is, where that says how.
fn of_library<'py>(
    object: &Bound<'py, PyAny>,
    result: Bound<'py, PyAny>,
    element: TypeName,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let Some(namespace) = object.getattr_opt(intern!(py, "__array_namespace__"))? else {
        return Ok(result);
    };
    // NumPy does not lend arrays of bfloat16.
    let function = match (element.name(), result.cast::<Array>()) {
        ("bf16", Err(_)) => intern!(py, "asarray"),
        _ => intern!(py, "from_dlpack"),
    };
    namespace.call0()?.call_method1(function, (result,))
}

/// The dot product of two arrays.
///
/// # Errors
/// Arrays that do not fit one another, and as [`reduce`].
pub fn dot<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    is_deterministic: bool,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = arguments::device(device)?;
    let left = Source::of(x, stream)?;
    // The second array is made ready for the stream of the first.
    let right = match left.place {
        Place::Host => Source::of(y, stream),
        Place::Gpu(_) => Source::on(y, left.stream),
    }?;
    let refused = |reason: String| Err(PyValueError::new_err(reason));
    let shapes = [&left, &right].map(|source| {
        let lengths = source.view.axes.iter().map(|axis| axis.length);
        lengths.collect::<Vec<_>>()
    });
    if shapes[0].len() != 1 || shapes[0] != shapes[1] {
        return refused(format!(
            "arrays of shape {:?} and {:?} have no dot product here: give two of one axis and the same length",
            shapes[0], shapes[1]
        ));
    }
    if left.view.element != right.view.element {
        return Err(PyTypeError::new_err(format!(
            "arrays of {} and {} are not multiplied: convert one to the type of the other",
            left.view.element, right.view.element
        )));
    }
    if left.place != right.place {
        return refused(
            "the arrays are in different memories: copy one to where the other is".to_owned(),
        );
    }
    unless_elsewhere(&left, device)?;
    let output = output::new(&left, &[], left.view.element)?;
    let work = Work {
        operation: Operation::Sum,
        result: left.view.element,
        is_deterministic,
    };
    if left.view.count() == 0 {
        fill(&left, &output.array, Operation::Sum)?;
        return scalar(&left, output.array);
    }
    let (bytes, address) = (work.result.bytes(), output.address as usize);
    let (views, stream) = ([&left.view, &right.view], left.stream);
    let place = left.place;
    let computed = x.py().detach(|| {
        // SAFETY: the array of the result was made for this call, with as many bytes, and nobody else has it yet.
        let result = || unsafe { slice::from_raw_parts_mut(address as *mut u8, bytes) };
        // SAFETY: the sources keep the memory; what is said of other threads and of streams where arrays are reduced holds here too.
        unsafe {
            match (place, device) {
                (Place::Host, Asked::Nothing | Asked::Processor) => {
                    let result = result();
                    threads::with(|| on_host::dot(views[0], views[1], is_deterministic, result))
                }
                (Place::Host, Asked::Device(device)) => {
                    on_device::dot(device, views, is_deterministic, result())
                }
                (Place::Gpu(index), _) => {
                    on_device::queue_dot(index, stream, views, is_deterministic, address as u64)
                }
            }
        }
    });
    computed?;
    let result = match left.library {
        Library::Other => of_library(&left.object, output.array, work.result)?,
        _ => output.array,
    };
    scalar(&left, result)
}

/// A running sum or product.
///
/// # Errors
/// As [`reduce`].
pub fn scan<'py>(
    x: &Bound<'py, PyAny>,
    operation: Operation,
    axis: Option<i64>,
    dtype: Option<&Bound<'py, PyAny>>,
    stream: Option<&Bound<'py, PyAny>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = arguments::device(device)?;
    let source = Source::of(x, stream)?;
    unless_elsewhere(&source, device)?;
    let view: &View = &source.view;
    let asked = dtype.map(output::type_of).transpose()?;
    let result = operation.result(view.element, asked)?;
    let work = Work {
        operation,
        result,
        is_deterministic: true,
    };
    // An array without axes has one value, whatever the axis.
    let along = axis
        .map(|axis| reduced_axis(axis, view.axes.len().max(1)))
        .transpose()?
        .filter(|_| !view.axes.is_empty());
    let (kept, reduced): (Vec<Axis>, Vec<Axis>) = match along {
        None => (Vec::new(), view.axes.clone()),
        Some(along) => {
            let kept = view
                .axes
                .iter()
                .enumerate()
                .filter(|&(axis, _)| axis != along);
            (
                kept.map(|(_, &axis)| axis).collect(),
                vec![view.axes[along]],
            )
        }
    };
    let shape: Vec<usize> = match along {
        None => vec![view.count()],
        Some(_) => kept
            .iter()
            .chain(&reduced)
            .map(|axis| axis.length)
            .collect(),
    };
    let split = Split { kept, reduced };
    let output = output::new(&source, &shape, result)?;
    if view.count() > 0 {
        let (address, bytes) = (output.address as usize, view.count() * result.bytes());
        let (place, stream) = (source.place, source.stream);
        let task = Task {
            view,
            split: &split,
            work: &work,
        };
        let scanned = x.py().detach(|| {
            // SAFETY: the array of the results was made for this call, with as many bytes, and nobody else has it yet.
            let results = || unsafe { slice::from_raw_parts_mut(address as *mut u8, bytes) };
            // SAFETY: the source keeps the memory; what is said of other threads and of streams where arrays are reduced holds here too.
            unsafe {
                match (place, device) {
                    (Place::Host, Asked::Nothing | Asked::Processor) => {
                        let results = results();
                        threads::with(|| on_host::scan(view, &split, &work, results))
                    }
                    (Place::Host, Asked::Device(device)) => {
                        on_device::scan(device, task, results())
                    }
                    (Place::Gpu(index), _) => {
                        on_device::queue_scan(index, stream, task, address as u64)
                    }
                }
            }
        });
        scanned?;
    }
    let result = moved(&source, output.array, along)?;
    match source.library {
        Library::Other => of_library(&source.object, result, work.result),
        _ => Ok(result),
    }
}

/// The results in the order of the array's axes, of which the scanned one is last.
fn moved<'py>(
    source: &Source<'py>,
    result: Bound<'py, PyAny>,
    along: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = source.view.axes.len();
    let Some(along) = along.filter(|&along| along + 1 < axes) else {
        return Ok(result);
    };
    let order: Vec<usize> = (0..along)
        .chain([axes - 1])
        .chain(along..axes - 1)
        .collect();
    let permute = match source.library {
        Library::Torch => "permute",
        _ => "transpose",
    };
    result.call_method1(permute, PyTuple::new(result.py(), order)?)
}
