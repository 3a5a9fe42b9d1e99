//! `cargo xtask architecture`: who depends on whom, read from the sources, drawn into ARCHITECTURE.md and free of circles.

mod circles;
mod error;
mod modules;
mod picture;
#[cfg(test)]
mod tests;
mod workspace;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use circles::circles;
pub use error::ArchitectureError;
use modules::Modules;
use workspace::Workspace;

use crate::failure::io;
use crate::files::write;

/// Where the picture is.
const FILE: &str = "ARCHITECTURE.md";

/// Whether to write or to compare.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 where ARCHITECTURE.md shows what the sources have, 1 where modules depend on one another in a \
                        circle or, with --check, where the picture is another, 2 where something cannot be read or written."
)]
pub struct Options {
    /// Write nothing, and fail where the picture is another
    #[arg(long)]
    check: bool,
}

/// Reads the sources and draws them.
///
/// # Errors
/// There is a circle, the picture is another than it should be, or something cannot be read or written.
pub fn run(repository: &Path, options: &Options) -> Result<(), ArchitectureError> {
    let workspace = Workspace::of(repository)?;
    let complaints = complaints(&workspace, repository)?;
    if !complaints.is_empty() {
        return Err(ArchitectureError::Circles(complaints));
    }
    let mut crates = BTreeMap::new();
    for package in &workspace.packages {
        if let Some(target) = package.product() {
            let modules = Modules::read(&target.src_path, repository)?;
            crates.insert(package.name.as_str(), modules);
        }
    }
    let path = repository.join(FILE);
    let text = fs::read_to_string(&path).map_err(io(format!("read {FILE}")))?;
    let drawn = picture::with_block(&text, &picture::block(&workspace, &crates))
        .ok_or(ArchitectureError::NoPlace)?;
    if drawn == text {
        println!("{FILE} shows what the sources have");
    } else if options.check {
        return Err(ArchitectureError::Stale);
    } else {
        write(&path, &drawn)?;
        println!("{FILE} shows the sources anew");
    }
    Ok(())
}

/// A sentence for each circle.
fn complaints(workspace: &Workspace, repository: &Path) -> Result<Vec<String>, ArchitectureError> {
    let mut complaints = Vec::new();
    for package in &workspace.packages {
        for target in &package.targets {
            let modules = Modules::read(&target.src_path, repository)?;
            complaints.extend(circles(&modules).iter().map(|circle| {
                format!(
                    "modules of {} depend on one another in a circle: {circle}",
                    target.name
                )
            }));
        }
    }
    Ok(complaints)
}
