//! The crates of the workspace, as cargo knows them.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::error::ArchitectureError;
use crate::failure::io;

/// What `cargo metadata` says, as far as it is read here.
#[derive(Deserialize)]
pub struct Workspace {
    /// The packages that are members.
    pub packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    dependencies: Vec<Dependency>,
    /// What is compiled of it.
    pub targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build` or nothing.
    kind: Option<String>,
    /// Where it is, if it is one of ours.
    path: Option<PathBuf>,
}

/// A crate.
#[derive(Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    kind: Vec<String>,
    /// The file of its root.
    pub src_path: PathBuf,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// cargo does not run, or says something else.
    pub fn of(repository: &Path) -> Result<Self, ArchitectureError> {
        let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(repository)
            .output()
            .map_err(io("run `cargo metadata`"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(ArchitectureError::Metadata(message.trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| ArchitectureError::Metadata(error.to_string()))
    }
}

impl Package {
    /// The packages of the workspace that it needs when somebody uses it, so without those for its tests.
    pub fn needs(&self) -> BTreeSet<&str> {
        let needed = self.dependencies.iter().filter(|dependency| {
            dependency.path.is_some() && dependency.kind.as_deref() != Some("dev")
        });
        needed.map(|dependency| dependency.name.as_str()).collect()
    }

    /// Its library, or its program where it has none: of several, the one that is named like the package.
    pub fn product(&self) -> Option<&Target> {
        let of_kind = |kind: &'static str| {
            let is_one = move |target: &&Target| target.kind.iter().any(|other| other == kind);
            self.targets.iter().filter(is_one)
        };
        let library = of_kind("lib")
            .chain(of_kind("proc-macro"))
            .chain(of_kind("cdylib"))
            .next();
        let namesake = of_kind("bin").find(|target| target.name == self.name);
        library.or(namesake).or_else(|| of_kind("bin").next())
    }
}
