//! `warpfold new`.

use super::*;
use cuda_builder::{DeviceCompiler, Toolchain};
use std::fs;
use std::io::Write;
use std::process;

/// Runs the command in a folder.
fn new_in(scratch: &Scratch, name: &str) -> assert_cmd::assert::Assert {
    warpfold(&["new", name])
        .current_dir(scratch.0.path())
        .assert()
}

/// As a user does it: the crate is made, tested and run. The only help is that nothing is compiled or fetched anew that the folder of this
/// repository's own builds has.
#[test]
fn a_new_crate_passes_its_tests_on_the_spot() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = repository.join("target");
    if let Err(error) = DeviceCompiler::find(&Toolchain::from_environment(), &target) {
        // Past the test harness, which keeps what a test that passes has printed.
        let _ = writeln!(std::io::stderr(), "a_new_crate_…: skipped: {error}");
        return;
    }
    let scratch = Scratch::new();
    new_in(&scratch, "new-crate").success().stderr("");
    let folder = scratch.path("new-crate");
    fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).expect("it is copied");
    let cargo = |arguments: &[&str]| {
        let output = process::Command::new("cargo")
            .args(arguments)
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target)
            .output()
            .expect("cargo starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{error}");
        out
    };
    let tested = cargo(&["test", "--workspace"]);
    assert!(
        tested.contains("the_kernel_agrees_with_the_cpu ... ok"),
        "{tested}"
    );
    assert!(
        tested.contains("the_kernel_is_sound_in_every_order ... ok"),
        "{tested}"
    );
    let ran = cargo(&["run"]);
    assert!(ran.contains("squared distance: 331835520"), "{ran}");
    cargo(&["fmt", "--check"]);

    // A kernel without its guard is found out, by the test or by the emulator that runs it.
    let kernel = folder.join("kernels/src/lib.rs");
    let text = fs::read_to_string(&kernel).expect("it is there");
    fs::write(&kernel, text.replace("index < n", "index <= n")).expect("it is written");
    let wrong = process::Command::new("cargo")
        .arg("test")
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("cargo starts");
    let out = String::from_utf8_lossy(&wrong.stdout);
    assert!(
        !wrong.status.success() && out.contains("kernels/src/lib.rs"),
        "{out}"
    );
}

#[test]
fn what_is_there_stays_and_bad_names_are_refused() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("mine")).expect("a folder");
    new_in(&scratch, "mine")
        .code(2)
        .stderr(contains("mine is there already"));
    for name in ["2d", "a/b", "../a", "match", "kernels", "größe"] {
        new_in(&scratch, name)
            .code(2)
            .stderr(contains("invalid value"));
    }
    let folder = warpfold(&["new", "mine2", "--warpfold", "nowhere"])
        .current_dir(scratch.0.path())
        .assert();
    folder
        .code(2)
        .stderr(contains("nowhere is no checkout of warpfold"));
    let left = fs::read_dir(scratch.0.path()).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left of what was refused");
}

#[test]
fn a_crate_may_take_warpfold_from_a_repository() {
    let scratch = Scratch::new();
    let url = "https://example.org/warpfold";
    warpfold(&["new", "mine", "--warpfold", url])
        .current_dir(scratch.0.path())
        .assert()
        .success();
    let manifest = fs::read_to_string(scratch.path("mine/Cargo.toml")).expect("it is there");
    assert_eq!(
        manifest.matches(&format!("git = {url:?}")).count(),
        5,
        "{manifest}"
    );
    assert!(!manifest.contains("path"), "{manifest}");
}
