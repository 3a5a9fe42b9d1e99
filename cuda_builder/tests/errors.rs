//! What a user meets before any compiler runs, through the public interface.

use std::fs;
use std::path::Path;

use cuda_builder::{CudaBuilder, CudaBuilderError, Toolchain};
use tempfile::TempDir;

/// A crate folder with the given manifest and, if asked for, a library.
fn crate_folder(manifest: &str, with_library: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    let source = folder.path().join("src");
    fs::create_dir(&source).unwrap();
    let file = if with_library { "lib.rs" } else { "main.rs" };
    fs::write(source.join(file), "fn main() {}\n").unwrap();
    folder
}

const PACKAGE: &str =
    "[package]\nname = \"demo-kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";

#[track_caller]
fn build_error(path: &Path) -> CudaBuilderError {
    CudaBuilder::new(path)
        .toolchain(Toolchain::Rustc("/nowhere/bin/rustc".into()))
        .build()
        .expect_err("nothing can be built here")
}

#[test]
fn a_missing_crate_folder_is_named() {
    let error = build_error(Path::new("/nowhere/kernels"));
    assert!(
        matches!(error, CudaBuilderError::CratePathDoesntExist(_)),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .starts_with("crate path /nowhere/kernels does not exist"),
        "{error}"
    );
}

#[test]
fn a_folder_without_manifest_is_no_crate() {
    let folder = tempfile::tempdir().unwrap();
    let error = build_error(folder.path());
    assert!(
        matches!(error, CudaBuilderError::CratePathDoesntExist(_)),
        "{error}"
    );
}

#[test]
fn a_broken_manifest_shows_what_cargo_says() {
    let folder = crate_folder("[package]\nname = 7\n", true);
    let error = build_error(folder.path()).to_string();
    assert!(error.contains("cargo cannot build PTX from"), "{error}");
    assert!(error.contains("invalid type: integer"), "{error}");
}

#[test]
fn a_crate_without_library_says_where_to_put_the_kernels() {
    let folder = crate_folder(PACKAGE, false);
    let error = build_error(folder.path()).to_string();
    assert!(error.contains("put the kernels into src/lib.rs"), "{error}");
}

#[test]
fn a_toolchain_that_is_not_there_is_named_with_the_ways_to_get_one() {
    let folder = crate_folder(PACKAGE, true);
    let error = build_error(folder.path());
    assert!(
        matches!(&error, CudaBuilderError::NoDeviceCompiler { refusals } if refusals.len() == 1),
        "{error}"
    );
    let text = error.to_string();
    for part in [
        "/nowhere/bin/rustc",
        "rustup toolchain install nightly --component rust-src",
        "rustc-web",
        "CUDA_BUILDER_TOOLCHAIN",
    ] {
        assert!(text.contains(part), "{text}");
    }
}
