//! `cargo xtask results`: what the README and `docs/speed.md` say of speed, from a record of `cargo xtask peers`.

mod blocks;
mod error;
mod figures;
mod groups;
// The comparison writes what this program reads. It is shared as a file, because nothing here depends on the host.
#[path = "../../../peers/run/groups_record.rs"]
pub mod groups_record;
pub mod long;
mod picture;
#[path = "../../../peers/run/record.rs"]
pub mod record;
pub mod shapes;
#[path = "../../../peers/run/shapes_record.rs"]
pub mod shapes_record;
mod tables;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::io;
use crate::files::write;
pub use error::ResultsError;
use groups_record::GroupsRecord;
use record::{Finds, Maker, Measurement, Record};
use serde::de::DeserializeOwned;
use shapes_record::ShapesRecord;

/// What to write from.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo xtask results peers/results/h200.json")]
pub struct Options {
    /// A record of sums that `cargo xtask peers --json` has kept. Those of `cargo xtask peers shapes` and `cargo xtask peers groups` are shown
    /// with it where they are there: `peers/results/shapes.json`, `peers/results/groups.json` and `peers/results/groups.four.json`.
    #[arg(value_name = "FILE")]
    record: PathBuf,
}

/// A document that shows a record, and what it shows between its markers.
type Document = (&'static str, fn(&Record) -> String);
const DOCUMENTS: [Document; 2] = [
    ("README.md", tables::summary),
    ("docs/speed.md", tables::everything),
];
/// The medians of the ladder's steps, which the command line shows where there is no GPU.
const LADDER: &str = "cli/recorded/ladder.csv";
/// The picture of a record.
const PICTURE: &str = "docs/speed.svg";

/// The document that shows reductions of every shape, their record, and their picture.
const SHAPES: &str = "docs/speed.md";
const SHAPES_RECORD: &str = "peers/results/shapes.json";
const SHAPES_PICTURE: &str = "docs/shapes.svg";

/// The document that shows sums by several GPUs, and their records: of two, and of four.
const GROUPS: &str = "docs/clusters.md";
const GROUPS_RECORDS: [&str; 2] = [
    "peers/results/groups.json",
    "peers/results/groups.four.json",
];

/// Writes the documents' blocks and the pictures, and says what the record comes to.
///
/// # Errors
/// A record that cannot be read or shows nothing, a document without the block, or a file that cannot be written.
pub fn run(repository: &Path, options: &Options) -> Result<(), ResultsError> {
    let record = read(&options.record)?;
    let file = options.record.display().to_string();
    let is_ours = |measurement: &Measurement| measurement.name == figures::LIBRARY;
    if !record.measurements.iter().any(is_ours) {
        return Err(ResultsError::NothingMeasured(file));
    }
    for (document, block) in DOCUMENTS {
        write_block(repository, document, "results", &block(&record))?;
    }
    write(&repository.join(LADDER), &ladder(&record))?;
    write(&repository.join(PICTURE), &picture::svg(&record)?)?;
    let of_shapes = repository.join(SHAPES_RECORD);
    let of_shapes = match of_shapes.is_file() {
        true => Some(read_shapes(&of_shapes)?),
        false => None,
    };
    write_shapes(repository, of_shapes.as_ref())?;
    write_block(
        repository,
        GROUPS,
        "groups",
        &groups::shown(&read_groups(repository)?),
    )?;
    println!("README.md, docs/speed.md, {LADDER} and {PICTURE} show {file}:");
    for line in verdict::lines(&record)
        .into_iter()
        .chain(figures::left_out(&record))
    {
        println!("{line}");
    }
    for line in of_shapes.iter().flat_map(shapes::verdict) {
        println!("{line}");
    }
    Ok(())
}

/// Writes what is shown of reductions of every shape: nothing where nothing has been measured.
fn write_shapes(repository: &Path, record: Option<&ShapesRecord>) -> Result<(), ResultsError> {
    write_block(repository, SHAPES, "shapes", &shapes::block(record))?;
    if let Some(record) = record {
        write(&repository.join(SHAPES_PICTURE), &shapes::svg(record)?)?;
    }
    Ok(())
}

/// Writes a block of a document.
fn write_block(
    repository: &Path,
    document: &'static str,
    name: &'static str,
    block: &str,
) -> Result<(), ResultsError> {
    let path = repository.join(document);
    let text = fs::read_to_string(&path).map_err(io(format!("read {document}")))?;
    let no_place = ResultsError::NoPlace {
        document,
        block: name,
    };
    let text = blocks::with_block(&text, name, block).ok_or(no_place)?;
    Ok(write(&path, &text)?)
}

/// Reads a record of reductions of every shape.
///
/// # Errors
/// There is no such file, or it is no such record.
pub fn read_shapes(path: &Path) -> Result<ShapesRecord, ResultsError> {
    read_record(path)
}

/// Reads those records of sums by several GPUs that are there.
///
/// # Errors
/// One of them cannot be read, or is no such record.
pub fn read_groups(repository: &Path) -> Result<Vec<GroupsRecord>, ResultsError> {
    let records = GROUPS_RECORDS.map(|record| repository.join(record));
    let records = records.iter().filter(|record| record.is_file());
    records.map(|record| read_record(record)).collect()
}

fn read_record<R: DeserializeOwned>(path: &Path) -> Result<R, ResultsError> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(io(format!("read {file}")))?;
    serde_json::from_str(&text).map_err(|source| ResultsError::Record { file, source })
}

/// The steps' medians in milliseconds where the input is in the L2 cache as far as it fits: a line for each kernel and n.
fn ladder(record: &Record) -> String {
    let mut csv = String::from("kernel,n,block,ms\n");
    let steps = record.measurements.iter().filter(|measurement| {
        measurement.maker == Maker::Warpfold
            && measurement.finds == Finds::Warm
            && measurement.element_type == "i32"
            && !measurement.name.starts_with(figures::LIBRARY)
    });
    for step in steps {
        csv += &format!(
            "{},{},{},{:.6}\n",
            step.name, step.n, record.block, step.median_ms
        );
    }
    csv
}

/// Reads a record.
///
/// # Errors
/// There is no such file, or it is no record.
pub fn read(path: &Path) -> Result<Record, ResultsError> {
    read_record(path)
}

#[cfg(test)]
mod tests;
