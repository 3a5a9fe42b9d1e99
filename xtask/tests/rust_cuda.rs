//! rust-cuda on a machine that is not prepared for it: everything that is missing, at once; and PTX that cannot be compared.

use assert_cmd::Command;
use predicates::prelude::*;

/// The command on a machine that has nothing at all.
fn bare(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("xtask").unwrap();
    command
        .args(["build-ptx", "--codegen", "rust-cuda"])
        .args(arguments)
        .env("PATH", "/nowhere/bin")
        .env("CUDA_HOME", "/nowhere/cuda")
        .env_remove("CUDA_PATH")
        .env("LLVM_CONFIG", "/nowhere/bin/llvm-config");
    command
}

#[test]
fn all_that_is_missing_is_named_on_one_screen() {
    bare(&[])
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains(
            "- the Rust toolchain nightly-2026-04-02 (rustup does not run",
        ))
        .stderr(predicate::str::contains(
            "rustup toolchain install nightly-2026-04-02 --profile minimal --component rust-src,rustc-dev,llvm-tools",
        ))
        .stderr(predicate::str::contains(
            "- CUDA 12, or with --sm 80,90 a later one, with libNVVM (/nowhere/cuda: no such folder)",
        ))
        .stderr(predicate::str::contains(
            "- LLVM 7 (/nowhere/bin/llvm-config does not run)",
        ))
        .stderr(predicate::str::contains("rust-cuda/README.md"))
        .stderr(predicate::function(|text: &str| {
            let rows = text.lines().map(|line| line.len().div_ceil(80));
            rows.sum::<usize>() <= 24
        }));
}

#[cfg(unix)]
#[test]
fn what_is_there_is_not_named() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let llvm_config = folder.path().join("llvm-config");
    std::fs::write(&llvm_config, "#!/bin/sh\necho 7.1.0\n").unwrap();
    std::fs::set_permissions(&llvm_config, std::fs::Permissions::from_mode(0o755)).unwrap();
    bare(&[])
        .env("LLVM_CONFIG", &llvm_config)
        .assert()
        .code(2)
        .stderr(predicate::str::contains("- CUDA 12"))
        .stderr(predicate::str::contains("- LLVM 7").not());
}

#[test]
fn an_architecture_that_the_builder_lacks_is_named() {
    bare(&["--sm", "80,75"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains(
            "rust-cuda/builder does not build for sm_75",
        ));
}

#[test]
fn there_is_nothing_to_check() {
    bare(&["--check"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains("leave out --check or"));
}

#[test]
fn ptx_that_is_not_there_is_not_compared() {
    Command::cargo_bin("xtask")
        .unwrap()
        .args(["compare-codegen", "--right", "/nowhere/ptx"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains(
            "/nowhere/ptx/kernels.sm_80.ptx does not exist: build it with",
        ))
        .stderr(predicate::function(|text: &str| text.lines().count() == 1));
}

#[test]
fn ptx_that_lacks_kernels_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = ".visible .entry neighbored() { ret; }\n";
    std::fs::write(folder.path().join("kernels.sm_80.ptx"), ptx).unwrap();
    Command::cargo_bin("xtask")
        .unwrap()
        .args(["compare-codegen", "--right"])
        .arg(folder.path())
        .assert()
        .code(1)
        .stdout("")
        .stderr(predicate::str::contains(
            "lacks entries that the catalogue lists: `neighbored_less`",
        ));
}
