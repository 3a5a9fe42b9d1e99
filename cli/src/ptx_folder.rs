//! A folder of PTX that was built elsewhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use warpfold::ptx::PtxSet;
use warpfold_kernels::catalogue::{self, PtxText};

/// Why the PTX in a folder cannot be used instead of the PTX in the binary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PtxFolderError {
    /// The folder or a file in it cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The folder has no PTX under a name that says what it is built for.
    #[error(
        "{} holds no PTX of the kernels: its files must be named kernels.sm_80.ptx and the like, as `cargo xtask build-ptx` \
         names them",
        .0.display()
    )]
    NoFile(PathBuf),
    /// A file lacks kernels.
    #[error(
        "{} lacks kernels that the catalogue lists: {}; build it again from the kernels of this version",
        .file.display(),
        some_of(.entries)
    )]
    EntriesMissing {
        /// The PTX file.
        file: PathBuf,
        /// The names of the `.entry`s that are not there.
        entries: Vec<&'static str>,
    },
}

/// The first of some names, and how many more there are.
fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What a folder holds: a text for each file named like `kernels.sm_80.ptx`, whatever compiler made it.
///
/// # Errors
/// There is no such file, one cannot be read, or one lacks a kernel that the catalogue has for its architecture.
pub fn read(folder: &Path) -> Result<PtxSet, PtxFolderError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| PtxFolderError::Unreadable { path, source }
    };
    let mut texts = Vec::new();
    for file in fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = file.map_err(unreadable(folder))?.path();
        let Some((module, sm)) = path.file_name().and_then(|name| built_for(name.to_str()?)) else {
            continue;
        };
        let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
        let missing = missing_entries(&text, module, sm);
        if !missing.is_empty() {
            return Err(PtxFolderError::EntriesMissing {
                file: path,
                entries: missing,
            });
        }
        texts.push((module, sm, text));
    }
    if texts.is_empty() {
        return Err(PtxFolderError::NoFile(folder.to_owned()));
    }
    // SAFETY: whoever names the folder with `--ptx-dir` says that it holds these kernels.
    Ok(unsafe { PtxSet::from_texts(texts) })
}

/// The kernels' module and 80 for `kernels.sm_80.ptx`.
fn built_for(file_name: &str) -> Option<(PtxText, u32)> {
    let (name, sm) = file_name.strip_suffix(".ptx")?.split_once(".sm_")?;
    let module = PtxText::ALL
        .into_iter()
        .find(|module| module.name() == name)?;
    Some((module, sm.parse().ok()?))
}

/// The kernels that the catalogue has in this module for this compute capability, and the text lacks.
fn missing_entries(ptx: &str, module: PtxText, sm: u32) -> Vec<&'static str> {
    let found = entries(ptx);
    catalogue::entry_names(module, sm)
        .filter(|name| !found.contains(name))
        .collect()
}

/// The names after `.entry`. The emulator's parser is not used: a GPU may know PTX that it does not.
fn entries(ptx: &str) -> Vec<&str> {
    let without_comments = ptx
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let words = without_comments.flat_map(str::split_whitespace);
    words
        .clone()
        .zip(words.skip(1))
        .filter(|(keyword, _)| *keyword == ".entry")
        .map(|(_, name)| name.split('(').next().unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_some_are_shown() {
        assert_eq!(some_of(&["a"]), "a");
        assert_eq!(some_of(&["a", "b", "c"]), "a, b, c");
        assert_eq!(some_of(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn the_name_of_a_file_says_what_it_is_built_for() {
        assert_eq!(built_for("kernels.sm_80.ptx"), Some((PtxText::Kernels, 80)));
        let operators = built_for("operators.sm_90.ptx");
        assert_eq!(operators, Some((PtxText::Operators, 90)));
        for other in [
            "kernels.ptx",
            "kernels.sm_80.ptx.tmp",
            "kernels.sm_x.ptx",
            "sm_80.ptx",
            "exhibits.sm_80.ptx",
        ] {
            assert_eq!(built_for(other), None, "{other}");
        }
    }

    #[test]
    fn entries_are_found_however_the_compiler_sets_them() {
        let ptx = ".visible .entry first(\n\t.param .u64 a\n)\n{ ret; }\n// .entry hidden(\n.entry second () { ret; }\n\
                   .visible .entry\nthird(.param .b32 x)\n";
        assert_eq!(entries(ptx), ["first", "second", "third"]);
    }

    #[test]
    fn what_is_missing_is_named_and_what_needs_a_newer_gpu_is_not_missed() {
        let missing = |ptx, sm| missing_entries(ptx, PtxText::Kernels, sm);
        let all = missing("", 90);
        assert!(all.contains(&"neighbored") && all.contains(&"shuffle_512"));
        let without_first = missing(".entry neighbored(", 90);
        assert_eq!(without_first.len(), all.len() - 1);
        assert!(missing("", 60).is_empty());
    }
}
