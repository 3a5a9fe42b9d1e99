//! What a comparison with peers leaves: the JSON that `peers/run/` writes, and that `cargo xtask` reads.

use serde::{Deserialize, Serialize};

/// One run on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When, in UTC: `2026-01-31T12:00:00Z`.
    pub date: String,
    /// The GPU, in a line.
    pub device: String,
    /// The GPU's driver.
    pub driver: String,
    /// What the GPU's memory gives by its data sheet.
    pub datasheet_gigabytes_per_second: Option<f64>,
    /// What compiled the contenders, and the versions of the libraries.
    pub compilers: Vec<String>,
    /// What was added up.
    pub element_type: String,
    /// Threads of a block, where the contender leaves it open.
    pub block: u32,
    /// Timed launches of each contender, of which a measurement is the median.
    pub repeat: usize,
    /// The medians.
    pub measurements: Vec<Measurement>,
    /// Who did not take part.
    pub left_out: Vec<LeftOut>,
}

/// The time of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Who wrote it.
    pub maker: Maker,
    /// What it is called.
    pub name: String,
    /// Number of elements.
    pub n: usize,
    /// What it found in the L2 cache.
    pub cache: Cache,
    /// The median device time of a launch.
    pub median_ms: f64,
    /// The shortest.
    pub fastest_ms: f64,
}

/// Somebody who did not take part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What it is called.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Who wrote a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Maker {
    /// A kernel of ours, in Rust.
    #[serde(rename = "warpfold")]
    Warpfold,
    /// The kernel of the same name in CUDA C++.
    #[serde(rename = "CUDA C++")]
    CudaCpp,
    /// A library that is called from C++.
    #[serde(rename = "library")]
    Library,
    /// A library that is called from Python.
    #[serde(rename = "Python")]
    Python,
    /// No sum: what only reads the input.
    #[serde(rename = "ceiling")]
    Ceiling,
}

/// What a launch found in the L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// What a launch of the same contender, right before, has left.
    Warm,
    /// Nothing of use: it was overwritten.
    Cold,
}
