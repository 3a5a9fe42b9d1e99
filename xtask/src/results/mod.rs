//! `cargo xtask results`: what the README says of speed, from a record of `cargo xtask peers`.

mod error;
mod figures;
pub mod long;
mod picture;
mod readme;
// The comparison writes what this program reads. It is shared as a file, because nothing here depends on the host.
#[path = "../../../peers/run/record.rs"]
pub mod record;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::io;
use crate::files::write;
pub use error::ResultsError;
use record::{Measurement, Record};

/// What to write from.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo xtask results peers/results/h200.json")]
pub struct Options {
    /// A record that `cargo xtask peers --json` has kept.
    #[arg(value_name = "FILE")]
    record: PathBuf,
}

/// Writes the README's block and the picture, and says what the record comes to.
///
/// # Errors
/// A record that cannot be read or shows nothing, a README without the block, or a file that cannot be written.
pub fn run(repository: &Path, options: &Options) -> Result<(), ResultsError> {
    let record = read(&options.record)?;
    let file = options.record.display().to_string();
    let is_ours = |measurement: &Measurement| measurement.name == figures::LIBRARY;
    if !record.measurements.iter().any(is_ours) {
        return Err(ResultsError::NothingMeasured(file));
    }
    let path = repository.join("README.md");
    let text = fs::read_to_string(&path).map_err(io("read README.md"))?;
    let text = readme::with_block(&text, &readme::block(&record)).ok_or(ResultsError::NoPlace)?;
    let picture = picture::svg(&record)?;
    write(&repository.join("docs/speed.svg"), &picture)?;
    write(&path, &text)?;
    println!("README.md and docs/speed.svg show {file}:");
    for line in verdict::lines(&record)
        .into_iter()
        .chain(figures::left_out(&record))
    {
        println!("{line}");
    }
    Ok(())
}

/// Reads a record.
///
/// # Errors
/// There is no such file, or it is no record.
pub fn read(path: &Path) -> Result<Record, ResultsError> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(io(format!("read {file}")))?;
    serde_json::from_str(&text).map_err(|source| ResultsError::Record { file, source })
}

#[cfg(test)]
mod tests;
