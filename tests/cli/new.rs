//! `warpfold new`. That what it makes builds, passes and finds a mistake is tested with the chores (`xtask/tests/new_crate.rs`): it takes minutes.

use super::*;
use std::fs;

/// Runs the command in a folder.
fn new_in(scratch: &Scratch, name: &str) -> assert_cmd::assert::Assert {
    warpfold(&["new", name])
        .current_dir(scratch.0.path())
        .assert()
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
