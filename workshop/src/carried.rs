//! The sources that the program carries.

use crate::error::WorkshopError;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Every file: its place in the workshop, and its text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// The packages in a workshop: those carried, and the one around the user's file.
const MEMBERS: [&str; 5] = ["cuda_std", "cuda_std/macros", "device", "kernels", "file"];

/// The text of a file that the program carries, by its place in the repository: `kernels/src/prelude.rs`.
pub fn text(file: &str) -> Option<&'static str> {
    let found = FILES.iter().find(|&&(place, _)| place == file);
    found.map(|&(_, text)| text)
}

/// Writes the packages to a folder. Files that are right already are left alone, so that cargo compiles nothing anew; sources that another
/// version of the program had are removed.
pub(crate) fn unpack(folder: &Path) -> Result<(), WorkshopError> {
    for package in MEMBERS.iter().filter(|&&package| package != "file") {
        remove_others(folder, &format!("{package}/src"))?;
    }
    for &(place, text) in FILES {
        let text = match place {
            "Cargo.toml" => &workspace(text),
            _ => text,
        };
        write(&folder.join(place), text)?;
    }
    for package in MEMBERS {
        // Some take it for their documentation, which nobody reads here.
        write(&folder.join(package).join("README.md"), "")?;
    }
    Ok(())
}

/// Removes the files and folders below a place that are none of those carried.
fn remove_others(folder: &Path, place: &str) -> Result<(), WorkshopError> {
    let Ok(entries) = fs::read_dir(folder.join(place)) else {
        // There is nothing yet.
        return Ok(());
    };
    for entry in entries.flatten() {
        let place = format!("{place}/{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        let is_folder = path.is_dir();
        let is_within = |&(carried, _): &(&str, &str)| {
            let rest = carried.strip_prefix(&place);
            rest.is_some_and(|rest| match is_folder {
                true => rest.starts_with('/'),
                false => rest.is_empty(),
            })
        };
        let removed = if FILES.iter().any(is_within) {
            if is_folder {
                remove_others(folder, &place)?;
            }
            Ok(())
        } else if is_folder {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(|source| WorkshopError::Unwritable { path, source })?;
    }
    Ok(())
}

/// The workspace's manifest with the members that are here.
fn workspace(manifest: &str) -> String {
    let mut manifest: toml::Table = manifest.parse().expect("it is what cargo has read");
    manifest.retain(|key, _| key == "workspace");
    if let Some(toml::Value::Table(workspace)) = manifest.get_mut("workspace") {
        workspace.retain(|key, _| !matches!(key, "default-members" | "exclude"));
        workspace.insert("members".into(), MEMBERS.to_vec().into());
    }
    manifest.to_string()
}

/// A hash of some texts and of everything that is carried.
pub(crate) fn hash(texts: &[&str]) -> String {
    let carried = FILES.iter().flat_map(|&(place, text)| [place, text]);
    let mut hasher = Sha256::new();
    for text in carried.chain(texts.iter().copied()) {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a file, unless it has this text already.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), WorkshopError> {
    if fs::read(path).is_ok_and(|present| present == text.as_bytes()) {
        return Ok(());
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&temporary, text))
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| WorkshopError::Unwritable {
            path: path.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_another_version_are_removed() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let folder = scratch.path();
        unpack(folder).expect("it is written");
        let old = folder.join("device/src/fixed.rs");
        write(&old, "").expect("it is written");
        write(&folder.join("device/src/gone/mod.rs"), "").expect("it is written");
        let kept = folder.join("device/src/fixed/mod.rs");
        let written = fs::metadata(&kept).expect("it is there").modified().ok();
        unpack(folder).expect("it is written");
        assert!(!old.exists() && !folder.join("device/src/gone").exists());
        let now = fs::metadata(&kept).expect("it is there").modified().ok();
        assert_eq!(written, now);
    }

    #[test]
    fn every_package_has_a_manifest_and_a_library() {
        for member in MEMBERS.iter().filter(|&&member| member != "file") {
            for file in ["Cargo.toml", "src/lib.rs"] {
                let place = format!("{member}/{file}");
                assert!(FILES.iter().any(|(name, _)| *name == place), "{place}");
            }
        }
    }
}
