//! A crate elsewhere that depends on the library builds: with nothing of CUDA, and beside a `cudarc` of its own, whose version of CUDA
//! and whose way to load it are that crate's affair.
//!
//! Beside a `cudarc` it is checked, not linked: with `dynamic-linking` it would need a driver to link.

use memchr::memmem;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUMS: &str = r#"
//! Sums what lies in memory of `cudarc`, on a stream of `cudarc`.
use cudarc::driver::{CudaSlice, CudaStream};
use std::error::Error;
use warpfold::device::StreamRef;
use warpfold::Device;
use warpfold::sum::{Mode, Sum};

pub fn sum(device: &Device, stream: &CudaStream, values: &CudaSlice<f32>) -> Result<f32, Box<dyn Error>> {
    let mut sum = Sum::new(device)?;
    let stream = StreamRef::try_from((device, stream))?;
    sum.queue(&stream, values, Mode::Fast)?;
    Ok(sum.result()?)
}
"#;

/// A crate in a folder of its own, with the versions of this repository's lock file.
struct Dependent {
    folder: tempfile::TempDir,
    repository: PathBuf,
}

impl Dependent {
    fn new(dependencies: &str, source: &str) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().unwrap();
        let manifest = format!(
            "[package]\nname = \"dependent\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{}",
            dependencies.replace("HOST", &repository.join("host").display().to_string())
        );
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        fs::copy(
            repository.join("Cargo.lock"),
            folder.path().join("Cargo.lock"),
        )
        .unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), source).unwrap();
        Self { folder, repository }
    }

    /// What cargo prints, which has to succeed.
    #[track_caller]
    fn cargo(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CARGO_TARGET_DIR", self.repository.join("target/dependent"))
            // This repository's configuration sets it, and nobody else's does.
            .env_remove("CUDA_LIBRARY_PATH")
            .output()
            .unwrap();
        let [printed, said] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{said}");
        printed
    }
}

#[test]
fn beside_a_cudarc_of_other_features_it_builds() {
    for (loading, version) in [
        ("dynamic-linking", "cuda-13000"),
        ("dynamic-loading", "cuda-11080"),
    ] {
        let dependencies = format!(
            "cudarc = {{ version = \"0.19\", default-features = false, features = [\"std\", \"driver\", \"{loading}\", \"{version}\"] }}\n\
             warpfold = {{ path = \"HOST\", features = [\"cudarc\"] }}\n"
        );
        Dependent::new(&dependencies, SUMS).cargo(&["check"]);
    }
}

#[test]
fn it_needs_nothing_of_cuda() {
    let dependent = Dependent::new("warpfold = { path = \"HOST\" }\n", "");
    let tree = dependent.cargo(&[
        "tree",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--target",
        "all",
    ]);
    for crate_of_cuda in ["cust ", "cust_raw ", "cudarc ", "find_cuda_helper "] {
        let found = tree.lines().find(|line| line.starts_with(crate_of_cuda));
        assert_eq!(found, None);
    }
    dependent.cargo(&["check"]);
}

#[test]
fn the_library_alone_takes_few_crates() {
    const MOST: usize = 40;
    let dependent = Dependent::new("warpfold = { path = \"HOST\" }\n", "");
    // For this machine, without the dependent itself.
    let tree = dependent.cargo(&["tree", "--edges", "normal,build", "--prefix", "none"]);
    // Name and version: two versions of a crate are two.
    let crates: BTreeSet<(&str, &str)> = tree
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect();
    assert!(crates.len() <= MOST, "{} crates: {tree}", crates.len());
    let names: BTreeSet<&str> = crates.iter().map(|(name, _)| *name).collect();
    assert!(names.contains("warpfold"), "{tree}");
    for of_the_command_line in [
        "clap",
        "comfy-table",
        "image",
        "indicatif",
        "npyz",
        "plotters",
        "ratatui",
        "rawzip",
        "zip",
    ] {
        assert!(!names.contains(of_the_command_line), "{tree}");
    }
}

/// The texts of the other types and modules are megabytes.
#[test]
fn a_program_carries_the_kernels_that_it_names_alone() {
    let dependent = Dependent::new("warpfold = { path = \"HOST\" }\n", "");
    let repository = &dependent.repository;
    let folders = [
        "kernels/ptx",
        "reductions/ptx",
        "reductions/bytes/ptx",
        "reductions/narrow/ptx",
        "reductions/wide/ptx",
    ];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(repository.join(folder)).unwrap());
    let texts: Vec<(String, Vec<u8>)> = files
        .map(|file| file.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| ["ptx", "zst"].contains(&extension.to_str().unwrap()))
        })
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                fs::read(path).unwrap(),
            )
        })
        .collect();
    assert!(texts.len() > 30, "{} texts", texts.len());
    // Another test runs a program of the crate's name.
    let programs = dependent.folder.path().join("src/bin");
    fs::create_dir(&programs).unwrap();
    let binary = format!("target/dependent/debug/carries{}", env::consts::EXE_SUFFIX);
    let binary = repository.join(binary);
    for (call, expected) in [
        (
            "sum(&device, &[1.0_f32, 2.0])",
            [
                "kernels.sm_70.ptx",
                "kernels.sm_80.ptx",
                "kernels.sm_90.ptx",
            ]
            .as_slice(),
        ),
        ("max(&device, &[1.0_f32, 2.0])", &["f32.sm_70.ptx.zst"]),
        (
            "reduce(&device, As::<i64, _>::new(Sum), &[1_i8, 2])",
            &["i8_i64.sm_70.ptx.zst"],
        ),
    ] {
        let program = format!(
            "use warpfold::operator::*;\nuse warpfold::*;\n\nfn main() {{ let device = Device::best(); println!(\"{{:?}}\", {call}); }}\n"
        );
        fs::write(programs.join("carries.rs"), program).unwrap();
        dependent.cargo(&["build"]);
        let binary = fs::read(&binary).unwrap();
        let mut carried: Vec<&str> = texts
            .iter()
            .filter(|(_, text)| memmem::find(&binary, text).is_some())
            .map(|(name, _)| name.as_str())
            .collect();
        carried.sort_unstable();
        assert_eq!(carried, expected, "{call}");
    }
}

#[test]
fn the_readmes_lines_print_the_sum_and_its_other_snippets_compile() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = fs::read_to_string(&readme).unwrap();
    let (_, first_snippet) = text.split_once("```rust\n").unwrap();
    let (program, _) = first_snippet.split_once("```").unwrap();
    let library = format!("#[cfg(doctest)]\n#[doc = include_str!({readme:?})]\nstruct Readme;\n");
    let dependent = Dependent::new("warpfold = { path = \"HOST\" }\n", &library);
    fs::write(dependent.folder.path().join("src/main.rs"), program).unwrap();
    let printed = dependent.cargo(&["run"]);
    assert!(printed.starts_with("500500 on "), "{printed}");
    dependent.cargo(&["test", "--doc"]);
}
