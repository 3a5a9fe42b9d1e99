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
    /// Threads of a block, where the contender leaves it open.
    pub block: u32,
    /// The medians.
    pub measurements: Vec<Measurement>,
    /// In what a contender is treated otherwise than the rest, a sentence each.
    pub notes: Vec<String>,
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
    /// What it added up: `i32`.
    pub element_type: String,
    /// Number of elements.
    pub n: usize,
    /// What it found.
    pub finds: Finds,
    /// Timed launches.
    pub launches: usize,
    /// The median device time of a launch.
    pub median_ms: f64,
    /// The shortest.
    pub fastest_ms: f64,
}

/// Somebody who did not take part, or not to the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What it is called.
    pub name: String,
    /// Where; anywhere, if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// Why.
    pub reason: String,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// What was added up: `i32`.
    pub element_type: String,
    /// Number of elements.
    pub n: usize,
    /// What the launches found when it ended, if it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Finds>,
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
    /// A library that is called from Rust.
    #[serde(rename = "Rust")]
    Rust,
    /// No sum: what only reads the input, and what does not even do that.
    #[serde(rename = "ceiling")]
    Ceiling,
}

/// What a launch finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finds {
    /// In the L2 cache, what a launch of the same contender, right before, has left; on the GPU, others at work until it is queued, so
    /// that no time of the host is in its time.
    Warm,
    /// In the L2 cache, nothing of use: it was overwritten. The rest as for the former.
    Cold,
    /// The L2 cache as for the first, and the GPU idle: what the host does between the parts of a call counts.
    Idle,
}
