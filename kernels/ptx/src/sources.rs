//! What the PTX is made from, and its hash, by which one sees that the sources have changed since.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What the PTX is made from, relative to the repository root: these files, and all Rust files in these folders.
const SOURCES: [&str; 8] = [
    "kernels/Cargo.toml",
    "kernels/src",
    "device/Cargo.toml",
    "device/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
];

/// What the PTX of the exhibits is made from.
const EXHIBIT_SOURCES: [&str; 9] = [
    "kernels/exhibits/Cargo.toml",
    "kernels/exhibits/src",
    "kernels/src/prelude.rs",
    "device/Cargo.toml",
    "device/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
];

/// What the PTX of the device library's example kernels is made from.
const EXAMPLE_SOURCES: [&str; 8] = [
    "device/example-kernels/Cargo.toml",
    "device/example-kernels/src",
    "device/Cargo.toml",
    "device/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
];

/// What the PTX of the library's reductions is made from. The rest of the crate is for hosts; another module for devices is to be added here.
const REDUCTION_SOURCES: [&str; 9] = [
    "reductions/Cargo.toml",
    "reductions/src/lib.rs",
    "reductions/src/kernels.rs",
    "device/Cargo.toml",
    "device/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
];

/// What the PTX of the Python package is made from.
const PYTHON_SOURCES: [&str; 8] = [
    "python/kernels/Cargo.toml",
    "python/kernels/src",
    "device/Cargo.toml",
    "device/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
];

/// The SHA-256 of everything the PTX is made from, as 64 hexadecimal digits. It does not depend on the order in which the
/// file system lists files, nor on whether lines end with LF or CRLF, nor on what stands in lines that hold a comment alone. How many
/// such lines there are counts: the PTX names lines. A page may be reworded without another build as long as it does not grow or shrink.
///
/// # Errors
/// A source cannot be read; the error names it. `repository` need not be a checkout at all when the program runs on a
/// machine where it was not built, which is [`io::ErrorKind::NotFound`].
pub fn hash_sources(repository: &Path) -> io::Result<String> {
    hash(repository, &SOURCES, code_in_place)
}

/// As [`hash_sources`], for the exhibits.
///
/// # Errors
/// As [`hash_sources`].
pub fn hash_exhibits(repository: &Path) -> io::Result<String> {
    hash(repository, &EXHIBIT_SOURCES, code_in_place)
}

/// As [`hash_sources`], for the example kernels, whose PTX names no lines: those that hold a comment alone do not count at all.
///
/// # Errors
/// As [`hash_sources`].
pub fn hash_examples(repository: &Path) -> io::Result<String> {
    hash(repository, &EXAMPLE_SOURCES, code)
}

/// As [`hash_examples`], for the reductions.
///
/// # Errors
/// As [`hash_sources`].
pub fn hash_reductions(repository: &Path) -> io::Result<String> {
    hash(repository, &REDUCTION_SOURCES, code)
}

/// As [`hash_examples`], for the kernels of the Python package.
///
/// # Errors
/// As [`hash_sources`].
pub fn hash_python(repository: &Path) -> io::Result<String> {
    hash(repository, &PYTHON_SOURCES, code)
}

/// A line, unless it holds a comment alone.
fn code(line: &str) -> Option<&str> {
    (!line.trim_start().starts_with("//")).then_some(line)
}

/// A line, empty where it holds a comment alone.
fn code_in_place(line: &str) -> Option<&str> {
    code(line).or(Some(""))
}

/// The hash of what `kept` leaves of the lines of all sources.
fn hash(
    repository: &Path,
    sources: &[&str],
    kept: impl Fn(&str) -> Option<&str>,
) -> io::Result<String> {
    let mut files = Vec::new();
    for source in sources {
        let path = repository.join(source);
        if path.is_dir() {
            rust_files(&path, &mut files)?;
        } else {
            files.push(path);
        }
    }
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|file| (name_in(repository, &file), file))
        .collect();
    named.sort();

    let mut hash = Sha256::new();
    for (name, file) in named {
        let text = fs::read_to_string(&file).map_err(naming(&file))?;
        let lines = text.lines().filter_map(&kept);
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        // With the lengths, no text can be moved from one file to the next and give the same hash.
        hash.update(format!("{name} {}\n", text.len()));
        hash.update(text);
    }
    let digits = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(digits)
}

/// Adds all `.rs` files below `folder`.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder).map_err(naming(folder))? {
        let path = entry.map_err(naming(folder))?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The path of a file below `repository`, with slashes on every system.
fn name_in(repository: &Path, file: &Path) -> String {
    let relative = file.strip_prefix(repository).unwrap_or(file);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Puts the path into an error of the operating system.
fn naming(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with the least that can be hashed, and the given library file.
    fn repository(library: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for source in SOURCES {
            let path = root.path().join(source);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if source.ends_with(".toml") {
                fs::write(path, "[package]\n").unwrap();
            } else {
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("lib.rs"), library).unwrap();
            }
        }
        root
    }

    #[test]
    fn the_words_of_a_comment_do_not_change_the_hash_and_code_and_its_lines_do() {
        let of = |library| hash_sources(repository(library).path()).unwrap();
        let unix = of("//! Says.\none\ntwo\n");
        let same = [
            of("//! Says.\r\none\r\ntwo\r\n"),
            of("  // why\none\ntwo\n"),
        ];
        assert_eq!(same, [&*unix; 2]);
        let others = [
            of("//! Says.\n//! More.\none\ntwo\n"),
            of("//! Says.\none\nthree\n"),
        ];
        assert!(!others.contains(&unix));
        assert_eq!(unix.len(), 64);
    }

    #[test]
    fn a_new_or_renamed_source_changes_the_hash_and_other_files_do_not() {
        let root = repository("");
        let before = hash_sources(root.path()).unwrap();
        let folder = root.path().join("kernels/src/deeper");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("notes.txt"), "not compiled").unwrap();
        assert_eq!(hash_sources(root.path()).unwrap(), before);

        fs::write(folder.join("a.rs"), "").unwrap();
        let with_file = hash_sources(root.path()).unwrap();
        assert_ne!(with_file, before);
        fs::rename(folder.join("a.rs"), folder.join("b.rs")).unwrap();
        assert_ne!(hash_sources(root.path()).unwrap(), with_file);
    }

    #[test]
    fn without_a_checkout_the_missing_path_is_named() {
        let root = tempfile::tempdir().unwrap();
        let error = hash_sources(root.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("Cargo.toml"), "{error}");
    }
}
