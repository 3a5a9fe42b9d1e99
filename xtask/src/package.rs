//! `cargo xtask package`: packs every crate of the product, and builds each from what was packed alone.
//!
//! Cargo does not take a crate that is never published for a dependency of another. So this packs a copy of the repository, in which
//! publishing is on. The copy also leaves out the repository's configuration of cargo, which nobody else has.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use comfy_table::{CellAlignment, Table, TableStyle};
use serde::Deserialize;

use crate::failure::{BAD_USE, FailedStep, Failure, IoError, io, lines};

/// The most bytes that a package may have. A registry takes 10 MiB; what is left is room to grow.
const MOST_BYTES: u64 = 8_000_000;

/// What every package has to hold besides its code, word for word as the repository has it.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Settings of this repository's development builds, which dependencies are then compiled with once for both.
const PROFILE: [&str; 2] = [
    "profile.dev.debug=\"line-tables-only\"",
    "profile.dev.package.\"*\".debug=false",
];

/// Why the crates cannot be published as they are.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Cargo does not pack or build them.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// Packages are not what they should be.
    #[error("{}", lines(.0))]
    Findings(Vec<String>),
    /// Publishing cannot be turned on in the copy.
    #[error(
        "Cargo.toml has no line `{OFF}`, by which all packages are kept from a registry: write it under [workspace.package]"
    )]
    NotOff,
    /// Cargo's list of packages is not as it has been.
    #[error("cannot read what `cargo metadata` prints: {0}")]
    Metadata(#[from] serde_json::Error),
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for PackageError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Step(_) | Self::Findings(_) => 1,
            Self::NotOff | Self::Metadata(_) | Self::Io(_) => BAD_USE,
        }
    }
}

/// Where packages are built, from the root of the repository.
const BUILT: &str = "target/packages";

const OFF: &str = "publish = false";

/// Packs, builds, and prints a table of the packages' sizes.
///
/// # Errors
/// A crate cannot be packed, does not build from its package, lacks a licence, or is too large.
pub fn run(repository: &Path) -> Result<(), PackageError> {
    let copy = tempfile::tempdir().map_err(io("create a temporary folder"))?;
    copy_folder(repository, copy.path())?;
    let manifest = copy.path().join("Cargo.toml");
    let failed = || io(format!("change {}", manifest.display()));
    let text = fs::read_to_string(&manifest).map_err(failed())?;
    if !text.contains(OFF) {
        return Err(PackageError::NotOff);
    }
    fs::write(&manifest, text.replace(OFF, "publish = true")).map_err(failed())?;

    let packages = packages(copy.path())?;
    let built = repository.join(BUILT);
    let start = Instant::now();
    // Cargo takes for granted that a package of one version never changes; what was unpacked and built of an earlier packing has to go.
    forget_unpacked(&packages)?;
    let mut clean = cargo(copy.path());
    clean.args(["clean", "--quiet"]);
    let mut pack = cargo(copy.path());
    pack.args(["package", "--locked"]);
    for Package { name, .. } in &packages {
        clean.args(["--package", name]);
        pack.args(["--package", name]);
    }
    for setting in PROFILE {
        pack.args(["--config", setting]);
    }
    for (mut command, name) in [(clean, "cargo clean"), (pack, "cargo package")] {
        let status = command
            .env("CARGO_TARGET_DIR", &built)
            .status()
            .map_err(io(format!("run `{name}`")))?;
        if !status.success() {
            return Err(PackageError::Step(FailedStep {
                command: name.into(),
                elapsed: start.elapsed(),
            }));
        }
    }
    let (table, findings) = judge(repository, &packages)?;
    println!("{table}");
    println!("packed and built in {:.1} s", start.elapsed().as_secs_f64());
    if findings.is_empty() {
        Ok(())
    } else {
        Err(PackageError::Findings(findings))
    }
}

/// Cargo as anybody would call it in this folder.
fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(folder)
        .env_remove("CUDA_LIBRARY_PATH")
        .stdin(Stdio::null());
    command
}

/// Copies what is in a folder, links as what they point to: not what was built there, and nothing hidden.
fn copy_folder(from: &Path, to: &Path) -> Result<(), IoError> {
    let failed = |path: &Path| io(format!("copy {}", path.display()));
    fs::create_dir_all(to).map_err(failed(from))?;
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// A crate that is packed.
struct Package {
    name: String,
    version: String,
}

/// The crates of the product, which are the members of the workspace that cargo means by default, without those that are tests alone: they
/// are never published.
fn packages(workspace: &Path) -> Result<Vec<Package>, PackageError> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Listed>,
        workspace_default_members: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Listed {
        id: String,
        name: String,
        version: String,
        /// The registries that may have it; any where there is no list.
        publish: Option<Vec<String>>,
    }
    let output = cargo(workspace)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(io("run `cargo metadata`"))?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let is_product = |listed: &Listed| {
        let is_default = metadata.workspace_default_members.contains(&listed.id);
        is_default
            && listed
                .publish
                .as_ref()
                .is_none_or(|registries| !registries.is_empty())
    };
    let packages = metadata.packages.into_iter().filter(is_product);
    Ok(packages
        .map(|Listed { name, version, .. }| Package { name, version })
        .collect())
}

/// Removes the packages from where cargo has unpacked them.
fn forget_unpacked(packages: &[Package]) -> Result<(), IoError> {
    let of_user = || Some(dirs::home_dir()?.join(".cargo"));
    let Some(home) = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(of_user)
    else {
        return Ok(());
    };
    for registry in fs::read_dir(home.join("registry/src"))
        .into_iter()
        .flatten()
    {
        let registry = registry.map_err(io("read cargo's folder of registries"))?;
        // Registries in folders have no host, with which the names of others begin.
        if registry.file_name().to_string_lossy().starts_with('-') {
            for Package { name, version } in packages {
                let unpacked = registry.path().join(format!("{name}-{version}"));
                if unpacked.is_dir() {
                    let failed = io(format!("remove {}", unpacked.display()));
                    fs::remove_dir_all(&unpacked).map_err(failed)?;
                }
            }
        }
    }
    Ok(())
}

/// The sizes of the packages, and what is wrong with them.
fn judge(repository: &Path, packages: &[Package]) -> Result<(Table, Vec<String>), IoError> {
    let folder = repository.join(BUILT).join("package");
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(["package", "files", "unpacked KiB", "packed KiB"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut findings = Vec::new();
    for Package { name, version } in packages {
        let stem = format!("{name}-{version}");
        let (unpacked, packed) = (folder.join(&stem), folder.join(format!("{stem}.crate")));
        for license in LICENSES {
            let read = |folder: &Path| fs::read(folder.join(license)).ok();
            if read(&unpacked) != read(repository) {
                findings.push(format!(
                    "the package {name} has not the repository's {license}: link to it in the folder of the crate"
                ));
            }
        }
        let bytes = fs::metadata(&packed)
            .map_err(io(format!("read {}", packed.display())))?
            .len();
        findings.extend(too_large(name, bytes));
        let (files, unpacked_bytes) = contents(&unpacked)?;
        let kib = |bytes: u64| format!("{:.1}", bytes as f64 / 1024.0);
        table.add_row([
            name.clone(),
            files.to_string(),
            kib(unpacked_bytes),
            kib(bytes),
        ]);
    }
    Ok((table, findings))
}

fn too_large(name: &str, bytes: u64) -> Option<String> {
    (bytes > MOST_BYTES).then(|| {
        format!(
            "the package {name} has {bytes} bytes, and {MOST_BYTES} are the most: see `cargo package --list --package {name}`"
        )
    })
}

/// How many files are in a folder, and their bytes.
fn contents(folder: &Path) -> Result<(usize, u64), IoError> {
    let failed = || io(format!("read {}", folder.display()));
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let metadata = entry.metadata().map_err(failed())?;
        let (more_files, more_bytes) = if metadata.is_dir() {
            contents(&entry.path())?
        } else {
            (1, metadata.len())
        };
        files += more_files;
        bytes += more_bytes;
    }
    Ok((files, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_may_have_as_many_bytes_as_said_and_no_more() {
        assert_eq!(too_large("warpfold", MOST_BYTES), None);
        let finding = too_large("warpfold", MOST_BYTES + 1).expect("it is one byte more");
        assert!(finding.contains(&format!(" has {} bytes, and {MOST_BYTES} ", MOST_BYTES + 1)));
    }

    #[test]
    fn a_copy_has_neither_hidden_nor_built_files_and_no_links() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in ["target/debug", ".cargo", "crate/src"] {
            fs::create_dir_all(from.path().join(folder)).unwrap();
            fs::write(from.path().join(folder).join("file"), folder).unwrap();
        }
        copy_folder(from.path(), to.path()).unwrap();
        assert_eq!(contents(to.path()).unwrap(), (1, "crate/src".len() as u64));
    }

    #[test]
    fn a_package_has_the_licences_of_the_repository() {
        let repository = tempfile::tempdir().unwrap();
        let packed = repository.path().join(BUILT).join("package/small-1.0.0");
        fs::create_dir_all(&packed).unwrap();
        fs::write(packed.with_file_name("small-1.0.0.crate"), "packed").unwrap();
        for license in LICENSES {
            fs::write(repository.path().join(license), "free").unwrap();
        }
        fs::write(packed.join("LICENSE-MIT"), "free").unwrap();
        fs::write(packed.join("LICENSE-APACHE"), "../LICENSE-APACHE").unwrap();
        let package = Package {
            name: "small".into(),
            version: "1.0.0".into(),
        };
        let (_, findings) = judge(repository.path(), &[package]).unwrap();
        assert_eq!(
            findings,
            [
                "the package small has not the repository's LICENSE-APACHE: link to it in the folder of the crate"
            ]
        );
    }
}
