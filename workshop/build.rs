//! Lists the files below `carried`, for the program to hold.

use std::env;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is carried, and where it stands in the workshop.
const CARRIED: [(&str, &str); 11] = [
    ("workspace.toml", "Cargo.toml"),
    ("workspace.lock", "Cargo.lock"),
    ("cuda_std.toml", "cuda_std/Cargo.toml"),
    ("cuda_std", "cuda_std/src"),
    ("cuda_std_macros.toml", "cuda_std/macros/Cargo.toml"),
    ("cuda_std_macros", "cuda_std/macros/src"),
    ("device.toml", "device/Cargo.toml"),
    ("device", "device/src"),
    ("kernels.toml", "kernels/Cargo.toml"),
    ("kernels", "kernels/src"),
    ("exhibits", "kernels/exhibits/src"),
];

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let folder = variable("CARGO_MANIFEST_DIR").join("carried");
    let mut list = String::from("&[\n");
    for (name, place) in CARRIED {
        let path = resolve(&folder, name)?;
        println!("cargo:rerun-if-changed={}", path.display());
        add(&mut list, &path, place)?;
    }
    list.push(']');
    fs::write(variable("OUT_DIR").join("carried.rs"), list)
}

/// A link; or, where links are checked out as files, the path that one holds.
fn resolve(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    if path.is_dir() {
        return Ok(path);
    }
    let text = fs::read_to_string(&path)?;
    Ok(match text.lines().next() {
        Some(line) if text.starts_with("../") => folder.join(line),
        _ => path,
    })
}

/// Adds a file, or all files of a folder, by their places and their texts.
fn add(list: &mut String, path: &Path, place: &str) -> io::Result<()> {
    if !path.is_dir() {
        let absolute = path.canonicalize()?;
        return writeln!(list, "    ({place:?}, include_str!({absolute:?})),")
            .map_err(io::Error::other);
    }
    let mut entries: Vec<_> = fs::read_dir(path)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        add(
            list,
            &entry.path(),
            &format!("{place}/{}", name.to_string_lossy()),
        )?;
    }
    Ok(())
}
