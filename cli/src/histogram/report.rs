//! The results of the command, as JSON shows them.

use super::cpu::CpuFigures;
use crate::failure::Failure;
use crate::figures::{EmulatorFigures, GpuFigures, measured_figures};
use serde::Serialize;
use std::path::Path;
use warpfold_course::case::Measured;
use warpfold_course::histogram::{Histogram, HistogramRun, Image, Statistics};

/// The results.
#[derive(Serialize)]
pub struct Report {
    /// The device in words.
    pub device: String,
    /// Threads of a block, from few to many.
    pub blocks: Vec<u32>,
    /// What came of each image.
    pub images: Vec<ImageReport>,
}

/// What came of one image.
#[derive(Serialize)]
pub struct ImageReport {
    /// The file, or `fractal`.
    pub image: String,
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes from one row to the next on the device.
    pub pitch: usize,
    /// What this computer's processor took.
    pub cpu: Vec<CpuFigures>,
    /// What each kernel did, by kernel and block size.
    pub kernels: Vec<KernelFigures>,
    /// The counts and what they say, by channel.
    pub channels: Channels,
}

/// A kernel's run in blocks of some size.
pub struct Run {
    /// The kernel's id.
    pub id: &'static str,
    /// Threads of a block.
    pub block: u32,
    /// What came of it.
    pub of: HistogramRun,
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
    /// Threads of a block.
    pub block: u32,
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

impl ImageReport {
    /// What came of the runs, of which there is one.
    pub fn new(
        name: &str,
        image: &Image,
        expected: &Histogram,
        cpu: Vec<CpuFigures>,
        runs: &[Run],
    ) -> Self {
        Self {
            image: name.to_owned(),
            width: image.width(),
            height: image.height(),
            pitch: image.pitch(),
            cpu,
            kernels: runs
                .iter()
                .map(|run| KernelFigures::new(run, image, expected))
                .collect(),
            channels: Channels::new(&runs[0].of.histogram),
        }
    }

    /// What stands above a plot.
    pub fn title(&self) -> String {
        let path = Path::new(&self.image);
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
}

impl Report {
    /// Fails for the first kernel that is wrong, and for a processor whose cores do not agree.
    pub fn judge(&self) -> Result<(), Failure> {
        let wrong = self.images.iter().find_map(|image| {
            if let Some(cpu) = image.cpu.iter().find(|cpu| !cpu.is_right) {
                let name = cpu.name();
                return Some(format!("{name} and all cores differ in {}", image.image));
            }
            let wrong = |kernel: &KernelFigures| {
                let mistake = kernel.mistake.as_ref()?;
                Some(format!("`{}` {mistake}, in {}", kernel.id, image.image))
            };
            image.kernels.iter().find_map(wrong)
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
    fn new(run: &Run, image: &Image, expected: &Histogram) -> Self {
        let Run { id, block, of: run } = run;
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
            block: *block,
            grid: run.blocks,
            is_right: mistake.is_none(),
            mistake,
            gpu,
            emulator,
            atomics,
        }
    }
}
