//! The command line as its users meet it: exit statuses, sentences, tables and JSON. Everything runs on the emulator.

#[path = "cli/completions.rs"]
mod completions;
#[path = "cli/data.rs"]
mod data;
#[path = "cli/devices.rs"]
mod devices;
#[path = "cli/emulate.rs"]
mod emulate;
#[path = "cli/exercise.rs"]
mod exercise;
#[path = "cli/histogram.rs"]
mod histogram;
#[path = "cli/json.rs"]
mod json;
#[path = "cli/ladder.rs"]
mod ladder;
#[path = "cli/lessons.rs"]
mod lessons;
#[path = "cli/man.rs"]
mod man;
#[path = "cli/names.rs"]
mod names;
#[path = "cli/new.rs"]
mod new;
#[path = "cli/ptx.rs"]
mod ptx;
#[path = "cli/reduce.rs"]
mod reduce;
#[path = "cli/reduce_any.rs"]
mod reduce_any;
#[path = "cli/reduce_files.rs"]
mod reduce_files;
#[path = "cli/reduce_many.rs"]
mod reduce_many;
#[path = "cli/reduce_operators.rs"]
mod reduce_operators;
#[path = "cli/reduce_parquet.rs"]
mod reduce_parquet;
#[path = "cli/reduce_ranks.rs"]
mod reduce_ranks;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/several_devices.rs"]
mod several_devices;
#[path = "cli/sweep.rs"]
mod sweep;
#[path = "cli/usage.rs"]
mod usage;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::{Path, PathBuf};
use warpfold_kernels::catalogue::{Part, lessons, lessons_of};

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command
        .args(arguments)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command
}

/// Standard error, without the warning that greets whoever is working on the kernels.
fn sentences(standard_error: &str) -> Vec<&str> {
    let is_warning =
        |line: &&str| line.contains("the kernels have changed since their PTX was built");
    standard_error
        .lines()
        .filter(|line| !is_warning(line))
        .collect()
}

/// The command succeeds, says nothing on standard error, and this is its standard output.
#[track_caller]
fn output_of(arguments: &[&str]) -> String {
    let is_silent = predicate::function(|text: &str| sentences(text).is_empty());
    let assert = warpfold(arguments).assert().success().stderr(is_silent);
    String::from_utf8(assert.get_output().stdout.clone()).expect("the output is text")
}

/// The JSON that the command prints with `--json -`, and nothing else.
#[track_caller]
fn json_of(arguments: &[&str]) -> Value {
    let text = output_of(&[arguments, &["--json", "-"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The command prints nothing, says one sentence with `culprit` in it, and exits with the status.
#[track_caller]
fn fails(status: i32, arguments: &[&str], culprit: &str) {
    warpfold(arguments)
        .assert()
        .code(status)
        .stdout("")
        .stderr(contains(culprit))
        .stderr(predicate::function(|text: &str| {
            matches!(sentences(text)[..], [sentence] if sentence.starts_with("warpfold: "))
        }));
}

/// Bad usage or input.
#[track_caller]
fn refuses(arguments: &[&str], culprit: &str) {
    fails(2, arguments, culprit);
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data")
        .join(name);
    path.to_str().expect("the path is text").to_owned()
}

/// A file in a folder that is gone with the test.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, contents: &[u8]) -> String {
        std::fs::write(self.path(name), contents).expect("the file is written");
        self.name(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name)
            .to_str()
            .expect("the path is text")
            .to_owned()
    }
}
