//! The examples of the READMEs of `cuda_std` and `cuda_builder`, word for word, in crates of their own outside the workspace.

#![cfg(unix)]

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files that a README shows: a path opens the paragraph before each.
fn files(readme: &str) -> Vec<(&str, &str)> {
    let mut files = Vec::new();
    let mut parts = readme.split("\n```");
    let mut before = parts.next().unwrap_or_default();
    while let (Some(block), Some(after)) = (parts.next(), parts.next()) {
        let paragraph = before.trim_end().rsplit("\n\n").next().unwrap_or_default();
        if let Some((path, _)) = paragraph
            .strip_prefix('`')
            .and_then(|rest| rest.split_once('`'))
            && let Some((_, text)) = block.split_once('\n')
        {
            files.push((path, text));
        }
        before = after;
    }
    files
}

/// Writes the example of a README into `demo/`, beside `warpfold/`, and has cargo do something with it. Gives what that prints.
#[track_caller]
fn cargo(readme: &str, names: &[&str], command: &str) -> String {
    let text = fs::read_to_string(repository().join(readme)).unwrap();
    let files = files(&text);
    let mut found: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    found.sort_unstable();
    assert_eq!(found, names);

    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("demo");
    symlink(
        repository().canonicalize().unwrap(),
        folder.path().join("warpfold"),
    )
    .unwrap();
    for (path, text) in files {
        let file = demo.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    fs::copy(repository().join("Cargo.lock"), demo.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args([command, "--quiet"])
        .current_dir(&demo)
        // Where the device compiler is, if it had to be fetched.
        .env("CARGO_TARGET_DIR", repository().join("target"))
        // What stands in for the CUDA that `cust` is built with.
        .env("CUDA_LIBRARY_PATH", repository().join("driver/link"))
        .output()
        .unwrap();
    let [printed, said] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{said}");
    printed
}

const NAMES: [&str; 5] = [
    "Cargo.toml",
    "build.rs",
    "kernels/Cargo.toml",
    "kernels/src/lib.rs",
    "src/main.rs",
];

#[test]
fn the_example_of_cuda_builder_prints_its_ptx() {
    let printed = cargo("cuda_builder/README.md", &NAMES, "run");
    assert!(printed.contains(".visible .entry add_one("), "{printed}");
}

/// It is checked, not linked, since `cust` calls the driver's library, which need not be there. The build script compiles the kernel.
#[test]
fn the_example_of_cuda_std_compiles() {
    cargo("cuda_std/README.md", &NAMES, "check");
}
