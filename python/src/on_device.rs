//! Reductions on a GPU or the emulator, by the library's kernels.
//!
//! A device belongs to a thread. Each thread that calls has its own, with the kernels that it has loaded.

mod chosen;
mod kept;

pub use kept::Task;

use crate::failed::Failed;
use crate::on_host::Split;
use crate::plan::Plan;
use crate::view::{Axis, Rows, View};
use kept::{Kept, Values};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::slice;
use warpfold::device::{Slice, Stream, keep_current_context};
use warpfold::{Device, DeviceChoice, Error};

/// A device of this thread, and what is kept with it.
struct Opened {
    kept: RefCell<Kept>,
    device: Device,
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
                let kept = Kept::new(&device)?;
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
        copy = unsafe { rows.gather(view.address, bytes, 0..rows.count()) }?;
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
    let copy = unsafe { rows.gather(view.address, bytes, 0..rows.count()) }?;
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
    let copy = |view: &View| {
        // SAFETY: the caller's promise.
        unsafe { Rows::new(&[], &view.axes).gather(view.address, bytes, 0..1) }
    };
    let copies = [copy(views[0])?, copy(views[1])?];
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
