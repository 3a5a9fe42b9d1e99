//! Counting an image by a lesson's kernel.

use super::{BINS, Histogram, Image};
use crate::case::{Case, CaseArgument, Measured, Outputs};
use crate::lesson::{self, LessonError};
use warpfold::Device;
use warpfold::device::{DeviceError, Shape, Timing};
use warpfold_kernels::catalogue::{Demonstration, Lesson, Task, Variant};

/// Where the bins are among the arguments.
const BINS_ARGUMENT: usize = 4;

/// The result of one kernel on one image.
#[derive(Clone, Debug)]
pub struct HistogramRun {
    /// Blocks of the launch.
    pub blocks: u32,
    /// What the kernel counted.
    pub histogram: Histogram,
    /// What was measured.
    pub measured: Measured,
}

/// The launch with which a lesson counts an image: a thread for each pixel, or for as many pixels as the lesson's parameter says.
///
/// The case gives the rows of the image at their pitch and 768 bins that begin with 0. An image has fewer than 2^32 pixels, and the grid
/// has a thread for each pixel or a loop that comes to it. So launched, the kernels of this part stay within these buffers.
///
/// # Errors
/// A variant that the lesson does not take, or a lesson that counts no images.
pub(crate) fn case<'a>(
    lesson: &Lesson,
    variant: Variant,
    image: &'a Image,
) -> Result<Case<'a>, LessonError> {
    let entry = lesson::entry(lesson, variant)?;
    if !matches!(
        lesson.task,
        Task::Demonstration(Demonstration::Histogram(_))
    ) {
        return Err(LessonError::NoHistogram { lesson: lesson.id });
    }
    let pixels_per_block = u64::from(variant.parameter.unwrap_or(1)) * u64::from(variant.block);
    let blocks = (image.pixels() as u64).div_ceil(pixels_per_block);
    let blocks = lesson::extent(lesson, variant, blocks, image.pixels())?;
    Ok(Case {
        entry,
        shape: Shape::linear(blocks, variant.block),
        arguments: vec![
            CaseArgument::input(image.bytes()),
            CaseArgument::scalar(image.width()),
            CaseArgument::scalar(image.height()),
            CaseArgument::scalar(image.pitch()),
            CaseArgument::rewritten(vec![0_u32; BINS]),
        ],
    })
}

/// What a launch of a [`case()`] has counted.
///
/// # Errors
/// The copy from the device fails.
pub(crate) fn counted(outputs: &Outputs<'_>) -> Result<Histogram, DeviceError> {
    let mut histogram = Histogram::empty();
    let bins = outputs.read::<u32>(BINS_ARGUMENT)?;
    histogram.channels.as_flattened_mut().copy_from_slice(&bins);
    Ok(histogram)
}

/// Counts an image with the kernel of a lesson: once on the emulator, which counts instructions and accesses, and repeatedly on a
/// GPU, which times the kernel.
///
/// # Errors
/// A variant that the lesson does not take, or a lesson that counts no images; a device with too little memory; a kernel that faults.
/// Wrong counts are no error: compare them with [`Histogram::of`].
pub fn launch(
    device: &Device,
    lesson: &Lesson,
    variant: Variant,
    image: &Image,
    timing: &Timing,
) -> Result<HistogramRun, LessonError> {
    let case = case(lesson, variant, image)?;
    lesson::check_device(lesson, device)?;
    let kernel = device.kernel(lesson.module, case.entry)?;
    // SAFETY: `case` says so, and the kernel is of this device.
    let mut loaded = unsafe { case.load(device, kernel)? };
    let mut measured = loaded.launch()?;
    if device.is_gpu() {
        measured = Measured::Times(loaded.time(timing)?);
    }
    Ok(HistogramRun {
        blocks: case.shape.grid[0],
        histogram: counted(&loaded.outputs())?,
        measured,
    })
}
