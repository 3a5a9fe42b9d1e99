//! What a comparison of sums by several GPUs leaves: the JSON that `peers groups` writes, and that `cargo xtask` reads.

use serde::{Deserialize, Serialize};

/// One run on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupsRecord {
    /// When, in UTC: `2026-01-31T12:00:00Z`.
    pub date: String,
    /// The GPUs, a line each.
    pub devices: Vec<String>,
    /// Their driver.
    pub driver: String,
    /// What compiled the contenders, and the versions of the libraries.
    pub compilers: Vec<String>,
    /// The times.
    pub points: Vec<GroupPoint>,
    /// Who did not take part, with the reason.
    pub left_out: Vec<String>,
}

/// One sum of all GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPoint {
    /// Values of f32 in all; each GPU has its share.
    pub n: usize,
    /// The median time of each GPU that sums its share alone, in milliseconds.
    pub alone_ms: Vec<f64>,
    /// The times of all together.
    pub times: Vec<GroupTime>,
    /// The same of sums in a row.
    pub in_a_row: InARow,
}

/// Sums that follow one another on a stream of each GPU, between an event that all streams wait for and one that waits for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InARow {
    /// How many they are.
    pub rounds: usize,
    /// The median time of one of them, of each GPU that sums its share alone, in milliseconds.
    pub alone_ms: Vec<f64>,
    /// The times of one of them.
    pub times: Vec<GroupTime>,
}

/// The time of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupTime {
    /// What it is called.
    pub name: String,
    /// How often it was timed.
    pub launches: usize,
    /// The median of the launches, in milliseconds.
    pub median_ms: f64,
    /// The fastest of them.
    pub fastest_ms: f64,
}

/// What the library's own sum by a group is called, queued.
pub const QUEUED: &str = "warpfold";
/// The same as a graph.
pub const AS_GRAPH: &str = "warpfold, as a graph";
/// The same in the fixed order.
pub const FIXED: &str = "warpfold, in the fixed order";
/// The other library's.
pub const NCCL: &str = "NCCL after CUB";
