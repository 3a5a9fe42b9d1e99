//! `cargo xtask results`: what the README says of speed, from a record of `cargo xtask peers`.

mod figures;
pub mod long;
mod picture;
mod readme;
// The comparison writes what this program reads. It is shared as a file, because nothing here depends on the host.
#[path = "../../../peers/run/record.rs"]
pub mod record;
mod verdict;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::XtaskError;
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
pub fn run(repository: &Path, options: &Options) -> Result<(), XtaskError> {
    let record = read(&options.record)?;
    let file = options.record.display().to_string();
    let is_ours = |measurement: &Measurement| measurement.name == figures::LIBRARY;
    if !record.measurements.iter().any(is_ours) {
        return Err(XtaskError::NothingMeasured(file));
    }
    let path = repository.join("README.md");
    let text = fs::read_to_string(&path).map_err(XtaskError::io("read README.md"))?;
    let text = readme::with_block(&text, &readme::block(&record)).ok_or(XtaskError::NoPlace)?;
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
pub fn read(path: &Path) -> Result<Record, XtaskError> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(XtaskError::io(format!("read {file}")))?;
    serde_json::from_str(&text).map_err(|source| XtaskError::Record { file, source })
}

/// Writes a file under a temporary name, and renames it.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), XtaskError> {
    let failed = || XtaskError::io(format!("write {}", path.display()));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of an ordinary new file; the process's mask takes its share away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    file.persist(path).map_err(|error| failed()(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests;
