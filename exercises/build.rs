//! Lists the files of the exercises, which lie in folders that begin with a digit, for the crate to hold.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=.");
    let variable = |name| PathBuf::from(env::var_os(name).unwrap_or_default());
    let mut files = Vec::new();
    for entry in fs::read_dir(variable("CARGO_MANIFEST_DIR"))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())) {
            gather(&path, name, &mut files)?;
        }
    }
    files.sort();
    let mut text = String::from("pub(crate) const FILES: &[(&str, &str)] = &[\n");
    for (name, path) in files {
        writeln!(text, "    ({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    text.push_str("];\n");
    fs::write(variable("OUT_DIR").join("files.rs"), text)
}

/// All files of a folder and those below it.
fn gather(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(file) = path.file_name().and_then(|file| file.to_str()) else {
            continue;
        };
        let name = format!("{name}/{file}");
        match path.is_dir() {
            true => gather(&path, &name, files)?,
            false => files.push((name, path)),
        }
    }
    Ok(())
}
