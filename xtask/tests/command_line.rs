//! Bad use of the command line: one sentence and exit status 2.

use assert_cmd::Command;
use predicates::prelude::*;

#[track_caller]
fn refuses(arguments: &[&str], part_of_sentence: &str) {
    Command::cargo_bin("xtask")
        .unwrap()
        .args(arguments)
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains(part_of_sentence))
        .stderr(predicate::function(|text: &str| text.lines().count() == 1));
}

#[test]
fn an_unknown_architecture_is_named() {
    refuses(&["build-ptx", "--sm", "80,71"], "`71` is no architecture");
}

#[test]
fn an_unknown_chore_is_named() {
    refuses(&["polish"], "unrecognized subcommand 'polish'");
}

#[test]
fn an_unknown_option_is_named() {
    refuses(&["build-ptx", "--fast"], "unexpected argument '--fast'");
}

#[test]
fn a_device_compiler_that_is_not_there_is_named() {
    Command::cargo_bin("xtask")
        .unwrap()
        .args(["build-ptx", "--check"])
        .env("CUDA_BUILDER_TOOLCHAIN", "/nowhere/bin/rustc")
        .assert()
        .code(2)
        .stderr(predicate::str::contains("/nowhere/bin/rustc: does not run"))
        .stderr(predicate::str::contains(
            "rustup toolchain install nightly --component rust-src",
        ));
}

#[test]
fn a_target_of_several_packages_is_offered_once() {
    Command::cargo_bin("xtask")
        .unwrap()
        .args(["cross", "--help"])
        .assert()
        .success()
        .stdout(predicate::str::contains("wasm32-unknown-unknown").count(1));
}

#[test]
fn without_a_chore_the_chores_are_listed() {
    Command::cargo_bin("xtask")
        .unwrap()
        .assert()
        .code(2)
        .stderr(predicate::str::contains("build-ptx"))
        .stderr(predicate::str::contains("Usage: cargo xtask"));
}

#[test]
fn help_is_no_error() {
    for arguments in [&["--help"][..], &["build-ptx", "--help"]] {
        Command::cargo_bin("xtask")
            .unwrap()
            .args(arguments)
            .assert()
            .success()
            .stdout(predicate::str::contains("Usage: cargo xtask"));
    }
}

#[test]
fn a_comparison_without_a_gpu_is_refused() {
    if warpfold_driver::available().is_ok() {
        return;
    }
    refuses(&["peers"], "peers are timed on a GPU, and there is none");
}

#[test]
fn counting_instructions_wants_valgrind() {
    Command::cargo_bin("xtask")
        .unwrap()
        .arg("bench-check")
        .env("PATH", "/nowhere")
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains("apt-get install valgrind"));
}

#[test]
fn a_wheel_wants_maturin() {
    Command::cargo_bin("xtask")
        .unwrap()
        .arg("wheel")
        .env("PATH", "/nowhere")
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains("pip install maturin"))
        .stderr(predicate::function(|text: &str| text.lines().count() == 1));
}

#[test]
fn results_want_a_record() {
    refuses(&["results", "/nowhere.json"], "cannot read /nowhere.json");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{}").unwrap();
    let path = file.path().to_str().unwrap();
    refuses(&["results", path], "is no record of `cargo xtask peers`");
}
