//! What a comparison of reductions of every shape leaves: the JSON that `peers shapes` writes, and that `cargo xtask` reads.

use super::record::Maker;
use serde::{Deserialize, Serialize};

/// One run on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapesRecord {
    /// When, in UTC: `2026-01-31T12:00:00Z`.
    pub date: String,
    /// The GPU, in a line.
    pub device: String,
    /// The GPU's driver.
    pub driver: String,
    /// What measured, and how: a digest of the program, the values and the launches.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub made_by: String,
    /// What compiled the contenders, and the versions of the libraries.
    pub compilers: Vec<String>,
    /// The medians.
    pub points: Vec<Point>,
    /// In what a contender is treated otherwise than the rest, a sentence each.
    pub notes: Vec<String>,
    /// Who did not take part.
    pub left_out: Vec<Missing>,
}

/// One operator at one shape, by everybody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What kind of reduction it is.
    pub group: Group,
    /// `sum`, `argmax`, `log-sum-exp`.
    pub operator: String,
    /// What was reduced: `f32`.
    pub element_type: String,
    /// Rows of a matrix, segments, runs of equal keys, or 1 for an array.
    pub rows: usize,
    /// Elements of a row; of segments and runs, the mean length that was asked for.
    pub columns: usize,
    /// How the lengths of segments differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// The bytes that our call reads: values, offsets and keys.
    pub bytes_read: usize,
    /// The bytes that it writes.
    pub bytes_written: usize,
    /// The time of each contender; that of the ceiling among them, which reads and writes as many bytes.
    pub times: Vec<Time>,
}

/// The time of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// Who wrote it.
    pub maker: Maker,
    /// What it is called.
    pub name: String,
    /// Timed launches: 1 where one takes so long that more would hold up everybody.
    pub launches: usize,
    /// The median device time of a launch; of graphs, the time of a graph divided by its launches.
    pub median_ms: f64,
    /// The shortest.
    pub fastest_ms: f64,
}

/// Somebody who did not take part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// What it is called.
    pub name: String,
    /// Where; anywhere, if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Why.
    pub reason: String,
}

/// What is compared together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Each row of a matrix.
    Rows,
    /// Each column of a matrix.
    Columns,
    /// Each column of matrices with an odd number of them, so that rows begin anywhere.
    OddColumns,
    /// Rows whose bytes are no power of two.
    OddRows,
    /// Small types: a whole array, and rows.
    Types,
    /// Each column of matrices of small types.
    TypeColumns,
    /// Segments by offsets.
    Segments,
    /// Small arrays: each contender as a graph of some launches.
    Graphs,
    /// Running sums and maxima.
    Scans,
    /// Runs of equal keys.
    Keys,
}

impl Point {
    /// Its shape, in a few characters: `2^4 × 2^24`, `zipf, 32`.
    pub fn shape(&self) -> String {
        match (self.group, &self.spread) {
            (Group::Segments, Some(spread)) => format!("{spread}, {}", self.columns),
            (Group::Keys, _) => format!("runs of {}", self.columns),
            _ if self.rows == 1 && !matches!(self.group, Group::Rows | Group::Columns) => {
                power(self.columns)
            }
            _ => format!("{} × {}", power(self.rows), power(self.columns)),
        }
    }

    /// The time of our library.
    pub fn ours(&self) -> Option<&Time> {
        self.times.iter().find(|time| time.maker == Maker::Warpfold)
    }

    /// The time of what reads and writes as many bytes, and does nothing else.
    pub fn ceiling(&self) -> Option<&Time> {
        self.times.iter().find(|time| time.maker == Maker::Ceiling)
    }

    /// The fastest of other people's libraries.
    pub fn best_peer(&self) -> Option<&Time> {
        let peers = self.times.iter().filter(|time| {
            matches!(
                time.maker,
                Maker::Library | Maker::Python | Maker::Rust | Maker::CudaCpp
            )
        });
        peers.min_by(|left, right| left.median_ms.total_cmp(&right.median_ms))
    }

    /// How much longer the best peer takes than we do.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.best_peer()?.median_ms / self.ours()?.median_ms)
    }

    /// Our share of the speed of the ceiling.
    pub fn share(&self) -> Option<f64> {
        Some(self.ceiling()?.median_ms / self.ours()?.median_ms)
    }
}

/// `2^24` where it is a power of two, but not 1.
fn power(n: usize) -> String {
    if n > 1 && n.is_power_of_two() {
        format!("2^{}", n.trailing_zeros())
    } else {
        n.to_string()
    }
}
