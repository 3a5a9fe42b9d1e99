//! What `warpfold new` makes: the crate builds, passes its tests and runs, and its tests find a mistake.

use cuda_builder::{DeviceCompiler, Toolchain};
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output};

/// Cargo in a folder. Nothing is compiled anew that other tests have compiled of the library for crates elsewhere, and no compiler is
/// fetched that is in this repository's folder.
fn cargo(folder: &Path, target: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo starts")
}

/// What it prints on standard output, where it succeeds.
#[track_caller]
fn printed(output: Output) -> String {
    let [out, error] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{out}{error}");
    out
}

#[test]
fn a_new_crate_passes_its_tests_on_the_spot() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = repository.join("target");
    if let Err(error) = DeviceCompiler::find(&Toolchain::from_environment(), &target) {
        // Past the test harness, which keeps what a test that passes has printed.
        let _ = writeln!(io::stderr(), "a_new_crate_…: skipped: {error}");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let manifest = repository.join("Cargo.toml").display().to_string();
    let program = [
        "run",
        "--quiet",
        "--package",
        "warpfold-cli",
        "--manifest-path",
        &manifest,
        "--",
    ];
    printed(cargo(
        scratch.path(),
        &target,
        &[&program[..], &["new", "new-crate"]].concat(),
    ));
    let folder = scratch.path().join("new-crate");
    fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).expect("it is copied");
    let cargo = |arguments: &[&str]| cargo(&folder, &target.join("dependent"), arguments);
    let tested = printed(cargo(&["test", "--workspace"]));
    for test in [
        "the_kernel_agrees_with_the_cpu",
        "the_kernel_is_sound_in_every_order",
    ] {
        assert!(tested.contains(&format!("{test} ... ok")), "{tested}");
    }
    let ran = printed(cargo(&["run"]));
    assert!(ran.contains("squared distance: 331835520"), "{ran}");
    printed(cargo(&["fmt", "--check"]));

    // A kernel without its guard is found out, by the test or by the emulator that runs it.
    let kernel = folder.join("kernels/src/lib.rs");
    let text = fs::read_to_string(&kernel).expect("it is there");
    fs::write(&kernel, text.replace("index < n", "index <= n")).expect("it is written");
    let wrong = cargo(&["test"]);
    let out = String::from_utf8_lossy(&wrong.stdout);
    assert!(
        !wrong.status.success() && out.contains("kernels/src/lib.rs"),
        "{out}"
    );
}
