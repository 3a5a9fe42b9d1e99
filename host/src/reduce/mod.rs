//! Reductions by any operator, of any type, of arrays, of the rows or columns of matrices, of segments and by key.
//!
//! ```
//! use warpfold::operator::{ArgMax, Variance};
//! use warpfold::{Device, DeviceChoice, Matrix, Reduction};
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let values = device.upload(&[3.0_f32, 1.0, 2.0, -7.0, -5.0, -6.0])?;
//!
//! let mut variance = Reduction::new(&device, Variance { ddof: 1 })?;
//! assert_eq!(variance.of(values.slice(..3))?, 1.0);
//! let mut argmax = Reduction::new(&device, ArgMax::FIRST)?;
//! assert_eq!(argmax.rows(&values, Matrix::contiguous(2, 3))?, [0, 1]);
//! assert_eq!(argmax.columns(&values, Matrix::contiguous(2, 3))?, [0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Reduction::of`], [`Reduction::rows`], [`Reduction::columns`] and [`Reduction::segments`] wait for their results; [`Reduction::queue`]
//! and its namesakes only queue the work and leave the results on the device. One launch makes all results, whatever the shape; by key
//! another one finds the runs before, for any number of reductions, and [`Runs`], which makes room for them, may take a few.
//! [`table`] says which kernel makes them.
//!
//! Results go to a [`Buffer`] or, as a [`SliceMut`], to a part of one or to memory that other code has allocated.
//!
//! Every operator of the library takes every type, since each pair has a meaning: a `bool` counts as 0 or 1, so that its mean is the share of
//! those that are true, and its log-sum-exp is ln Σ eˣ of zeros and ones. What is added, multiplied and compared in is the type's
//! [`Wide`](warpfold_device::element::Element::Wide), and quotients and roots are computed in its
//! [`Real`](warpfold_device::element::Element::Real). Another [`Accumulator`] of 64 bits is chosen by [`As`](crate::operator::As):
//!
//! ```
//! use warpfold::operator::{As, Sum};
//! use warpfold::{Device, DeviceChoice, Reduction};
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let values = device.upload(&[i32::MAX; 3])?;
//! let sum: i64 = Reduction::new(&device, As::<i64, _>::new(Sum))?.of(&values)?;
//! assert_eq!(sum, 3 * i64::from(i32::MAX));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An index has 64 bits, and 32 with [`ArgMax::with_index`](crate::operator::ArgMax::with_index), which is half as much to write; more values than
//! have such an index are refused:
//!
//! ```
//! use warpfold::operator::ArgMax;
//! use warpfold::{Device, DeviceChoice, Matrix, Reduction};
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let values = device.upload(&[3.0_f32, 1.0, 2.0, -7.0, -5.0, -6.0])?;
//! let mut argmax = Reduction::new(&device, ArgMax::FIRST.with_index::<u32>())?;
//! let indices: Vec<u32> = argmax.columns(&values, Matrix::contiguous(2, 3))?;
//! assert_eq!(indices, [0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Kernels with any other accumulator are a line of [`reductions!`](warpfold_device::reductions!) in a crate of your own, with the operator
//! in `As`; [`Reduction::from_ptx`] launches them.
//!
//! Functions like [`mean`](crate::mean) wait for one result, of values on the host or on the device.

#[doc(hidden)]
pub mod choice;
mod measured;
mod pairs;
mod runs;
mod segments;
#[doc(hidden)]
pub mod table;
#[cfg(test)]
mod tests;
mod untyped;

use crate::device::{
    Argument, Buffer, Device, DeviceError, Kernel, Pod, Shape, Slice, SliceMut, Stream,
};
use crate::family::Source;
use crate::kernels::Error;
use crate::matrix::{Along, Matrices, Matrix};
use crate::sum::Mode;
pub use pairs::{Accumulator, BuiltIn, Reducible};
pub use runs::{Key, QueuedRuns, Runs};
pub use segments::Segments;
use std::fmt;
use std::marker::PhantomData;
use table::{Launch, Problem};
use untyped::Parts;
pub use untyped::Plan;
pub(crate) use untyped::check_inside;
#[doc(hidden)]
pub use untyped::{Form, Untyped};
use warpfold_device::operator::Operator;
use warpfold_device::vector::Loaded;
#[doc(hidden)]
pub use warpfold_reductions::Text;

/// A reduction of values of type `T` by an operator `O`, again and again on one device: it keeps the kernels and the memory that they
/// need.
///
/// Reductions of one `Reduction` follow one another, on whichever streams they are queued. Where they are captured, whoever launches the
/// graph keeps that order.
///
/// A whole array that is larger than three quarters of a GPU's L2 cache, and up to eight times as large as the cache, is read so that half a cache full of
/// it stays there for the next launch.
pub struct Reduction<'d, T, O: Operator<T>> {
    device: &'d Device,
    kept: Kept<O::Output>,
    operator: O,
    mode: Mode,
    values: PhantomData<T>,
}

/// What is kept from one reduction to the next.
pub(crate) struct Kept<R> {
    untyped: Untyped,
    result: Buffer<R>,
}

impl<'d, T: Reducible, O: BuiltIn<T>> Reduction<'d, T, O> {
    /// Prepares for reductions by an operator of the library. No kernel is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(device: &'d Device, operator: O) -> Result<Self, Error> {
        let (name, parameter) = operator.kernels();
        let form = Form::of::<T, O>();
        // SAFETY: the form is that of this operator and this type.
        let untyped = unsafe { Untyped::of_library(device, name, O::KERNELS, parameter, form) };
        Self::of_untyped(device, operator, untyped?)
    }
}

impl<'d, T: Pod + Loaded, O: Operator<T, Output: Pod>> Reduction<'d, T, O> {
    /// Prepares for reductions by an operator of your own, from the PTX of a crate with a line `name: O, T;` in
    /// `warpfold_device::reductions!`; of a line `name(parameter): …`, with the parameter. No kernel is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Safety
    /// The kernels of this name in the PTX are those that `reductions!` makes of this operator, with this value, and this type.
    pub unsafe fn from_ptx(
        device: &'d Device,
        operator: O,
        ptx: impl Into<String>,
        name: &str,
        parameter: Option<u64>,
    ) -> Result<Self, Error> {
        let (name, form) = (name.to_owned(), Form::of::<T, O>());
        let untyped = Untyped::new(
            device,
            Source::Own(ptx.into().into()),
            name,
            parameter,
            form,
        )?;
        Self::of_untyped(device, operator, untyped)
    }

    fn of_untyped(device: &'d Device, operator: O, untyped: Untyped) -> Result<Self, Error> {
        Ok(Self {
            device,
            kept: Kept {
                untyped,
                result: device.allocate(0)?,
            },
            operator,
            mode: Mode::Fast,
            values: PhantomData,
        })
    }

    /// The same reduction in this order: [`Mode::Deterministic`] is that of [`warpfold_device::fixed`], which follows from the number of values
    /// of an array, a row, a column or a segment alone. The same values then give the same bits on every GPU, on the emulator, and by
    /// [`cpu`](crate::cpu) in its deterministic order.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// What the kernels' names begin with.
    pub(crate) fn kernels(&self) -> &str {
        self.kept.untyped.name()
    }

    /// The same reduction with what an earlier one with the same kernels has kept.
    pub(crate) fn keeping(self, kept: Kept<O::Output>) -> Self {
        let untyped = kept.untyped.with_parameter_of(&self.kept.untyped);
        Self {
            kept: Kept { untyped, ..kept },
            ..self
        }
    }

    /// What a later reduction may go on with.
    pub(crate) fn into_kept(self) -> Kept<O::Output> {
        self.kept
    }

    /// The operator.
    pub fn operator(&self) -> O {
        self.operator
    }

    /// The reduction of a buffer, of a part of one, or of other memory of the device; waits for it.
    ///
    /// # Errors
    /// The values are in the memory of another device, the device has no room for the states of the blocks, or it fails.
    pub fn of<'a>(&mut self, values: impl Into<Slice<'a, T>>) -> Result<O::Output, Error> {
        let values = values.into();
        let mut result = self.kept.result_buffer(self.device)?;
        let matrix = Matrix::contiguous(1, values.len());
        let queued = self.launch(None, values, Along::Rows, matrix, (&mut result).into());
        let read = queued.and_then(|()| Ok(result.read()?[0]));
        self.kept.result = result;
        read
    }

    /// The reduction of each row; waits for them. The indices that an operator like `ArgMax` gives are those within the row.
    ///
    /// # Errors
    /// As [`Self::of`], and [`Error::Outside`].
    pub fn rows<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
    ) -> Result<Vec<O::Output>, Error> {
        let values = values.into();
        check_inside(matrix, values.len())?;
        let mut results = self.device.allocate(matrix.rows)?;
        self.launch(None, values, Along::Rows, matrix, (&mut results).into())?;
        Ok(results.read()?)
    }

    /// The reduction of each column; waits for them. The indices that an operator like `ArgMax` gives are the numbers of rows.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn columns<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
    ) -> Result<Vec<O::Output>, Error> {
        let values = values.into();
        check_inside(matrix, values.len())?;
        let mut results = self.device.allocate(matrix.columns)?;
        self.launch(None, values, Along::Columns, matrix, (&mut results).into())?;
        Ok(results.read()?)
    }

    /// The reduction along an axis of an array with any number of axes, which begins with the first of the values: `shape` has the length of
    /// each axis and `strides` the distance of two neighbours along it, in elements. The results are in the order of the other axes, the
    /// last of which varies fastest. Waits for them.
    ///
    /// Of an array whose elements lie side by side in its own order that takes one launch, whatever the axis is. Otherwise it takes one launch where
    /// [`Matrix::of_axis`] has a matrix, or where there is one for each place on an axis before; and else one for each place on the first of the other
    /// axes, or on more of them. Rows of matrices that are 16 MiB or more, or so long that several blocks share one, have a launch for each matrix, and
    /// others one for 65535 matrices.
    ///
    /// ```
    /// # use warpfold::{Device, DeviceChoice, Reduction, operator::Max};
    /// # let device = Device::open(&DeviceChoice::Emulator)?;
    /// let images = device.upload(&[1_u8, 2, 3, 4, 5, 6, 7, 8])?;
    /// let mut max = Reduction::new(&device, Max)?;
    /// assert_eq!(max.axis(&images, &[2, 2, 2], &[4, 2, 1], 0)?, [5, 6, 7, 8]);
    /// assert_eq!(max.axis(&images, &[2, 2, 2], &[4, 2, 1], 1)?, [3, 4, 7, 8]);
    /// assert_eq!(max.axis(&images, &[2, 2, 2], &[4, 2, 1], 2)?, [2, 4, 6, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::columns`], and [`Error::NoAxis`] for strides that are negative and for what is no axis of the array.
    pub fn axis<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        shape: &[usize],
        strides: &[isize],
        axis: usize,
    ) -> Result<Vec<O::Output>, Error> {
        let values = values.into();
        let matrices = matrices_of_axis(shape, strides, axis)?;
        let count = matrices.count().saturating_mul(matrices.results());
        let mut results = self.device.allocate(count)?;
        self.launch_axis(None, values, &matrices, (&mut results).into())?;
        Ok(results.read()?)
    }

    /// The reduction of each segment; waits for them. The indices that an operator like `ArgMax` gives are those within the segment.
    ///
    /// Of segments that are [counted on the device](Segments::counted_by) there are as many results as there may be segments; those of
    /// segments that there are not may be anything.
    ///
    /// In the fast order the work is shared out equally whatever the lengths of the segments. How floats are grouped depends on that and on
    /// the device, so that the last bits may differ from one device to another.
    ///
    /// # Errors
    /// As [`Self::of`], and [`Error::Offsets`].
    pub fn segments<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        segments: &Segments<'_>,
    ) -> Result<Vec<O::Output>, Error> {
        let mut results = self.device.allocate(segments.len())?;
        self.launch_segments(None, values.into(), segments, (&mut results).into())?;
        Ok(results.read()?)
    }

    /// The reduction of each run of equal neighbours among the keys: the key of each run, and what its values give. Waits for them. For several
    /// reductions by the same keys, or results that stay on the device, there is [`Runs`].
    ///
    /// ```
    /// # use warpfold::{Device, DeviceChoice, Reduction, operator::Sum};
    /// # let device = Device::open(&DeviceChoice::Emulator)?;
    /// let keys = device.upload(&[2_u8, 2, 5, 5, 5])?;
    /// let values = device.upload(&[1.0_f64, 2.0, 3.0, 4.0, 5.0])?;
    /// let sums = Reduction::new(&device, Sum)?.by_key(&keys, &values)?;
    /// assert_eq!(sums, (vec![2, 5], vec![3.0, 12.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::of`] and [`Runs::of`], and [`Error::Lengths`].
    pub fn by_key<'a, 'k, K: Key>(
        &mut self,
        keys: impl Into<Slice<'k, K>>,
        values: impl Into<Slice<'a, T>>,
    ) -> Result<(Vec<K>, Vec<O::Output>), Error> {
        let (keys, values) = (keys.into(), values.into());
        if keys.len() != values.len() {
            return Err(Error::Lengths {
                left: keys.len(),
                right: values.len(),
            });
        }
        let runs = Runs::of(self.device, keys)?;
        let results = self.segments(values, &runs.segments())?;
        Ok((runs.keys()?, results))
    }

    /// Queues the reduction on a stream, which writes it to `result`, one element of a [`Buffer`] or of other memory of the device. Does not wait, except for
    /// memory of `cust`.
    ///
    /// A call that needs another kernel or more memory than those before loads or allocates, which waits; [`Self::prepare`] does that
    /// before.
    ///
    /// # Errors
    /// As [`Self::of`]; the stream or the result is of another device, or its length is not 1; [`Error::Unprepared`].
    pub fn queue<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        result: impl Into<SliceMut<'r, O::Output>>,
    ) -> Result<(), Error> {
        let (values, result) = (values.into(), result.into());
        let matrix = Matrix::contiguous(1, values.len());
        self.launch(Some(stream), values, Along::Rows, matrix, result)
    }

    /// As [`Self::queue`], of each row, whose results are written to as many elements.
    ///
    /// # Errors
    /// As [`Self::queue`], and [`Error::Outside`].
    pub fn queue_rows<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
        results: impl Into<SliceMut<'r, O::Output>>,
    ) -> Result<(), Error> {
        self.launch(
            Some(stream),
            values.into(),
            Along::Rows,
            matrix,
            results.into(),
        )
    }

    /// As [`Self::queue`], of each column, whose results are written to as many elements.
    ///
    /// # Errors
    /// As [`Self::queue_rows`].
    pub fn queue_columns<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
        results: impl Into<SliceMut<'r, O::Output>>,
    ) -> Result<(), Error> {
        self.launch(
            Some(stream),
            values.into(),
            Along::Columns,
            matrix,
            results.into(),
        )
    }

    /// As [`Self::queue`], along an axis as [`Self::axis`] takes it, whose results are written to as many elements. [`Self::prepare_axis`] loads and
    /// allocates what it needs.
    ///
    /// # Errors
    /// As [`Self::queue_rows`] and [`Self::axis`].
    pub fn queue_axis<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        (shape, strides, axis): (&[usize], &[isize], usize),
        results: impl Into<SliceMut<'r, O::Output>>,
    ) -> Result<(), Error> {
        let matrices = matrices_of_axis(shape, strides, axis)?;
        self.launch_axis(Some(stream), values.into(), &matrices, results.into())
    }

    /// As [`Self::queue`], of each segment, whose results are written to as many elements. [`Self::prepare_segments`] loads
    /// and allocates what it needs.
    ///
    /// # Errors
    /// As [`Self::queue`], and [`Error::Offsets`].
    pub fn queue_segments<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        segments: &Segments<'_>,
        results: impl Into<SliceMut<'r, O::Output>>,
    ) -> Result<(), Error> {
        self.launch_segments(Some(stream), values.into(), segments, results.into())
    }

    /// What a reduction of these rows or columns takes. An array of n elements is the row of `Matrix::contiguous(1, n)`.
    pub fn plan(&self, along: Along, matrix: Matrix) -> Plan {
        let untyped = &self.kept.untyped;
        untyped.plan_of(self.device, along, matrix.into(), self.mode)
    }

    /// What a reduction along an axis takes.
    ///
    /// # Errors
    /// As [`Self::axis`], where it depends on the shape.
    pub fn plan_axis(
        &self,
        shape: &[usize],
        strides: &[isize],
        axis: usize,
    ) -> Result<Plan, Error> {
        let Matrices { along, batch, .. } = matrices_of_axis(shape, strides, axis)?;
        let untyped = &self.kept.untyped;
        Ok(untyped.plan_of(self.device, along, batch, self.mode))
    }

    /// What a reduction of these segments takes.
    pub fn plan_segments(&self, segments: &Segments<'_>) -> Plan {
        let untyped = &self.kept.untyped;
        let launch = untyped.choose_for_segments(self.device, segments, self.mode);
        untyped.plan(Parts::Segments(segments), launch)
    }

    /// Loads the kernel for these rows or columns and allocates what [`Self::plan`] says, so that queueing them does neither: it may then
    /// be captured into a graph. Waits if there is anything to load or to allocate.
    ///
    /// Whoever launches such a graph keeps this value, and has not prepared it for more since.
    ///
    /// # Errors
    /// The device refuses the kernel, or has no room.
    pub fn prepare(&mut self, along: Along, matrix: Matrix) -> Result<Plan, Error> {
        let plan = self.plan(along, matrix);
        self.kept.untyped.prepare_for(self.device, &plan)?;
        Ok(plan)
    }

    /// As [`Self::prepare`], for an axis.
    ///
    /// # Errors
    /// As there and [`Self::plan_axis`].
    pub fn prepare_axis(
        &mut self,
        shape: &[usize],
        strides: &[isize],
        axis: usize,
    ) -> Result<Plan, Error> {
        let plan = self.plan_axis(shape, strides, axis)?;
        self.kept.untyped.prepare_for(self.device, &plan)?;
        Ok(plan)
    }

    /// As [`Self::prepare`], for these segments.
    ///
    /// # Errors
    /// As there.
    pub fn prepare_segments(&mut self, segments: &Segments<'_>) -> Result<Plan, Error> {
        let plan = self.plan_segments(segments);
        self.kept.untyped.prepare_for(self.device, &plan)?;
        Ok(plan)
    }

    /// What the choice of a launch depends on.
    #[doc(hidden)]
    pub fn problem(&self, along: Along, matrix: Matrix) -> Problem {
        let untyped = &self.kept.untyped;
        untyped.problem(self.device, along, matrix, self.mode)
    }

    fn launch(
        &mut self,
        stream: Option<&Stream>,
        values: Slice<'_, T>,
        along: Along,
        matrix: Matrix,
        results: SliceMut<'_, O::Output>,
    ) -> Result<(), Error> {
        let launch = self.problem(along, matrix).choose();
        // SAFETY: it is the choice for this matrix.
        unsafe { self.launch_by(stream, values, matrix, results, launch) }
    }

    fn launch_axis(
        &mut self,
        stream: Option<&Stream>,
        values: Slice<'_, T>,
        matrices: &Matrices,
        results: SliceMut<'_, O::Output>,
    ) -> Result<(), Error> {
        let Matrices { along, batch, .. } = *matrices;
        let each = matrices.results();
        let count = matrices.count().saturating_mul(each);
        DeviceError::check_length(results.len(), count)?;
        if count == 0 {
            return Ok(());
        }
        check_inside(batch, values.len().saturating_sub(matrices.last_start()))?;
        let (device, untyped, mode) = (self.device, &mut self.kept.untyped, self.mode);
        results.written_by(device, stream, |results| {
            for (number, start) in matrices.starts().enumerate() {
                // A matrix without elements may begin after the last value.
                let values = values.slice(start.min(values.len())..).bytes();
                let results = results.slice(number * each..(number + 1) * each).bytes();
                // SAFETY: the slices are of this operator's and this type's.
                unsafe { untyped.queue(device, stream, mode, values, (along, batch), results)? };
            }
            Ok(())
        })
    }

    fn launch_segments(
        &mut self,
        stream: Option<&Stream>,
        values: Slice<'_, T>,
        segments: &Segments<'_>,
        results: SliceMut<'_, O::Output>,
    ) -> Result<(), Error> {
        let (device, untyped) = (self.device, &mut self.kept.untyped);
        let launch = untyped.choose_for_segments(device, segments, self.mode);
        let (values, parts) = (values.bytes(), Parts::Segments(segments));
        results.written_by(device, stream, |results| {
            let results = results.bytes();
            // SAFETY: it is the choice for these segments, and the slices are of this operator's and this type's.
            unsafe { untyped.launch_by(device, stream, values, parts, results, launch) }
        })
    }

    /// As [`Self::queue_rows`] or [`Self::queue_columns`], by this launch; without a stream it waits. For measurements.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// The launch is [`Problem::choose`]'s for this matrix, or another one that the documentation of
    /// [`reductions!`](warpfold_device::reductions!) allows for it.
    #[doc(hidden)]
    pub unsafe fn launch_by<'r>(
        &mut self,
        stream: Option<&Stream>,
        values: Slice<'_, T>,
        matrix: Matrix,
        results: impl Into<SliceMut<'r, O::Output>>,
        launch: Launch,
    ) -> Result<(), Error> {
        let (device, untyped) = (self.device, &mut self.kept.untyped);
        let (values, parts) = (values.bytes(), Parts::Of(matrix.into()));
        results.into().written_by(device, stream, |results| {
            let results = results.bytes();
            // SAFETY: the caller's contract is the same.
            unsafe { untyped.launch_by(device, stream, values, parts, results, launch) }
        })
    }

    /// The kernel of a launch that has been prepared for, its shape and its arguments. It reads the rows, which lie inside the values, and writes
    /// to `results`, which has as many elements as it makes, and to the workspace, which is large enough.
    #[doc(hidden)]
    pub fn arguments(
        &self,
        values: Slice<'_, T>,
        matrix: Matrix,
        results: &Buffer<O::Output>,
        launch: Launch,
    ) -> (&Kernel, Shape, Vec<Argument>) {
        let results = Slice::from(results).bytes();
        let untyped = &self.kept.untyped;
        untyped.arguments(values.bytes(), Parts::Of(matrix.into()), results, launch)
    }
}

impl<T: Pod + Loaded, O: Operator<T, Output: Pod>> Reduction<'_, T, O> {
    /// As [`Self::arguments`], for segments that have been prepared for, which lie inside the values. For measurements.
    #[doc(hidden)]
    pub fn arguments_of_segments(
        &self,
        values: Slice<'_, T>,
        segments: &Segments<'_>,
        results: &Buffer<O::Output>,
    ) -> (&Kernel, Shape, Vec<Argument>) {
        let untyped = &self.kept.untyped;
        let launch = untyped.choose_for_segments(self.device, segments, self.mode);
        let (parts, results) = (Parts::Segments(segments), Slice::from(results).bytes());
        untyped.arguments(values.bytes(), parts, results, launch)
    }
}

/// The matrices of an array that is reduced along an axis.
fn matrices_of_axis(shape: &[usize], strides: &[isize], axis: usize) -> Result<Matrices, Error> {
    Matrices::of_axis(shape, strides, axis).ok_or_else(|| Error::NoAxis {
        shape: shape.into(),
        strides: strides.into(),
        axis,
    })
}

impl<R: Pod> Kept<R> {
    /// The buffer for one result; another one is left in its place, which takes no memory.
    fn result_buffer(&mut self, device: &Device) -> Result<Buffer<R>, DeviceError> {
        let empty = device.allocate(0)?;
        let result = std::mem::replace(&mut self.result, empty);
        if result.len() == 1 {
            Ok(result)
        } else {
            device.allocate(1)
        }
    }
}

impl<T, O: Operator<T> + fmt::Debug> fmt::Debug for Reduction<'_, T, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reduction")
            .field("operator", &self.operator)
            .field("name", &self.kept.untyped.name())
            .finish_non_exhaustive()
    }
}
