//! Counting an image by a kernel.

use super::{CHANNELS, Histogram, Image};
use crate::device::{Argument, Buffer, Device, DeviceError, Module, Shape, Times, Timing};
use std::time::Instant;
use warpfold_emulator::{Measurements, Profile};
use warpfold_kernels::catalogue::BLOCK_SIZES;

/// One of the two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// `histogram_global`: a thread per pixel, which counts in the histogram in global memory.
    Global,
    /// `histogram_shared`: a histogram per block in shared memory, merged at the end.
    Shared,
}

impl Kernel {
    /// Both, in the order of the course.
    pub const ALL: [Self; 2] = [Self::Global, Self::Shared];

    /// Its name in the course, which is that of its entry.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Global => "histogram_global",
            Self::Shared => "histogram_shared",
        }
    }

    /// Pixels that a thread takes.
    pub const fn pixels_per_thread(self) -> usize {
        match self {
            Self::Global => 1,
            // Enough that clearing and merging 768 bins is a small part of a block's work.
            Self::Shared => 32,
        }
    }

    /// Blocks for an image.
    fn blocks(self, image: &Image, block: u32) -> u32 {
        let blocks = image
            .pixels()
            .div_ceil(self.pixels_per_thread() * block as usize);
        u32::try_from(blocks).expect("an image has fewer than 2^32 pixels")
    }
}

/// What came of one kernel on one image.
#[derive(Clone, Debug)]
pub struct HistogramRun {
    /// Blocks of the launch.
    pub blocks: u32,
    /// What the kernel counted.
    pub histogram: Histogram,
    /// What was measured on the way.
    pub measured: Measured,
}

/// What a launch tells beside its counts.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each launch of thousands of threads"
)]
pub enum Measured {
    /// Device times of the kernel on a GPU, on bins that were cleared before each launch.
    Times(Times),
    /// What the emulator counted.
    Counted {
        /// The measurements of the one launch.
        measurements: Measurements,
        /// How long it took on this computer, which says nothing about a GPU.
        emulated_in_ms: f64,
    },
}

/// Why an image could not be counted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HistogramError {
    /// A block size that the kernels are not tested for.
    #[error("there are no blocks of {block} threads here; use one of {}", BLOCK_SIZES.map(|size| size.to_string()).join(", "))]
    BlockSize {
        /// The block size asked for.
        block: u32,
    },
    /// The device has not the memory, or the kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Counts an image by a kernel: measured on the emulator, launched once more for each time on a GPU.
///
/// # Errors
/// A block size that is none of the course's; a device without the memory; a kernel that faults. Wrong counts are no error:
/// compare them with [`Histogram::of`].
pub fn launch(
    device: &Device,
    module: &Module,
    kernel: Kernel,
    block: u32,
    image: &Image,
    timing: &Timing,
) -> Result<HistogramRun, HistogramError> {
    if !BLOCK_SIZES.contains(&block) {
        return Err(HistogramError::BlockSize { block });
    }
    let blocks = kernel.blocks(image, block);
    let shape = Shape::linear(blocks, block);
    let bytes = device.upload(image.bytes())?;
    let cleared = device.upload(Histogram::empty().channels.as_flattened())?;
    let mut bins = device.upload(Histogram::empty().channels.as_flattened())?;
    let arguments: [Argument; 5] = [
        bytes.argument(),
        image.width().into(),
        image.height().into(),
        image.pitch().into(),
        bins.argument(),
    ];
    let kernel = module.kernel(kernel.id())?;
    let measured = if device.is_gpu() {
        let clear = || bins.copy_from(&cleared);
        // SAFETY: both kernels read the rows of an image, which `bytes` holds at this pitch, and count in 768 bins; each
        // launch begins with bins of 0, and an image has fewer than 2^32 pixels; the grid has a thread for each.
        Measured::Times(unsafe { kernel.time(&shape, &arguments, timing, clear)? })
    } else {
        let mut profile = Profile::default();
        let start = Instant::now();
        kernel.observe(&shape, &arguments, &mut profile)?;
        Measured::Counted {
            measurements: profile.total(),
            emulated_in_ms: start.elapsed().as_secs_f64() * 1e3,
        }
    };
    Ok(HistogramRun {
        blocks,
        histogram: read(&bins)?,
        measured,
    })
}

fn read(bins: &Buffer<u32>) -> Result<Histogram, DeviceError> {
    let mut histogram = Histogram::empty();
    debug_assert_eq!(bins.len(), CHANNELS.len() * 256);
    bins.read_into(histogram.channels.as_flattened_mut())?;
    Ok(histogram)
}
