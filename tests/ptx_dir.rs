//! `--ptx-dir`: the kernels from PTX that was built elsewhere. Everything runs on the emulator.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use warpfold::device::{Device, DeviceChoice};
use warpfold_kernels::catalogue::{Lesson, Part, lessons_of};

fn committed(module: &str, sm: u32) -> String {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../kernels/ptx/{module}.sm_{sm}.ptx"));
    fs::read_to_string(file).expect("the PTX is committed")
}

/// The committed PTX as another compiler might have written it: without our header, with lines and comments of its own.
fn rebuilt(module: &str, sm: u32) -> String {
    let is_ours = |line: &&str| !line.starts_with("//");
    let text: Vec<String> = committed(module, sm)
        .lines()
        .filter(is_ours)
        .map(|line| line.replace(".visible .entry ", ".visible\n.entry "))
        .collect();
    format!("// another compiler\n{}\n", text.join("\n"))
}

/// A folder with files of these names and texts, gone with the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("the file is written");
        }
        Self(folder)
    }

    fn path(&self) -> &str {
        self.0.path().to_str().expect("the path is text")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// A `warpfold` that loads the kernels from the folder, on the emulator.
fn warpfold(arguments: &[&str], folder: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command
        .args(arguments)
        .args(["--ptx-dir", folder])
        .env("NO_COLOR", "1");
    command
}

const LADDER: [&str; 6] = ["ladder", "-n", "10000", "--device", "emulator", "--json=-"];

/// Bad input: one sentence with all the culprits, and status 2.
#[track_caller]
fn refuses(folder: &str, culprits: &[&str]) {
    let assert = warpfold(&LADDER, folder).assert().code(2).stdout("");
    let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(
        text.starts_with("warpfold: ") && text.lines().count() == 1,
        "{text}"
    );
    for culprit in culprits {
        assert!(text.contains(culprit), "{culprit} is not in: {text}");
    }
}

#[test]
fn the_ladder_climbs_on_ptx_of_other_origin() {
    let folder = Folder::with(&[("kernels.sm_80.ptx", &rebuilt("kernels", 80))]);
    let assert = warpfold(&LADDER, folder.path()).assert().success();
    let report: Value =
        serde_json::from_slice(&assert.get_output().stdout).expect("the output is JSON");
    let steps = report["steps"].as_array().expect("the ladder has steps");
    let of_sm_80 = |lesson: &&Lesson| lesson.least_sm <= 80;
    let lessons = lessons_of(Part::Ladder).iter().filter(of_sm_80);
    assert_eq!(steps.len(), lessons.count());
    let left_out = report["left_out"].as_array().map(Vec::len);
    assert_eq!(left_out, Some(1), "what needs sm_90 is named");
    assert!(
        steps.iter().all(|step| step["figures"]["is_right"] == true),
        "{report}"
    );
}

#[test]
fn it_is_the_ptx_of_the_folder_that_runs() {
    // A copy in which the first step adds nothing is told apart from the committed one by its sum.
    let broken = rebuilt("kernels", 80).replace("rem.u32", "sub.u32");
    let folder = Folder::with(&[("kernels.sm_80.ptx", &broken)]);
    warpfold(
        &["run", "neighbored", "-n", "10000", "--device", "emulator"],
        folder.path(),
    )
    .assert()
    .code(1)
    .stderr(contains("`neighbored` gives"));
}

/// A kernel that writes where nothing is. On the emulator the sweep goes on behind it; a GPU does nothing more, and what it had measured
/// is kept.
#[test]
fn a_sweep_keeps_what_it_measured_before_a_fault() {
    let ptx = rebuilt("kernels", 80);
    let (before, shuffle) = ptx
        .split_once(".entry shuffle_512(")
        .expect("there is the kernel");
    let fault =
        "{ .reg .b64 %nowhere; mov.u64 %nowhere, 16; st.global.u32 [%nowhere], 0; }\n\tret;";
    let shuffle = shuffle.replacen("\tret;", fault, 1);
    let ptx = format!("{before}.entry shuffle_512({shuffle}");
    let folder = Folder::with(&[("kernels.sm_80.ptx", &ptx)]);
    let mut devices = vec![("emulator", 4)];
    if Device::open(&DeviceChoice::Gpu(0)).is_ok() {
        devices.push(("gpu", 2));
    }
    for (device, rows) in devices {
        let csv = folder.file("sweep.csv");
        let csv = csv.to_str().expect("the path is text");
        let mut arguments = vec![
            "sweep",
            "neighbored",
            "shuffle",
            "--sizes",
            "1K,2K",
            "--csv",
            csv,
        ];
        arguments.extend(["--device", device]);
        let assert = warpfold(&arguments, folder.path()).assert().code(1);
        let output = assert.get_output();
        let [text, error] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(
            text.contains("FAULT") && text.contains("`shuffle` at 2^10: "),
            "{text}"
        );
        let is_failure = |line: &&str| line.starts_with("warpfold: ");
        assert_eq!(error.lines().filter(is_failure).count(), 1, "{error}");
        assert!(error.contains("`shuffle` at 2^10"), "{error}");
        assert_eq!(text.contains("not measured: "), device == "gpu", "{text}");
        let csv = fs::read_to_string(csv).expect("the file is written");
        assert_eq!(csv.lines().count(), 1 + rows, "{csv}");
        assert!(
            csv.lines()
                .any(|line| line.starts_with("neighbored,") && line.contains("true")),
            "{csv}"
        );
    }
}

#[test]
fn the_newest_that_the_device_runs_is_taken() {
    let folder = Folder::with(&[
        (
            "kernels.sm_70.ptx",
            &rebuilt("kernels", 70).replace("rem.u32", "sub.u32"),
        ),
        ("kernels.sm_90.ptx", &rebuilt("kernels", 90)),
        ("notes.txt", "not PTX"),
    ]);
    warpfold(
        &["run", "neighbored", "-n", "10000", "--device", "emulator"],
        folder.path(),
    )
    .assert()
    .success();
}

#[test]
fn every_command_that_loads_the_kernels_takes_the_folder() {
    let folder = Folder::with(&[
        ("kernels.sm_80.ptx", &rebuilt("kernels", 80)),
        ("operators.sm_80.ptx", &rebuilt("operators", 80)),
    ]);
    let nile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/nile.npy");
    let nile = nile.to_str().expect("the path is text");
    for arguments in [
        &["run", "shuffle", "-n", "1000", "--device", "emulator"][..],
        &["reduce", nile, "--device", "emulator"],
        &["ptx", "shuffle"],
        // The ladder is what no command means.
        &["-n", "1000", "--device", "emulator"],
    ] {
        warpfold(arguments, folder.path()).assert().success();
    }
    // What loads no kernels has no use for it.
    warpfold(&["lessons"], folder.path())
        .assert()
        .code(2)
        .stderr(contains("unexpected argument '--ptx-dir'"));
}

#[test]
fn ptx_prints_that_of_the_folder() {
    let marked = rebuilt("kernels", 80).replace("bar.sync", "barrier.sync");
    let folder = Folder::with(&[("kernels.sm_80.ptx", &marked)]);
    warpfold(&["ptx", "neighbored"], folder.path())
        .assert()
        .success()
        .stdout(contains("barrier.sync").and(contains("bar.sync").not()));
    warpfold(&["ptx", "neighbored", "--sm", "90"], folder.path())
        .assert()
        .code(2)
        .stderr(contains(
            "there is no PTX for sm_90; it is built for --sm 80",
        ));
}

#[test]
fn missing_entries_are_named() {
    let without = rebuilt("kernels", 80)
        .replace(".entry unroll4(", ".entry unrolled4(")
        .replace(".entry shuffle_512(", "//.entry shuffle_512(");
    let folder = Folder::with(&[
        ("kernels.sm_80.ptx", &without),
        ("kernels.sm_90.ptx", &rebuilt("kernels", 90)),
    ]);
    refuses(
        folder.path(),
        &[
            "kernels.sm_80.ptx",
            "lacks kernels",
            "unroll4, shuffle_512;",
        ],
    );
}

#[test]
fn a_folder_without_ptx_is_refused() {
    let empty = Folder::with(&[("kernels.ptx", &rebuilt("kernels", 80))]);
    refuses(
        empty.path(),
        &[
            empty.path(),
            "holds no PTX of the kernels",
            "kernels.sm_80.ptx",
        ],
    );
    refuses("/nowhere/at/all", &["cannot read /nowhere/at/all"]);
    let file = empty.file("kernels.ptx");
    refuses(
        file.to_str().expect("the path is text"),
        &["cannot read", "kernels.ptx"],
    );
}

#[test]
fn an_unreadable_file_is_named() {
    let folder = Folder::with(&[]);
    fs::write(folder.file("kernels.sm_80.ptx"), b"\xff\xfe").expect("the file is written");
    refuses(folder.path(), &["cannot read", "kernels.sm_80.ptx"]);
}

#[test]
fn old_ptx_is_announced() {
    let old = committed("kernels", 80).replacen(
        "SHA-256 of the sources: ",
        "SHA-256 of the sources: 0",
        1,
    );
    let folder = Folder::with(&[("kernels.sm_80.ptx", &old)]);
    warpfold(&["ptx", "shuffle"], folder.path())
        .assert()
        .success()
        .stderr(contains(
            "the kernels have changed since their PTX was built; build that of --ptx-dir again",
        ));
}
