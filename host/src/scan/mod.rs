//! Scans: running sums, products, minima and maxima of arrays, and of the rows and the segments of arrays.
//!
//! ```
//! use warpfold::operator::{Max, Sum};
//! use warpfold::{Device, DeviceChoice, Matrix, Scan, Segments};
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let values = device.upload(&[3_i32, 1, 2, 7, 5, 6])?;
//!
//! let mut sums = Scan::inclusive(&device, Sum)?;
//! assert_eq!(sums.of(&values)?.read()?, [3, 4, 6, 13, 18, 24]);
//! assert_eq!(sums.rows(&values, Matrix::contiguous(2, 3))?.read()?, [3, 4, 6, 7, 12, 18]);
//! let segments = Segments::new(&device, &[0_u32, 1, 1, 6])?;
//! assert_eq!(sums.segments(&values, &segments)?.read()?, [3, 1, 3, 10, 15, 21]);
//!
//! let mut before = Scan::exclusive(&device, Sum)?;
//! assert_eq!(before.of(&values)?.read()?, [0, 3, 4, 6, 13, 18]);
//! let mut maxima = Scan::inclusive(&device, Max)?;
//! assert_eq!(maxima.of(&values)?.read()?, [3, 3, 3, 7, 7, 7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One launch reads each value once. States are combined in an order that follows from the number of values alone, so that floats have the
//! same bits in every run and on every device; [`warpfold_device::scan`] says which.

#[cfg(test)]
mod tests;

use crate::device::{Argument, Buffer, Device, DeviceError, Pod, Slice, SliceMut, Stream};
use crate::family::{Attached, Family, Needs, Source, one_pass};
use crate::kernels::Error;
use crate::matrix::Matrix;
use crate::reduce::{BuiltIn, Reducible, Segments, check_inside};
use crate::values::Values;
use std::fmt;
use std::marker::PhantomData;
use warpfold_device::look_back::{tiles, workspace_words};
use warpfold_device::operator::{As, Max, Min, Operator, Product, Sum};
use warpfold_device::scan::tile;

/// An operator that the library has scans of, for values of type `T`: [`Sum`], [`Product`], [`Min`] and [`Max`], and sums and products in
/// another [`Accumulator`](crate::reduce::Accumulator), such as `As<f64, Sum>` of `f32`.
pub trait Scannable<T: Reducible>: BuiltIn<T> {}

impl<T: Reducible> Scannable<T> for Sum {}
impl<T: Reducible> Scannable<T> for Product {}
impl<T: Reducible> Scannable<T> for Min {}
impl<T: Reducible> Scannable<T> for Max {}
impl<T: Reducible, A> Scannable<T> for As<A, Sum> where Self: BuiltIn<T> {}
impl<T: Reducible, A> Scannable<T> for As<A, Product> where Self: BuiltIn<T> {}

/// Whether a result has its own value in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// Result i is of the values up to value i, and of value i.
    Inclusive,
    /// Result i is of the values before value i. The first is what the operator has for no values: 0, of floats −0.0; 1; the greatest and
    /// the least value.
    Exclusive,
}

/// A scan of values of type `T` by an operator `O`, again and again on one device: it keeps the kernels and the memory that they need.
///
/// Scans of one `Scan` follow one another, on whichever streams they are queued. Where they are captured, whoever launches the graph
/// keeps that order.
pub struct Scan<'d, T, O: Operator<T>> {
    device: &'d Device,
    family: Family,
    operator: O,
    kind: ScanKind,
    values: PhantomData<T>,
}

/// What begins anew where.
#[derive(Clone, Copy)]
enum Parts<'a> {
    Rows(Matrix),
    Segments(&'a Segments<'a>),
}

impl Parts<'_> {
    /// The number of values, or more.
    fn values(self) -> usize {
        match self {
            Self::Rows(matrix) => matrix.rows.saturating_mul(matrix.columns),
            Self::Segments(segments) => segments.values(),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Rows(_) => "_scan",
            Self::Segments(_) => "_segment_scan",
        }
    }
}

impl<'d, T: Reducible, O: Scannable<T>> Scan<'d, T, O> {
    /// Prepares for inclusive scans by an operator of the library. No kernel is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    pub fn inclusive(device: &'d Device, operator: O) -> Result<Self, Error> {
        Self::new(device, operator, ScanKind::Inclusive)
    }

    /// Prepares for exclusive scans by an operator of the library. No kernel is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    pub fn exclusive(device: &'d Device, operator: O) -> Result<Self, Error> {
        Self::new(device, operator, ScanKind::Exclusive)
    }

    fn new(device: &'d Device, operator: O, kind: ScanKind) -> Result<Self, Error> {
        let family = Family::new(
            device,
            Source::of_library(O::KERNELS),
            name::<T, O>(operator),
        )?;
        Ok(Self {
            device,
            family,
            operator,
            kind,
            values: PhantomData,
        })
    }
}

/// What the names of the library's kernels begin with.
fn name<T: Reducible, O: Scannable<T>>(operator: O) -> String {
    format!("{}_{}", operator.kernels().0, O::KERNELS.name())
}

impl<'d, T: Pod, O: Operator<T, Output: Pod>> Scan<'d, T, O> {
    /// Prepares for scans by an operator of your own, from the PTX of a crate with a line `name: O, T;` in `warpfold_device::scans!`. No
    /// kernel is loaded yet. An operator's [`finish`](Operator::finish) may not depend on how many values there are, as that of a mean does: these
    /// kernels do not count them.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Safety
    /// The kernels of this name in the PTX are those that `scans!` makes of this operator, with this value, and this type.
    pub unsafe fn from_ptx(
        device: &'d Device,
        operator: O,
        ptx: impl Into<String>,
        name: &str,
        kind: ScanKind,
    ) -> Result<Self, Error> {
        Ok(Self {
            device,
            family: Family::new(device, Source::Own(ptx.into().into()), name.to_owned())?,
            operator,
            kind,
            values: PhantomData,
        })
    }

    /// The operator.
    pub fn operator(&self) -> O {
        self.operator
    }

    /// The scan of a buffer, of a part of one, or of other memory of the device; waits for it.
    ///
    /// # Errors
    /// The values are in the memory of another device, the device has no room for the results or the states of the blocks, or it fails.
    pub fn of<'a>(&mut self, values: impl Into<Slice<'a, T>>) -> Result<Buffer<O::Output>, Error> {
        let values = values.into();
        self.rows(values, Matrix::contiguous(1, values.len()))
    }

    /// The scan of each row; waits for them. The results of the rows lie side by side.
    ///
    /// # Errors
    /// As [`Self::of`], and [`Error::Outside`].
    pub fn rows<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
    ) -> Result<Buffer<O::Output>, Error> {
        let values = values.into();
        check_inside(matrix, values.len())?;
        self.waiting(values, Parts::Rows(matrix))
    }

    /// The scan of each segment; waits for them. The first result is that of the first value of the first segment. Results for values that
    /// belong to no segment may be anything.
    ///
    /// # Errors
    /// As [`Self::of`], and [`Error::Offsets`].
    pub fn segments<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        segments: &Segments<'_>,
    ) -> Result<Buffer<O::Output>, Error> {
        self.waiting(values.into(), Parts::Segments(segments))
    }

    fn waiting(
        &mut self,
        values: Slice<'_, T>,
        parts: Parts<'_>,
    ) -> Result<Buffer<O::Output>, Error> {
        let mut results = self.device.allocate(parts.values())?;
        self.launch(None, values, parts, (&mut results).into())?;
        Ok(results)
    }

    /// Queues the scan on a stream, which writes it to `results`, as many elements as there are values, of a [`Buffer`] or of other memory
    /// of the device. Does not wait, except for memory of `cust`.
    ///
    /// A call that needs another kernel or more memory than those before loads or allocates, which waits; [`Self::prepare`] does that
    /// before.
    ///
    /// # Errors
    /// As [`Self::of`]; the stream or the results are of another device, or there is not room for as many; [`Error::Unprepared`].
    pub fn queue<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        results: impl Into<SliceMut<'r, O::Output>>,
    ) -> Result<(), Error> {
        let values = values.into();
        self.queue_rows(stream, values, Matrix::contiguous(1, values.len()), results)
    }

    /// As [`Self::queue`], of each row.
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
            Parts::Rows(matrix),
            results.into(),
        )
    }

    /// As [`Self::queue`], of each segment. Of segments whose offsets are on the device there are as many results as values before
    /// their end.
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
        let parts = Parts::Segments(segments);
        self.launch(Some(stream), values.into(), parts, results.into())
    }

    /// The bytes of workspace that a scan of rows with this many values in all takes, beside its results.
    pub fn plan(&self, values: usize) -> usize {
        let parts = Parts::Rows(Matrix::contiguous(1, values));
        needs::<T, O>(self.operator, parts).bytes()
    }

    /// As [`Self::plan`], of these segments.
    pub fn plan_segments(&self, segments: &Segments<'_>) -> usize {
        needs::<T, O>(self.operator, Parts::Segments(segments)).bytes()
    }

    /// Loads the kernel for rows, of which an array is one, and allocates what this many values need, so that queueing them does neither:
    /// it may then be captured into a graph. Waits if there is anything to load or to allocate. Returns what [`Self::plan`] says.
    ///
    /// Whoever launches such a graph keeps this value, and has not prepared it for more since.
    ///
    /// # Errors
    /// The device refuses the kernel, or has no room.
    pub fn prepare(&mut self, values: usize) -> Result<usize, Error> {
        self.prepare_for(Parts::Rows(Matrix::contiguous(1, values)))
    }

    /// As [`Self::prepare`], for segments.
    ///
    /// # Errors
    /// As there.
    pub fn prepare_segments(&mut self, segments: &Segments<'_>) -> Result<usize, Error> {
        self.prepare_for(Parts::Segments(segments))
    }

    fn prepare_for(&mut self, parts: Parts<'_>) -> Result<usize, Error> {
        let needs = needs::<T, O>(self.operator, parts);
        self.family.prepare(self.device, &needs)?;
        Ok(needs.bytes())
    }

    fn launch(
        &mut self,
        stream: Option<&Stream>,
        values: Slice<'_, T>,
        parts: Parts<'_>,
        results: SliceMut<'_, O::Output>,
    ) -> Result<(), Error> {
        launch::<T, O>(
            &mut self.family,
            self.device,
            (self.operator, self.kind),
            stream,
            values,
            parts,
            results,
        )
    }
}

fn needs<T, O: Operator<T>>(operator: O, parts: Parts<'_>) -> Needs {
    let tiles = tiles(parts.values(), tile::<T, O>());
    Needs::to_look_back(parts.suffix(), workspace_words(tiles, operator.identity()))
}

fn launch<T: Pod, O: Operator<T, Output: Pod>>(
    family: &mut Family,
    device: &Device,
    (operator, kind): (O, ScanKind),
    stream: Option<&Stream>,
    values: Slice<'_, T>,
    parts: Parts<'_>,
    results: SliceMut<'_, O::Output>,
) -> Result<(), Error> {
    let scan = (operator, kind);
    results.written_by(device, stream, |results| {
        launch_to::<T, O>(family, device, scan, stream, values, parts, results)
    })
}

fn launch_to<T: Pod, O: Operator<T, Output: Pod>>(
    family: &mut Family,
    device: &Device,
    (operator, kind): (O, ScanKind),
    stream: Option<&Stream>,
    values: Slice<'_, T>,
    parts: Parts<'_>,
    results: Slice<'_, O::Output>,
) -> Result<(), Error> {
    values.check_device(device)?;
    results.check_device(device)?;
    let mut arguments = vec![values.argument()];
    match parts {
        Parts::Rows(matrix) => {
            check_inside(matrix, values.len())?;
            arguments.extend([matrix.rows, matrix.columns, matrix.stride].map(Argument::from));
        }
        Parts::Segments(segments) => {
            segments.check(device, values.len())?;
            arguments.extend(segments.arguments());
        }
    }
    DeviceError::check_length(results.len(), parts.values())?;
    if parts.values() == 0 {
        return Ok(());
    }
    let needs = needs::<T, O>(operator, parts);
    family.prepare_on(device, stream, &needs)?;
    arguments.push(u32::from(kind == ScanKind::Exclusive).into());
    arguments.extend([family.words(), results.argument()]);
    let shape = one_pass(device, tiles(parts.values(), tile::<T, O>()));
    // SAFETY: the rows or segments lie inside the values; the results are as many; the workspace is large enough, and its words are 0. Memory
    // of buffers is freed when the device has done what is queued; `read_by` keeps the order of other memory, or who has made the slice
    // has promised it.
    let launch = || unsafe { family.launch(stream, needs.suffix, &shape, &arguments) };
    let launched = values.read_by(device, stream, || match parts {
        Parts::Rows(_) => launch(),
        Parts::Segments(segments) => segments.read_by(device, stream, launch),
    });
    Ok(launched?)
}

/// As [`Scan::queue_rows`], with the kernels that are kept with the device, to memory of any kind.
///
/// # Errors
/// As there.
///
/// # Safety
/// Nothing else reads or writes the results until the kernel has ended.
#[doc(hidden)]
pub unsafe fn queue_scan<T: Reducible, O: Scannable<T>>(
    device: &Device,
    stream: &Stream,
    scan: (O, ScanKind),
    (values, matrix): (Slice<'_, T>, Matrix),
    results: Slice<'_, O::Output>,
) -> Result<(), Error> {
    Attached::with(device, name::<T, O>(scan.0), O::KERNELS, |family| {
        let parts = Parts::Rows(matrix);
        launch_to::<T, O>(family, device, scan, Some(stream), values, parts, results)
    })
}

impl<T, O: Operator<T> + fmt::Debug> fmt::Debug for Scan<'_, T, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Scan")
            .field("operator", &self.operator)
            .field("kind", &self.kind)
            .field("name", &self.family.name())
            .finish_non_exhaustive()
    }
}

/// The inclusive scan of values on the host or on the device by [`Sum`], [`Product`], [`Min`] or [`Max`], on the host; waits for it.
///
/// Values on the host are uploaded, which takes longer than the scan. [`Scan`] leaves the results on the device.
///
/// ```
/// # let device = warpfold::Device::open(&warpfold::DeviceChoice::Emulator)?;
/// use warpfold::operator::Sum;
/// assert_eq!(warpfold::inclusive_scan(&device, Sum, &[1_u8, 2, 255])?, [1, 3, 258]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Scan::of`], and the device has no room for the values.
pub fn inclusive_scan<'a, T: Reducible, O: Scannable<T>>(
    device: &Device,
    operator: O,
    values: impl Into<Values<'a, T>>,
) -> Result<Vec<O::Output>, Error> {
    scan(device, operator, ScanKind::Inclusive, values.into())
}

/// As [`inclusive_scan`], without each value's own: the first result is what the operator has for no values.
///
/// # Errors
/// As there.
pub fn exclusive_scan<'a, T: Reducible, O: Scannable<T>>(
    device: &Device,
    operator: O,
    values: impl Into<Values<'a, T>>,
) -> Result<Vec<O::Output>, Error> {
    scan(device, operator, ScanKind::Exclusive, values.into())
}

fn scan<T: Reducible, O: Scannable<T>>(
    device: &Device,
    operator: O,
    kind: ScanKind,
    values: Values<'_, T>,
) -> Result<Vec<O::Output>, Error> {
    let mut uploaded = None;
    let values = values.on(device, &mut uploaded)?;
    let mut results = device.allocate(values.len())?;
    let parts = Parts::Rows(Matrix::contiguous(1, values.len()));
    Attached::with(device, name::<T, O>(operator), O::KERNELS, |family| {
        launch::<T, O>(
            family,
            device,
            (operator, kind),
            None,
            values,
            parts,
            (&mut results).into(),
        )
    })?;
    Ok(results.read()?)
}
