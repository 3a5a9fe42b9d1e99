//! Reductions on a GPU or the emulator, by the library's kernels.
//!
//! A device belongs to a thread. Each thread that calls has its own, with the kernels that it has loaded.

use crate::on_host::{Split, Work};
use crate::operation::{Kind, Operation, kind, name_of};
use crate::plan::{COPIED_AXES, Plan};
use crate::view::{Axis, Rows, View, count};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::slice;
use warpfold::device::{Argument, Event, Kernel, Shape, Slice, Stream, keep_current_context};
use warpfold::operator::{As, Product, Sum};
use warpfold::ptx::only;
use warpfold::queue_dot as queue_dot_of;
use warpfold::reduce::{Form, Untyped};
use warpfold::scan::{self, ScanKernels, ScanKind};
use warpfold::sum::Mode;
use warpfold::{Along, Bf16, Bool, Buffer, Device, DeviceChoice, Error, F16, Matrix};
use warpfold_device::element::Element;
use warpfold_device::for_each_element;
use warpfold_dynamic::{TypeName, kernels};
use warpfold_python_kernels::text;

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

/// The kernels of a reduction, by the operator's and the type's name, the divisor, and whether they are those in 64 bits.
type Key = (&'static str, &'static str, Option<u64>, bool);

/// A device of this thread, and what is kept with it.
struct Opened {
    kept: RefCell<Kept>,
    device: Device,
}

struct Kept {
    reductions: HashMap<Key, (Untyped, Form)>,
    own: HashMap<&'static str, Kernel>,
    /// The copy of an array, and results that are to be converted.
    copy: Buffer<u8>,
    raw: Buffer<u8>,
    /// After the last work that was queued, whose memory the next uses too.
    last: Event,
}

thread_local! {
    static OPENED: RefCell<HashMap<Option<u32>, Rc<Opened>>> = RefCell::default();
}

/// Runs a function with this thread's device.
fn with<R>(
    choice: DeviceChoice,
    function: impl FnOnce(&Device, &mut Kept) -> Result<R, Failed>,
) -> Result<R, Failed> {
    let index = match choice {
        DeviceChoice::Gpu(index) => Some(index),
        DeviceChoice::Emulator | DeviceChoice::Auto => None,
    };
    keep_current_context(|| {
        let opened = OPENED.with_borrow(|opened| opened.get(&index).cloned());
        let opened = match opened {
            Some(opened) => opened,
            None => {
                let device = Device::open(&match index {
                    Some(index) => DeviceChoice::Gpu(index),
                    None => DeviceChoice::Emulator,
                })?;
                let kept = Kept {
                    reductions: HashMap::new(),
                    own: HashMap::new(),
                    copy: device.allocate(0)?,
                    raw: device.allocate(0)?,
                    last: device.event()?,
                };
                let opened = Rc::new(Opened {
                    kept: RefCell::new(kept),
                    device,
                });
                OPENED.with_borrow_mut(|all| all.insert(index, opened.clone()));
                opened
            }
        };
        let result = function(&opened.device, &mut opened.kept.borrow_mut());
        // After a fault a GPU does nothing more for this process, and what is kept of it is of no use.
        if let Err(Failed::Library(Error::Device(error))) = &result
            && error.ends_device()
        {
            OPENED.with_borrow_mut(|all| all.remove(&index));
        }
        result
    })
}

/// Elements in a device's memory: bytes, and how many of them come before the element that has index 0 along every axis.
#[derive(Clone, Copy)]
struct Values<'a> {
    bytes: Slice<'a, u8>,
    origin: isize,
}

/// What a device works on.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The array.
    pub view: &'a View,
    /// Its axes.
    pub split: &'a Split,
    /// What is computed.
    pub work: &'a Work,
}

impl Task<'_> {
    /// How many bytes the results have.
    pub fn result_bytes(&self) -> usize {
        count(&self.split.kept) * self.work.results_of_place() * self.work.result.bytes()
    }
}

/// Reduces an array in a GPU's memory, and queues that on a stream of other code, by its handle. The results are written to the address,
/// side by side in the order of the kept axes. There is one at least, and a value for it.
///
/// # Errors
/// [`Failed`]
///
/// # Safety
/// - The memory of the view's elements, and what lies between them, is the GPU's, and stays so, and unchanged, until the work on the
///   stream has ended.
/// - So is that of the results, of which there are as many as the kept axes have places, and which nothing else reads or writes meanwhile.
/// - The handle is that of a stream of this GPU, or 0 for its default stream.
pub unsafe fn queue(index: u32, stream: usize, task: Task<'_>, results: u64) -> Result<(), Failed> {
    with(DeviceChoice::Gpu(index), |device, kept| {
        // SAFETY: the caller's promise.
        let (stream, values, results) = unsafe {
            let (stream, values) = on_stream(device, stream, task.view)?;
            (
                stream,
                values,
                Slice::<u8>::from_raw(device, results, task.result_bytes())?,
            )
        };
        stream.wait_for(&kept.last)?;
        // SAFETY: the caller's promise.
        let queued = unsafe { kept.launch(device, &stream, values, task, results) };
        // Also after a failure, which may come after something has been queued.
        stream.record(&kept.last)?;
        queued
    })
}

/// Waits until all that has been queued on a stream of other code is done.
///
/// # Errors
/// A kernel has failed.
///
/// # Safety
/// The handle is that of a stream of this GPU, or 0 for its default stream.
pub unsafe fn synchronize(index: u32, stream: usize) -> Result<(), Failed> {
    with(DeviceChoice::Gpu(index), |device, _| {
        // SAFETY: the caller's promise.
        let stream = unsafe { Stream::from_raw(device, stream as *mut c_void) }?;
        Ok(stream.synchronize()?)
    })
}

/// Copies an array of the host to a device, reduces it there, and waits for the results.
///
/// # Errors
/// [`Failed`]
///
/// # Safety
/// The memory has the elements of the view and what lies between them, and nothing writes it meanwhile.
pub unsafe fn reduce(
    choice: DeviceChoice,
    task: Task<'_>,
    results: &mut [u8],
) -> Result<(), Failed> {
    let Task { view, split, work } = task;
    let bytes = view.element.bytes();
    let (low, high) = view.reach();
    let span = (high - low) as usize + 1;
    let is_copied = span > 4 * view.count() + 1024
        || Plan::of(&split.kept, &split.reduced, work.is_free()) == Plan::None;
    let rows = Rows::new(&split.kept, &split.reduced);
    let side_by_side = side_by_side(&rows);
    let copy;
    let (values, origin, split) = if is_copied {
        // SAFETY: the caller's promise.
        copy = unsafe { rows.gather(view.address, bytes, 0..rows.count()) };
        let values = &bytemuck::cast_slice(&copy)[..view.count() * bytes];
        (values, 0, &side_by_side)
    } else {
        let first = view
            .address
            .wrapping_add_signed((low * bytes as isize) as i64);
        // SAFETY: the caller's promise.
        let values = unsafe { slice::from_raw_parts(first as usize as *const u8, span * bytes) };
        (values, -low * bytes as isize, split)
    };
    with(choice, |device, kept| {
        let stream = device.default_stream();
        let (uploaded, made) = (
            device.upload(values)?,
            device.allocate::<u8>(results.len())?,
        );
        let values = Values {
            bytes: Slice::from(&uploaded),
            origin,
        };
        let task = Task { view, split, work };
        stream.wait_for(&kept.last)?;
        // SAFETY: both buffers are this call's own.
        let queued = unsafe { kept.launch(device, &stream, values, task, Slice::from(&made)) };
        stream.record(&kept.last)?;
        queued?;
        Ok(made.read_into(results)?)
    })
}

/// As [`queue`], a running reduction of the rows that the reduced axes make; results are as many as elements, row by row.
///
/// # Errors
/// [`Failed`]
///
/// # Safety
/// As for [`queue`].
pub unsafe fn queue_scan(
    index: u32,
    stream: usize,
    task: Task<'_>,
    results: u64,
) -> Result<(), Failed> {
    with(DeviceChoice::Gpu(index), |device, kept| {
        // SAFETY: the caller's promise.
        let (stream, values) = unsafe { on_stream(device, stream, task.view)? };
        let bytes = task.view.count() * task.work.result.bytes();
        // SAFETY: the caller's promise.
        let results = unsafe { Slice::<u8>::from_raw(device, results, bytes) }?;
        stream.wait_for(&kept.last)?;
        // SAFETY: the caller's promise.
        let queued = unsafe { kept.launch_scan(device, &stream, values, task, results) };
        stream.record(&kept.last)?;
        queued
    })
}

/// As [`reduce`], a running reduction.
///
/// # Errors
/// [`Failed`]
///
/// # Safety
/// As for [`reduce`].
pub unsafe fn scan(choice: DeviceChoice, task: Task<'_>, results: &mut [u8]) -> Result<(), Failed> {
    let (view, bytes) = (task.view, task.view.element.bytes());
    let rows = Rows::new(&task.split.kept, &task.split.reduced);
    // SAFETY: the caller's promise.
    let copy = unsafe { rows.gather(view.address, bytes, 0..rows.count()) };
    let copied = &bytemuck::cast_slice(&copy)[..view.count() * bytes];
    let split = side_by_side(&rows);
    let task = Task {
        split: &split,
        ..task
    };
    with(choice, |device, kept| {
        let stream = device.default_stream();
        let (uploaded, made) = (
            device.upload(copied)?,
            device.allocate::<u8>(results.len())?,
        );
        let values = Values {
            bytes: Slice::from(&uploaded),
            origin: 0,
        };
        stream.wait_for(&kept.last)?;
        // SAFETY: both buffers are this call's own.
        let queued = unsafe { kept.launch_scan(device, &stream, values, task, Slice::from(&made)) };
        stream.record(&kept.last)?;
        queued?;
        Ok(made.read_into(results)?)
    })
}

/// As [`queue`], the dot product of two arrays of one axis each, one type, and as many elements.
///
/// # Errors
/// [`Failed`]
///
/// # Safety
/// As for [`queue`], for both arrays.
pub unsafe fn queue_dot(
    index: u32,
    stream: usize,
    views: [&View; 2],
    is_deterministic: bool,
    result: u64,
) -> Result<(), Failed> {
    with(DeviceChoice::Gpu(index), |device, kept| {
        // SAFETY: the caller's promise.
        let (stream, left, right, result) = unsafe {
            let (_, right) = on_stream(device, stream, views[1])?;
            let (stream, left) = on_stream(device, stream, views[0])?;
            let result = Slice::<u8>::from_raw(device, result, views[0].element.bytes())?;
            (stream, left, right, result)
        };
        stream.wait_for(&kept.last)?;
        // SAFETY: the caller's promise.
        let queued = unsafe {
            kept.launch_dot(
                device,
                &stream,
                [left, right],
                views,
                is_deterministic,
                result,
            )
        };
        stream.record(&kept.last)?;
        queued
    })
}

/// As [`reduce`], the dot product.
///
/// # Errors
/// [`Failed`]
///
/// # Safety
/// As for [`reduce`], for both arrays.
pub unsafe fn dot(
    choice: DeviceChoice,
    views: [&View; 2],
    is_deterministic: bool,
    result: &mut [u8],
) -> Result<(), Failed> {
    let bytes = views[0].element.bytes();
    let copies = views.map(|view| {
        // SAFETY: the caller's promise.
        unsafe { Rows::new(&[], &view.axes).gather(view.address, bytes, 0..1) }
    });
    let n = views[0].count();
    let side_by_side = View {
        axes: vec![Axis {
            length: n,
            stride: 1,
        }],
        ..views[0].clone()
    };
    with(choice, |device, kept| {
        let stream = device.default_stream();
        let [left, right] = &copies;
        let copied =
            |copy: &[u64]| device.upload(&bytemuck::cast_slice::<u64, u8>(copy)[..n * bytes]);
        let uploaded = [copied(left)?, copied(right)?];
        let made = device.allocate::<u8>(bytes)?;
        let values = [0, 1].map(|side| Values {
            bytes: Slice::from(&uploaded[side]),
            origin: 0,
        });
        stream.wait_for(&kept.last)?;
        let views = [&side_by_side; 2];
        // SAFETY: the buffers are this call's own.
        let queued = unsafe {
            kept.launch_dot(
                device,
                &stream,
                values,
                views,
                is_deterministic,
                Slice::from(&made),
            )
        };
        stream.record(&kept.last)?;
        queued?;
        Ok(made.read_into(result)?)
    })
}

/// Rows that lie side by side, as axes.
fn side_by_side(rows: &Rows) -> Split {
    Split {
        kept: vec![Axis {
            length: rows.count(),
            stride: rows.length() as isize,
        }],
        reduced: vec![Axis {
            length: rows.length(),
            stride: 1,
        }],
    }
}

/// A stream of other code, and an array in the GPU's memory.
///
/// # Safety
/// As for [`queue`].
unsafe fn on_stream<'a>(
    device: &'a Device,
    stream: usize,
    view: &View,
) -> Result<(Stream, Values<'a>), Failed> {
    // SAFETY: the caller's promise.
    let stream = unsafe { Stream::from_raw(device, stream as *mut c_void) }?;
    if stream.is_capturing()? {
        return Err(Failed::Capturing);
    }
    let (low, high) = view.reach();
    let bytes = view.element.bytes();
    let first = view
        .address
        .wrapping_add_signed((low * bytes as isize) as i64);
    let span = ((high - low) as usize + 1) * bytes;
    let values = Values {
        // SAFETY: the caller's promise.
        bytes: unsafe { Slice::from_raw(device, first, span) }?,
        origin: -low * bytes as isize,
    };
    Ok((stream, values))
}

/// What becomes of the results that a kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// They are of their type.
    None,
    /// By a kernel of this name.
    By(&'static str),
    /// The low bytes of integers of 8 bytes.
    LowBytes,
}

/// The kernels for some work.
struct Chosen {
    operation: Operation,
    is_wide: bool,
    mode: Mode,
    conversion: Conversion,
}

impl Chosen {
    fn of(work: &Work, values: TypeName) -> Result<Self, Failed> {
        let of_values = kind(values);
        let is_sum = matches!(work.operation, Operation::Sum | Operation::Product);
        let mut chosen = Self {
            operation: work.operation,
            is_wide: false,
            mode: Mode::Fast,
            conversion: Conversion::None,
        };
        let failed = Failed::NoKernel {
            values,
            result: work.result,
        };
        if kind(work.result) == Kind::Float {
            if work.is_deterministic {
                chosen.mode = Mode::Deterministic;
            }
            if is_sum && of_values != Kind::Float {
                return Err(failed);
            }
            match (values.name(), work.result.name()) {
                ("f16" | "bf16", "f64") => return Err(failed),
                ("f32", "f64") => chosen.is_wide = true,
                // Extremes are of the values' own type; what is computed from such floats is in `f32`.
                ("f16", "f16") if !is_extreme(work.operation) => {
                    chosen.conversion = Conversion::By("narrow_f16")
                }
                ("bf16", "bf16") if !is_extreme(work.operation) => {
                    chosen.conversion = Conversion::By("narrow_bf16")
                }
                _ => {}
            }
            return Ok(chosen);
        }
        if !is_sum {
            return Ok(chosen);
        }
        match (of_values, work.operation) {
            (Kind::Bool, Operation::Sum) => chosen.operation = Operation::CountNonzero,
            (Kind::Bool, _) => {
                chosen.operation = Operation::All;
                chosen.conversion = Conversion::By("widen_bool");
            }
            _ => chosen.is_wide = values.bytes() < 8,
        }
        if work.result.bytes() < 8 {
            chosen.conversion = match chosen.conversion {
                Conversion::None => Conversion::LowBytes,
                _ => return Err(failed),
            };
        }
        Ok(chosen)
    }
}

fn is_extreme(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Min | Operation::Max | Operation::MinMax
    )
}

/// What the launches of sums and products in 64 bits depend on.
fn wide_form(operation: Operation, values: TypeName) -> Form {
    macro_rules! forms {
        ($($value:ident in $wide:ident;)*) => {
            match (values.name(), operation) {
                $((stringify!($value), Operation::Sum) => Form::of::<$value, As<$wide, Sum>>(),
                (stringify!($value), _) => Form::of::<$value, As<$wide, Product>>(),)*
                _ => unreachable!("other types have kernels of their own"),
            }
        };
    }
    forms! {
        i8 in i64;
        u8 in u64;
        i16 in i64;
        u16 in u64;
        i32 in i64;
        u32 in u64;
        f32 in f64;
    }
}

impl Kept {
    /// Queues the reduction on a stream.
    ///
    /// # Safety
    /// The elements of the task's view are at their places from the origin of the values on, at addresses for them. Nothing else reads or
    /// writes the results until the work has ended.
    unsafe fn launch(
        &mut self,
        device: &Device,
        stream: &Stream,
        values: Values<'_>,
        Task { view, split, work }: Task<'_>,
        results: Slice<'_, u8>,
    ) -> Result<(), Failed> {
        let operation = work.operation.for_length(count(&split.reduced));
        let chosen = Chosen::of(&Work { operation, ..*work }, view.element)?;
        let bytes = view.element.bytes();
        let plan = Plan::of(&split.kept, &split.reduced, work.is_free());
        let (along, matrix, starts, is_copied) = match plan {
            Plan::None => return Err(Failed::Strides),
            Plan::InPlace {
                along,
                matrix,
                starts,
            } => (along, matrix, starts, false),
            Plan::Copied {
                axes,
                start,
                matrix,
            } => {
                let room = count(&axes) * bytes;
                if self.copy.len() < room {
                    self.copy = device.allocate(room)?;
                }
                let first = values.origin + start * bytes as isize;
                let input =
                    Argument::Address(values.bytes.address().wrapping_add_signed(first as i64));
                // SAFETY: the axes go through the view's elements, the copy has room for them, and the caller promises the rest.
                unsafe { self.pack(device, stream, bytes, input, self.copy.argument(), &axes)? };
                (Along::Rows, matrix, vec![0], true)
            }
        };
        self.choose(device, &chosen, view.element)?;
        let places = count(&split.kept);
        let key = key(&chosen, view.element);
        let raw_bytes = self.reductions[&key].1.result_bytes;
        if chosen.conversion != Conversion::None && self.raw.len() < places * raw_bytes {
            self.raw = device.allocate(places * raw_bytes)?;
        }
        let (values, origin) = match is_copied {
            true => (Slice::from(&self.copy), 0),
            false => (values.bytes, values.origin),
        };
        let made = match chosen.conversion {
            Conversion::None => results,
            _ => self.raw.slice(..places * raw_bytes),
        };
        let span = matrix.span().unwrap_or(usize::MAX).saturating_mul(bytes);
        let part = made.len() / starts.len();
        let (reduction, _) = self.reductions.get_mut(&key).expect("it was put there");
        for (index, start) in starts.into_iter().enumerate() {
            let first = (origin + start * bytes as isize) as usize;
            let (values, made) = (
                values.slice(first..first + span),
                made.slice(index * part..(index + 1) * part),
            );
            // SAFETY: the matrix is of the view's elements, the form that of the kernels, and the caller promises the rest.
            unsafe {
                reduction.queue(
                    device,
                    Some(stream),
                    chosen.mode,
                    values,
                    (along, matrix),
                    made,
                )?;
            }
        }
        // SAFETY: there are as many raw results, and as many results.
        unsafe {
            self.convert(
                device,
                stream,
                chosen.conversion,
                raw_bytes,
                places,
                results,
                work.result,
            )
        }
    }

    /// Queues the conversion of raw results, if there is one.
    ///
    /// # Safety
    /// There are as many raw results of these bytes, and room for as many of this type, which nothing else reads or writes.
    #[allow(clippy::too_many_arguments, reason = "each is a number or a name")]
    unsafe fn convert(
        &mut self,
        device: &Device,
        stream: &Stream,
        conversion: Conversion,
        raw_bytes: usize,
        places: usize,
        results: Slice<'_, u8>,
        of: TypeName,
    ) -> Result<(), Failed> {
        let (from, to) = (self.raw.argument(), results.argument());
        match conversion {
            Conversion::None => Ok(()),
            Conversion::By(kernel) => {
                let arguments = [from, to, places.into()];
                // SAFETY: the caller's promise.
                unsafe { self.run(device, stream, kernel, places, &arguments) }
            }
            Conversion::LowBytes => {
                let axis = Axis {
                    length: places,
                    stride: (raw_bytes / of.bytes()) as isize,
                };
                // SAFETY: the low bytes of a raw result come first, one result after the other, and the caller promises the rest.
                unsafe { self.pack(device, stream, of.bytes(), from, to, &[axis]) }
            }
        }
    }

    /// Queues a running reduction of rows on a stream.
    ///
    /// # Safety
    /// As for [`Self::launch`].
    unsafe fn launch_scan(
        &mut self,
        device: &Device,
        stream: &Stream,
        values: Values<'_>,
        Task { view, split, work }: Task<'_>,
        results: Slice<'_, u8>,
    ) -> Result<(), Failed> {
        let (bytes, n) = (view.element.bytes(), view.count());
        let in_place = match Plan::of(&split.kept, &split.reduced, false) {
            Plan::InPlace {
                along: Along::Rows,
                matrix,
                starts,
            } if starts.len() == 1 => Some((matrix, values.origin + starts[0] * bytes as isize)),
            _ => None,
        };
        let (values, matrix) = match in_place {
            Some((matrix, origin)) => {
                let span = matrix.span().unwrap_or(usize::MAX).saturating_mul(bytes);
                (
                    values.bytes.slice(origin as usize..origin as usize + span),
                    matrix,
                )
            }
            None => {
                let rows = Rows::new(&split.kept, &split.reduced);
                let axes = rows.axes();
                if axes.len() > COPIED_AXES {
                    return Err(Failed::Strides);
                }
                if self.copy.len() < n * bytes {
                    self.copy = device.allocate(n * bytes)?;
                }
                let input = values
                    .bytes
                    .address()
                    .wrapping_add_signed(values.origin as i64);
                let (input, output) = (Argument::Address(input), self.copy.argument());
                // SAFETY: the axes go through the view's elements, the copy has room for them, and the caller promises the rest.
                unsafe { self.pack(device, stream, bytes, input, output, &axes)? };
                (
                    self.copy.slice(..n * bytes),
                    Matrix::contiguous(rows.count(), rows.length()),
                )
            }
        };
        let (conversion, raw_bytes) = match (view.element.name(), work.result.name()) {
            ("f16", "f16") => (Conversion::By("narrow_f16"), 4),
            ("bf16", "bf16") => (Conversion::By("narrow_bf16"), 4),
            ("f16" | "bf16", "f32") => (Conversion::None, 4),
            ("f32", "f32") => (Conversion::None, 4),
            (_, "f64") if kind(view.element) == Kind::Float && bytes >= 4 => (Conversion::None, 8),
            (_, result) if kind(view.element) != Kind::Float && !result.starts_with('f') => {
                let conversion = match work.result.bytes() {
                    8 => Conversion::None,
                    _ => Conversion::LowBytes,
                };
                (conversion, 8)
            }
            _ => {
                return Err(Failed::NoKernel {
                    values: view.element,
                    result: work.result,
                });
            }
        };
        if conversion != Conversion::None && self.raw.len() < n * raw_bytes {
            self.raw = device.allocate(n * raw_bytes)?;
        }
        let made = match conversion {
            Conversion::None => results,
            _ => self.raw.slice(..n * raw_bytes),
        };
        let is_product = work.operation == Operation::Product;
        macro_rules! queue {
            ($value:ty, $operator:expr, $name:expr, $kernels:expr) => {
                // SAFETY: the name is that of the kernels for this pair; the memory is that of as many values and results at addresses for them,
                // and the event of the last work orders this and what other streams do.
                unsafe {
                    let values = Slice::<$value>::from_raw(device, values.address(), values.len() / bytes)?;
                    let made = Slice::from_raw(device, made.address(), n)?;
                    scan::queue_scan::<$value, _>(
                        device,
                        stream,
                        ($name, $kernels),
                        ($operator, ScanKind::Inclusive),
                        (values, matrix),
                        made,
                    )?;
                }
            };
        }
        macro_rules! scans {
            (wide { $($name:literal: $value:ty => $wide:ty;)* } own { $($own_name:literal: $own:ty;)* }) => {
                match (view.element.name(), raw_bytes) {
                    $(($name, 8) if is_product => {
                        queue!($value, As::<$wide, _>::new(Product), concat!("product64_", $name), ScanKernels::Own(text()));
                    }
                    ($name, 8) => queue!($value, As::<$wide, _>::new(Sum), concat!("sum64_", $name), ScanKernels::Own(text())),)*
                    $(($own_name, _) if is_product => {
                        queue!($own, Product, concat!("product_", $own_name), ScanKernels::Library($own_name));
                    }
                    ($own_name, _) => queue!($own, Sum, concat!("sum_", $own_name), ScanKernels::Library($own_name)),)*
                    _ => unreachable!("a name is one of the list"),
                }
            };
        }
        scans! {
            wide {
                "bool": Bool => u64;
                "i8": i8 => i64;
                "u8": u8 => u64;
                "i16": i16 => i64;
                "u16": u16 => u64;
                "i32": i32 => i64;
                "u32": u32 => u64;
                "f32": f32 => f64;
            }
            own {
                "f16": F16;
                "bf16": Bf16;
                "f32": f32;
                "i64": i64;
                "u64": u64;
                "f64": f64;
            }
        }
        // SAFETY: there are as many raw results, and as many results.
        unsafe {
            self.convert(
                device,
                stream,
                conversion,
                raw_bytes,
                n,
                results,
                work.result,
            )
        }
    }

    /// Queues a dot product on a stream.
    ///
    /// # Safety
    /// As for [`Self::launch`], for both arrays.
    unsafe fn launch_dot(
        &mut self,
        device: &Device,
        stream: &Stream,
        values: [Values<'_>; 2],
        views: [&View; 2],
        is_deterministic: bool,
        result: Slice<'_, u8>,
    ) -> Result<(), Failed> {
        let (element, n) = (views[0].element, views[0].count());
        let (bytes, room) = (element.bytes(), n.next_multiple_of(8) * element.bytes());
        let strides = views.map(|view| view.axes[0].stride);
        if n > 1 && strides != [1, 1] && self.copy.len() < 2 * room {
            self.copy = device.allocate(2 * room)?;
        }
        let mut addresses = [0; 2];
        for side in [0, 1] {
            let given = values[side]
                .bytes
                .address()
                .wrapping_add_signed(values[side].origin as i64);
            addresses[side] = given;
            if n > 1 && strides[side] != 1 {
                addresses[side] = self.copy.address() + (side * room) as u64;
                let (input, output) =
                    (Argument::Address(given), Argument::Address(addresses[side]));
                // SAFETY: the axis goes through the view's elements, the copy has room for them, and the caller promises the rest.
                unsafe { self.pack(device, stream, bytes, input, output, &views[side].axes)? };
            }
        }
        // The product is made in a wider type and brought to that of the arrays.
        const RAW: usize = 8;
        if self.raw.len() < RAW {
            self.raw = device.allocate(RAW)?;
        }
        let mode = match is_deterministic {
            true => Mode::Deterministic,
            false => Mode::Fast,
        };
        let (raw, raw_bytes): (_, usize);
        raw = &self.raw;
        macro_rules! dots {
            ($($name:ident: $value:ty;)*) => {
                match element.name() {
                    // SAFETY: the memory is that of as many values and of one result, at addresses for them, and the event of the last work orders
                    // this and what other streams do.
                    $(stringify!($name) => unsafe {
                        let left = Slice::<$value>::from_raw(device, addresses[0], n)?;
                        let right = Slice::<$value>::from_raw(device, addresses[1], n)?;
                        let made = Slice::from_raw(device, raw.address(), 1)?;
                        queue_dot_of::<$value>(device, stream, mode, (left, right), made)?;
                        raw_bytes = size_of::<<$value as Element>::Wide>();
                    },)*
                    _ => unreachable!("a name is one of the list"),
                }
            };
        }
        for_each_element!(dots);
        let conversion = match element.name() {
            "f16" => Conversion::By("narrow_f16"),
            "bf16" => Conversion::By("narrow_bf16"),
            _ => Conversion::LowBytes,
        };
        // SAFETY: there is one raw result, and one result.
        unsafe { self.convert(device, stream, conversion, raw_bytes, 1, result, element) }
    }

    /// Sees to it that the kernels are kept.
    fn choose(&mut self, device: &Device, chosen: &Chosen, values: TypeName) -> Result<(), Failed> {
        let key = key(chosen, values);
        if self.reductions.contains_key(&key) {
            return Ok(());
        }
        let made = if chosen.is_wide {
            let form = wide_form(chosen.operation, values);
            let operator = match chosen.operation {
                Operation::Sum => "sum64",
                _ => "product64",
            };
            let name = format!("{operator}_{values}");
            // SAFETY: the form is that of the operator and the type which the crate of these kernels names so.
            let untyped = unsafe { Untyped::from_ptx(device, text(), &name, form) };
            (untyped?, form)
        } else {
            let (named, ddof) = chosen.operation.named();
            kernels(device, values, named, ddof)?
        };
        self.reductions.insert(key, made);
        Ok(())
    }

    /// Queues a copy of elements from the places that the axes go through to places side by side.
    ///
    /// # Safety
    /// From the address of the input on there are elements of `bytes` bytes at these places, at multiples of that, and from that of the
    /// output on there is room for them.
    unsafe fn pack(
        &mut self,
        device: &Device,
        stream: &Stream,
        bytes: usize,
        input: Argument,
        output: Argument,
        axes: &[Axis],
    ) -> Result<(), Failed> {
        let name = match bytes {
            1 => "pack_1",
            2 => "pack_2",
            4 => "pack_4",
            _ => "pack_8",
        };
        let mut all = [Axis {
            length: 1,
            stride: 0,
        }; COPIED_AXES];
        all[COPIED_AXES - axes.len()..].copy_from_slice(axes);
        let mut arguments = vec![input, output, count(axes).into()];
        arguments.extend(all[1..].iter().map(|axis| Argument::from(axis.length)));
        arguments.extend(all.iter().map(|axis| Argument::from(axis.stride as usize)));
        // SAFETY: the caller's promise.
        unsafe { self.run(device, stream, name, count(axes), &arguments) }
    }

    /// Queues a kernel of the package's own, with a thread for each place.
    ///
    /// # Safety
    /// As the kernel says.
    unsafe fn run(
        &mut self,
        device: &Device,
        stream: &Stream,
        name: &'static str,
        places: usize,
        arguments: &[Argument],
    ) -> Result<(), Failed> {
        const BLOCK: u32 = 256;
        const MOST_BLOCKS: usize = 1 << 16;
        if !self.own.contains_key(name) {
            let text = only(text(), name).ok_or_else(|| Error::NoKernel(name.to_owned()))?;
            let kernel = device.load(&text)?.kernel(name)?;
            self.own.insert(name, kernel);
        }
        let blocks = places.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS) as u32;
        // SAFETY: the caller's promise.
        unsafe { stream.launch(&self.own[name], &Shape::linear(blocks, BLOCK), arguments)? };
        Ok(())
    }
}

fn key(chosen: &Chosen, values: TypeName) -> Key {
    let (named, ddof) = chosen.operation.named();
    (named.name(), values.name(), ddof, chosen.is_wide)
}
