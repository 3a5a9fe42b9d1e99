//! The results of a sweep.

use super::contender::Contender;
use super::measured::{Measured, Row};
use serde::Serialize;
use warpfold::device::GpuInformation;
use warpfold_course::data::Data;
use warpfold_course::element::ElementType;

/// The results of a sweep.
#[derive(Debug, Serialize)]
pub struct Sweep {
    /// The device in words.
    pub(super) device: String,
    /// Whether there are times of a GPU; otherwise there are counters of the emulator.
    pub(super) on_gpu: bool,
    /// What the driver tells about the GPU; `null` on the emulator.
    pub(super) gpu: Option<GpuInformation>,
    /// The CUDA version that the driver supports; `null` on the emulator.
    pub(super) driver: Option<String>,
    /// What made the kernels' PTX; `null` for PTX that does not say.
    pub(super) ptx_compiler: Option<String>,
    /// What the PTX is built for: 90 for sm_90.
    pub(super) ptx_sm: u32,
    /// How values are combined.
    pub(super) operator: &'static str,
    /// Type of the elements.
    pub(super) element_type: ElementType,
    /// Threads of a block.
    pub(super) block: u32,
    /// The data.
    pub(super) data: Data,
    /// Their seed; `null` where they have none.
    pub(super) seed: Option<u64>,
    /// Timed launches; `null` on the emulator.
    pub(super) repeat: Option<u32>,
    /// Whether the L2 cache was overwritten before each of them; `null` on the emulator.
    pub(super) cold: Option<bool>,
    /// Numbers of elements, from small to large.
    pub(super) sizes: Vec<usize>,
    #[serde(flatten)]
    pub(super) measured: Measured,
    #[serde(skip)]
    pub(super) contenders: Vec<Contender>,
}

impl Sweep {
    /// The contenders that have a row, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = &'static str> {
        let ids = self.contenders.iter().map(Contender::id);
        ids.filter(|&id| self.measured.rows.iter().any(|row| row.id == id))
    }

    pub(super) fn row(&self, id: &str, n: usize) -> Option<&Row> {
        let mut rows = self.measured.rows.iter();
        rows.find(|row| row.id == id && row.n == n)
    }

    /// The lesson's number in its part of the course; nothing for the library.
    pub(super) fn step(&self, id: &str) -> &'static str {
        let contender = self.contenders.iter().find(|known| known.id() == id);
        let lesson = contender.and_then(Contender::lesson);
        lesson.map_or("", |lesson| lesson.step)
    }
}
