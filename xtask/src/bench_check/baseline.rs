//! What is kept of a count, to compare later ones with.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::error::BenchCheckError;
use crate::failure::io;
use crate::files;

/// One thing that was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What was done, or what was looked at.
    pub name: String,
    /// How many there were of what was counted.
    pub count: u64,
    /// What was counted: `instructions`.
    pub counted: String,
    /// How much work that was for.
    pub units: u64,
    /// The unit of it: `warp instruction`.
    pub unit: String,
}

impl Row {
    /// What is compared: how many for each unit of work.
    pub fn each(&self) -> f64 {
        self.count as f64 / self.units as f64
    }

    /// Whether it is another count of the same.
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.name, &self.counted, &self.unit) == (&other.name, &other.counted, &other.unit)
    }
}

/// The counts of one day, and whose they are.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// What compiled the emulator.
    #[serde(flatten)]
    pub compiler: Compiler,
    /// What was counted.
    pub rows: Vec<Row>,
}

impl Baseline {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, BenchCheckError> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(io(format!("read {file}")))?;
        serde_json::from_str(&text).map_err(|source| BenchCheckError::Baseline { file, source })
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<(), BenchCheckError> {
        let file = path.display().to_string();
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| BenchCheckError::Baseline { file, source })?;
        Ok(files::write(path, &format!("{text}\n"))?)
    }
}

/// The compiler and what it compiles for: others make other instructions of the same source.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiler {
    /// `rustc 1.95.0 (59807616e 2026-04-14)`
    pub rustc: String,
    /// `x86_64-unknown-linux-gnu`
    pub target: String,
}

impl Compiler {
    /// The one that builds this repository.
    pub fn of(repository: &Path) -> Result<Self, BenchCheckError> {
        let output = Command::new("rustc")
            .arg("-vV")
            .current_dir(repository)
            .output()
            .map_err(io("run `rustc -vV`"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let after = |prefix: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| Some(line.strip_prefix(prefix)?.to_owned()))
        };
        Ok(Self {
            rustc: text.lines().next().unwrap_or("unknown").to_owned(),
            target: after("host: ").unwrap_or_else(|| "unknown".to_owned()),
        })
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} for {}", self.rustc, self.target)
    }
}
