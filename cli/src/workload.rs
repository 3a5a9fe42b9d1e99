//! The options of commands that run lessons on data that they make.

use super::data::DataArguments;
use super::device::{DeviceArguments, Machines};
use super::failure::Failure;
use super::show;
use super::size::parse_count;
use serde::Serialize;
use warpfold::device::{Device, Timing};
use warpfold_course::data::Data;
use warpfold_course::element::ElementType;
use warpfold_course::lesson::LessonError;
use warpfold_course::reducible::Reducible;
use warpfold_kernels::catalogue::{self, BLOCK_SIZES, Lesson, Variant};

/// How much data to run on, where, and how to measure it.
#[derive(clap::Args, Debug)]
pub struct WorkloadArguments {
    /// Number of elements: 2^24, 16M, 3*2^30, 1_000_000 [default: 2^24 on a GPU, 2^20 on the emulator]
    #[arg(short, value_parser = parse_count)]
    n: Option<usize>,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
}

/// The same without the amount of data.
#[derive(clap::Args, Debug)]
pub struct MeasuringArguments {
    #[arg(long, default_value = "512", value_parser = parse_block, help = block_help())]
    pub block: u32,
    #[command(flatten)]
    pub device: DeviceArguments,
    /// Timed launches of each kernel on a GPU, whose median is shown
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repeat: u32,
    /// Overwrite the GPU's L2 cache before each timed launch, so that every byte comes from memory
    #[arg(long)]
    pub cold: bool,
    #[command(flatten)]
    pub data: DataArguments,
}

impl MeasuringArguments {
    /// How a GPU times.
    pub fn timing(&self) -> Timing {
        Timing {
            repeat: self.repeat as usize,
            cold: self.cold,
        }
    }
}

/// What was run, for the first line of output and for JSON.
#[derive(Debug, Serialize)]
pub struct Workload {
    /// The device in words.
    pub device: String,
    /// Number of elements.
    pub n: usize,
    /// Type of the elements; `null` where a lesson makes its own.
    pub element_type: Option<ElementType>,
    /// Threads of a block; `null` on the processor.
    pub block: Option<u32>,
    /// The data; random where a lesson makes its own.
    pub data: Data,
    /// Their seed; `null` where they have none.
    pub seed: Option<u64>,
    /// Timed launches of each kernel; `null` except on a GPU.
    pub repeat: Option<u32>,
    /// Whether the L2 cache was overwritten before each timed launch; `null` except on a GPU.
    pub cold: Option<bool>,
}

impl WorkloadArguments {
    /// What is asked for, where it does not depend on the device: `Some(0)` for `-n 0`.
    pub fn n_asked(&self) -> Option<usize> {
        self.n
    }

    /// The workload on this device.
    ///
    /// # Errors
    /// As [`DataArguments::data`].
    pub fn on(
        &self,
        device: &Device,
        element_type: Option<ElementType>,
    ) -> Result<Workload, Failure> {
        let data = self.measuring.data.data()?;
        Ok(Workload {
            device: device.describe(),
            n: self
                .n
                .unwrap_or(if device.is_gpu() { 1 << 24 } else { 1 << 20 }),
            element_type,
            block: Some(self.measuring.block),
            seed: data.seed(),
            data,
            repeat: device.is_gpu().then_some(self.measuring.repeat),
            cold: device.is_gpu().then_some(self.measuring.cold),
        })
    }

    /// The workload of a lesson on this device: no more elements than it takes, unless more are asked for.
    ///
    /// # Errors
    /// As [`DataArguments::data`].
    pub fn of_lesson(
        &self,
        lesson: &Lesson,
        variant: Variant,
        device: &Device,
    ) -> Result<Workload, Failure> {
        let reduction = lesson.reduction();
        let element_type = reduction.map(|reduction| reduction.element_type.into());
        let mut workload = self.on(device, element_type)?;
        let most = reduction.and_then(|reduction| reduction.most_elements(variant));
        if let (None, Some(most)) = (self.n, most) {
            workload.n = workload.n.min(most as usize);
        }
        Ok(workload)
    }

    /// The workload on this computer's processor, whose references add up `i32` values.
    ///
    /// # Errors
    /// As [`DataArguments::data`].
    pub fn on_processor(&self) -> Result<Workload, Failure> {
        let data = self.measuring.data.data()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Workload {
            device: format!("processor: {cores} cores"),
            n: self.n.unwrap_or(1 << 24),
            element_type: Some(ElementType::I32),
            block: None,
            seed: data.seed(),
            data,
            repeat: None,
            cold: None,
        })
    }
}

impl Workload {
    /// The same, on several devices together.
    #[must_use]
    pub fn on_machines(self, machines: &Machines) -> Self {
        Self {
            device: machines.describe(),
            ..self
        }
    }

    /// The data for this operator; `T` is the type of the elements.
    pub fn values<T: Reducible>(&self, operator: catalogue::Operator) -> Result<Vec<T>, Failure> {
        debug_assert_eq!(self.element_type, Some(T::ELEMENT_TYPE.into()));
        self.data
            .values(operator, self.n)
            .map_err(|_| Failure::input(LessonError::HostMemory { n: self.n }))
    }

    /// Bytes of the data; `None` where a lesson makes its own.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.n as u64 * self.element_type?.bytes() as u64)
    }

    /// One line on what runs.
    pub fn describe(&self) -> String {
        let n = show::count(self.n as u64);
        let data = match (self.element_type, self.bytes()) {
            (Some(element_type), Some(bytes)) => {
                let data = self.data.describe(element_type.name());
                let seed = self.seed.map(|seed| format!(", seed {seed}"));
                let seed = seed.unwrap_or_default();
                format!("n = {n} {data} ({}{seed})", show::bytes(bytes))
            }
            _ => format!("n = {n} (seed {})", self.seed.unwrap_or_default()),
        };
        match self.block {
            Some(block) => format!("{data} · block {block}"),
            None => data,
        }
    }

    /// What the times of a GPU are; `None` anywhere else.
    pub fn describe_timing(&self) -> Option<String> {
        Some(describe_timing(self.repeat?, self.cold?))
    }
}

/// What the times of a GPU are.
pub fn describe_timing(repeat: u32, cold: bool) -> String {
    let cache = if cold {
        "cold: the L2 cache is overwritten before each"
    } else {
        "warm"
    };
    format!(
        "ms: the kernel alone between two events on the device, median of {repeat} launches ({cache}); copies and the host's last additions are not timed.\n\
         GB/s: the bytes of the input divided by that time."
    )
}

/// What the help says of a block size.
pub fn block_help() -> String {
    format!("Threads of a block: one of {}", block_sizes())
}

/// Reads a block size that every lesson takes.
pub fn parse_block(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|block| BLOCK_SIZES.contains(block))
        .ok_or_else(|| {
            format!(
                "no kernel is built for that many threads; use one of {}",
                block_sizes()
            )
        })
}

fn block_sizes() -> String {
    BLOCK_SIZES.map(|size| size.to_string()).join(", ")
}
