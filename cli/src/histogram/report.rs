//! The results of the command, as JSON shows them.

use crate::failure::Failure;
use crate::figures::{EmulatorFigures, GpuFigures, measured_figures};
use serde::Serialize;
use std::path::Path;
use warpfold::device::Device;
use warpfold_course::case::Measured;
use warpfold_course::histogram::{Histogram, HistogramRun, Image, Statistics};

/// The results.
#[derive(Serialize)]
pub struct Report {
    /// The file.
    pub file: String,
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes from one row to the next on the device.
    pub pitch: usize,
    /// Threads of a block.
    pub block: u32,
    /// The device in words.
    pub device: String,
    /// What each kernel did.
    pub kernels: Vec<KernelFigures>,
    /// The counts and what they say, by channel.
    pub channels: Channels,
}

/// The three channels.
#[derive(Serialize)]
pub struct Channels {
    red: Channel,
    green: Channel,
    blue: Channel,
}

#[derive(Serialize)]
struct Channel {
    #[serde(flatten)]
    statistics: Option<Statistics>,
    /// How many pixels have each value, from 0 to 255.
    counts: Vec<u32>,
}

/// What one kernel did.
#[derive(Serialize)]
pub struct KernelFigures {
    /// Its id.
    pub id: &'static str,
    /// Blocks of the launch.
    pub grid: u32,
    /// Whether it counts what the CPU counts.
    pub is_right: bool,
    #[serde(skip)]
    mistake: Option<String>,
    /// Times on a GPU.
    pub gpu: Option<GpuFigures>,
    /// Counters of the emulator.
    pub emulator: Option<EmulatorFigures>,
    /// What the emulator counted of atomics.
    pub atomics: Option<AtomicFigures>,
}

/// Atomics that the emulator counted of a kernel.
#[derive(Serialize)]
pub struct AtomicFigures {
    /// Atomic operations of threads.
    pub operations: u64,
    /// Sectors that warp instructions with atomics on global memory send, one more for each further lane with the same address.
    pub global_passes: u64,
    /// Turns that shared memory takes for atomics.
    pub shared_wavefronts: u64,
}

impl Report {
    /// What came of the runs.
    pub fn new(
        path: &Path,
        image: &Image,
        block: u32,
        device: &Device,
        expected: &Histogram,
        runs: &[(&'static str, HistogramRun)],
    ) -> Self {
        Self {
            file: path.display().to_string(),
            width: image.width(),
            height: image.height(),
            pitch: image.pitch(),
            block,
            device: device.describe(),
            kernels: runs
                .iter()
                .map(|(id, run)| KernelFigures::new(id, run, image, expected))
                .collect(),
            channels: Channels::new(&runs[0].1.histogram),
        }
    }

    /// What stands above a plot.
    pub fn title(&self) -> String {
        let path = Path::new(&self.file);
        let name = path.file_name().unwrap_or(path.as_os_str());
        format!(
            "{} · {} × {} pixels",
            name.display(),
            self.width,
            self.height
        )
    }

    /// The number of pixels.
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Fails for the first kernel that is wrong.
    pub fn judge(&self) -> Result<(), Failure> {
        let wrong = self.kernels.iter().find_map(|kernel| {
            let mistake = kernel.mistake.as_ref()?;
            Some(format!("`{}` {mistake}, in {}", kernel.id, self.file))
        });
        wrong.map_or(Ok(()), |mistake| Err(Failure::Finding(mistake)))
    }
}

impl Channels {
    fn new(histogram: &Histogram) -> Self {
        let statistics = histogram.statistics();
        let [red, green, blue] = std::array::from_fn(|channel| Channel {
            statistics: statistics.map(|of| of[channel]),
            counts: histogram.channels[channel].to_vec(),
        });
        Self { red, green, blue }
    }
}

impl KernelFigures {
    fn new(id: &'static str, run: &HistogramRun, image: &Image, expected: &Histogram) -> Self {
        let mistake = run.histogram.first_difference(expected);
        let (gpu, emulator) = measured_figures(&run.measured, 3 * image.pixels() as u64);
        let atomics = match &run.measured {
            Measured::Counters { counters, .. } => Some(AtomicFigures {
                operations: counters.atomics,
                global_passes: counters.global_atomic_passes,
                shared_wavefronts: counters.shared_atomics.wavefronts,
            }),
            Measured::Times(_) | Measured::Nothing => None,
        };
        Self {
            id,
            grid: run.blocks,
            is_right: mistake.is_none(),
            mistake,
            gpu,
            emulator,
            atomics,
        }
    }
}
