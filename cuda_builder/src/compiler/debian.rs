//! A compiler from Debian's packages, unpacked under the target folder.
//!
//! Debian builds `rustc-web` for its browsers: a recent stable compiler with the GPU target, whose library source is
//! `rust-web-src`. The packages conflict with rustup's, so they are unpacked and never installed.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use super::apt::{Apt, installed_packages};
use super::debian_error::{COMPILER, DebianError};
use crate::environment::first_line;

const SOURCE: &str = "rust-web-src";
/// The compiler's own libraries are split over packages whose names begin so and end with the version.
const LIBRARY_PREFIX: &str = "libstd-rust-web";
/// The C library is part of the running system and must never come from anywhere else.
const C_LIBRARY: &str = "libc6";

/// The parts of the unpacked packages that are needed to run them.
pub(super) struct UnpackedCompiler {
    pub(super) rustc: PathBuf,
    pub(super) library_folder: PathBuf,
}

/// The compiler in `folder`, which is fetched once if it is not there. Remove the folder to fetch a newer one.
pub(super) fn unpacked_compiler(folder: &Path) -> Result<UnpackedCompiler, DebianError> {
    let root = folder.join("debian");
    if !root.is_dir() {
        fs::create_dir_all(folder).map_err(DebianError::io(folder))?;
        let lock_path = folder.join("lock");
        let lock = File::create(&lock_path).map_err(DebianError::io(&lock_path))?;
        lock.lock().map_err(DebianError::io(&lock_path))?;
        // Another build may have fetched it while this one waited.
        if !root.is_dir() {
            fetch(folder, &root)?;
        }
    }
    let library_folder = library_folder(&root)?;
    Ok(UnpackedCompiler {
        rustc: root.join("usr/bin/rustc"),
        library_folder,
    })
}

/// Downloads and unpacks into a temporary folder, which gets its name only when it is whole.
fn fetch(folder: &Path, root: &Path) -> Result<(), DebianError> {
    let partial = folder.join("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(DebianError::io(&partial))?;
    }
    let (packages_folder, unpacked) = (partial.join("packages"), partial.join("root"));
    for new in [&packages_folder, &unpacked] {
        fs::create_dir_all(new).map_err(DebianError::io(new))?;
    }
    let apt = Apt::new(partial.join("apt"))?;
    let complaint = apt.update()?;
    let dependencies = apt.dependencies(COMPILER).map_err(|_| match complaint {
        Some(complaint) => DebianError::ListsOutOfReach(complaint),
        None => DebianError::NoSuchPackage,
    })?;
    let packages = packages(&apt, &dependencies)?;
    eprintln!(
        "fetching a device compiler from Debian, once, into {}: {}",
        root.display(),
        packages.join(" ")
    );
    apt.download(&packages, &packages_folder)?;
    let packages = fs::read_dir(&packages_folder)
        .and_then(|entries| entries.collect::<Result<Vec<_>, _>>())
        .map_err(DebianError::io(&packages_folder))?;
    // Each takes a processor for seconds.
    thread::scope(|scope| {
        let unpacking: Vec<_> = packages
            .iter()
            .map(|package| scope.spawn(|| unpack(&package.path(), &unpacked)))
            .collect();
        let mut ended = unpacking.into_iter().map(|thread| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.try_for_each(|ended| ended)
    })?;
    fs::rename(&unpacked, root).map_err(DebianError::io(root))?;
    fs::remove_dir_all(&partial).map_err(DebianError::io(&partial))
}

/// What must be downloaded: the compiler, its source and libraries, and those libraries of theirs that the system lacks.
fn packages(apt: &Apt, dependencies: &[String]) -> Result<Vec<String>, DebianError> {
    let mut libraries = Vec::new();
    for dependency in dependencies {
        if dependency.starts_with(LIBRARY_PREFIX) {
            libraries.extend(apt.closure(dependency)?);
        }
    }
    Ok(missing(&libraries, &installed_packages()?))
}

fn missing(libraries: &[String], installed: &HashSet<String>) -> Vec<String> {
    let mut packages = vec![COMPILER.to_owned(), SOURCE.to_owned()];
    for library in libraries {
        let needed = library.starts_with(LIBRARY_PREFIX) || !installed.contains(library);
        if needed && library != C_LIBRARY && !packages.contains(library) {
            packages.push(library.clone());
        }
    }
    packages
}

fn unpack(package: &Path, root: &Path) -> Result<(), DebianError> {
    let is_source = package
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(SOURCE));
    if is_source {
        return unpack_library_source(package, root);
    }
    let unpacking = Command::new("dpkg-deb")
        .arg("--extract")
        .args([package, root])
        .output()
        .map_err(DebianError::io("dpkg-deb"))?;
    succeeded("dpkg-deb", unpacking.status.success(), &unpacking.stderr)
}

/// Of the source package only the standard library is needed, a sixth of it.
fn unpack_library_source(package: &Path, root: &Path) -> Result<(), DebianError> {
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(DebianError::io("dpkg-deb"))?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--directory").arg(root).args([
        "--wildcards",
        "--no-wildcards-match-slash",
        "./usr/src/rustc-*/library",
        "./usr/lib/rustlib/src",
    ]);
    if let Some(output) = archive.stdout.take() {
        tar.stdin(output);
    }
    let extracting = tar.output().map_err(DebianError::io("tar"))?;
    let read = archive.wait().map_err(DebianError::io("dpkg-deb"))?;
    succeeded("tar", extracting.status.success(), &extracting.stderr)?;
    succeeded("dpkg-deb", read.success(), b"see its message above")
}

fn succeeded(program: &str, success: bool, stderr: &[u8]) -> Result<(), DebianError> {
    if success {
        return Ok(());
    }
    Err(DebianError::Failed {
        program: program.to_owned(),
        message: first_line(stderr),
    })
}

/// `usr/lib/<multiarch name>`: the folder that holds the compiler's main library.
fn library_folder(root: &Path) -> Result<PathBuf, DebianError> {
    let incomplete = || DebianError::Incomplete(root.display().to_string());
    let holds_compiler = |folder: &PathBuf| {
        fs::read_dir(folder).is_ok_and(|files| {
            files.flatten().any(|file| {
                file.file_name()
                    .to_string_lossy()
                    .starts_with("librustc_driver")
            })
        })
    };
    fs::read_dir(root.join("usr/lib"))
        .map_err(|_| incomplete())?
        .flatten()
        .map(|entry| entry.path())
        .find(holds_compiler)
        .ok_or_else(incomplete)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_the_system_has_is_not_fetched_again() {
        let libraries = names(
            "libstd-rust-web-dev libstd-rust-web-1.96 libc6 libllvm22 libedit2 libz3-4 libedit2",
        );
        let installed = names("libc6 libz3-4").into_iter().collect();
        assert_eq!(
            missing(&libraries, &installed),
            names(
                "rustc-web rust-web-src libstd-rust-web-dev libstd-rust-web-1.96 libllvm22 libedit2"
            )
        );
    }

    #[test]
    fn the_compilers_own_libraries_come_along_even_if_installed_and_libc_never() {
        let libraries = names("libstd-rust-web-1.96 libc6");
        let installed = names("libstd-rust-web-1.96").into_iter().collect();
        assert_eq!(
            missing(&libraries, &installed),
            names("rustc-web rust-web-src libstd-rust-web-1.96")
        );
    }

    #[test]
    fn a_folder_without_compiler_says_to_remove_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("debian/usr/lib")).unwrap();
        let error = unpacked_compiler(folder.path()).err().unwrap().to_string();
        assert!(
            error.ends_with("remove that folder and try again"),
            "{error}"
        );
    }
}
