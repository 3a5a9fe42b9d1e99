//! `warpfold profile`: its numbers against hand counts and against a GPU's, its forms, its documentation.
//!
//! The GPU's numbers are those of Nsight Compute for the very PTX that the emulator executes (`tests/data/README.md` says how
//! they were measured); the emulator's own tests have those of kernels in CUDA C++.

use assert_cmd::Command;
use indicatif::HumanCount;
use predicates::str::contains;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use warpfold_emulator::METRICS;
use warpfold_kernels::catalogue::{Lesson, Part, find, lessons_of};

/// Those of the GPU that was measured.
const MULTIPROCESSORS: &str = "132";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command
        .args(arguments)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command
}

#[track_caller]
fn output_of(arguments: &[&str]) -> String {
    let assert = warpfold(arguments).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("the output is text")
}

/// The profiles that the command writes as JSON.
#[track_caller]
fn profiles(arguments: &[&str]) -> Vec<Value> {
    let text = output_of(&[&["profile"], arguments, &["--json", "-"]].concat());
    let mut report: Value = serde_json::from_str(&text).expect("it is JSON");
    match report["profiles"].take() {
        Value::Array(profiles) => profiles,
        other => panic!("{other} is no list of profiles"),
    }
}

#[track_caller]
fn count(profile: &Value, metric: &str) -> u64 {
    profile["measured"][metric]
        .as_u64()
        .unwrap_or_else(|| panic!("{metric} is a count in {profile}"))
}

#[track_caller]
fn percent(profile: &Value, metric: &str) -> f64 {
    profile["measured"][metric]
        .as_f64()
        .unwrap_or_else(|| panic!("{metric} is a number in {profile}"))
}

#[track_caller]
fn refuses(arguments: &[&str], culprit: &str) {
    warpfold(&[&["profile"], arguments].concat())
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("warpfold: "))
        .stderr(contains(culprit));
}

/// One lesson, counted here and, executing the same PTX, on a GPU.
struct Measured {
    lesson: &'static Lesson,
    profile: Value,
    /// Nsight Compute's metrics by their names.
    gpu: HashMap<&'static str, f64>,
}

/// Every lesson that was measured on a GPU, counted once for all tests.
fn lessons() -> &'static [Measured] {
    static LESSONS: OnceLock<Vec<Measured>> = OnceLock::new();
    LESSONS.get_or_init(|| {
        let text = include_str!("data/lessons.h200.csv");
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
        let lines: Vec<&str> = lines.collect();
        lines
            .into_par_iter()
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                let [kernel, n, id, blocks] = cells[..4] else {
                    panic!("{line}");
                };
                let lesson = find(id).unwrap_or_else(|| panic!("{id} is a lesson"));
                let profile = profile_of(lesson, n);
                assert_eq!(profile["is_right"], true, "{id}");
                assert_eq!(profile["kernel"], kernel);
                let grid = profile["grid"].as_array().expect("three extents");
                let grid = grid.iter().map(|extent| extent.as_u64().expect("a number"));
                assert_eq!(grid.product::<u64>().to_string(), blocks, "{id}");
                let figures = names.iter().zip(&cells).skip(5);
                let figures = figures.filter_map(|(name, cell)| Some((*name, cell.parse().ok()?)));
                Measured {
                    lesson,
                    profile,
                    gpu: figures.collect(),
                }
            })
            .collect()
    })
}

/// A lesson with the usual value of its parameter, on a device as large as the GPU.
fn profile_of(lesson: &Lesson, n: &str) -> Value {
    let mut arguments = vec![lesson.id, "-n", n, "--multiprocessors", MULTIPROCESSORS];
    if waits(lesson) {
        arguments.push("--in-order");
    }
    let setting = lesson
        .parameter
        .map(|parameter| format!("{}={}", parameter.name, parameter.usual));
    if let Some(setting) = &setting {
        arguments.extend(["--set", setting]);
    }
    profiles(&arguments).remove(0)
}

fn ladder() -> impl Iterator<Item = &'static Measured> {
    lessons()
        .iter()
        .filter(|measured| measured.lesson.part == Part::Ladder)
}

impl Measured {
    fn waits(&self) -> bool {
        waits(self.lesson)
    }
}

/// Whether its threads look again and again whether others have come: how often, no two executions on a GPU agree on. The bulk copies
/// of one are no requests for `ncu` either.
fn waits(lesson: &Lesson) -> bool {
    matches!(
        lesson.id,
        "flagship_bulk" | "grid_sync" | "fence_publish" | "critical_section"
    )
}

/// By hand, for a block of 512 threads, which is 16 warps: the bounds of the loop are tested once before it (16 branches) and
/// nine times behind its body (144), the body nine times (144), `tid == 0` once (16). The body diverges wherever a warp holds
/// a thread that adds and one that does not: strides 1 to 16 in all 16 warps, 32 in every second, 64 in every fourth, and so on:
/// 5 · 16 + 8 + 4 + 2 + 1 = 95. The last test diverges in warp 0; in the machine code it is a conditional exit, so that 95 of 304
/// branches are left to diverge.
#[test]
fn hand_count_of_neighbored_by_nvcc() {
    let ptx = root().join("emulator/tests/data/ladder.nvcc.sm_80.ptx");
    let ptx = ptx.to_str().expect("the path is text");
    let launch = ["--kernel", "neighbored", "--grid", "3", "--block", "512"];
    let data = [
        "--arg",
        "buf:i32:iota:1536",
        "--arg",
        "buf:i32:zeros:3",
        "--arg",
        "u64:1536",
    ];
    let by_line = ["--by", "line"];
    let arguments = [&["--ptx", ptx], &launch[..], &data, &by_line].concat();
    let profile = &profiles(&arguments)[0];
    assert_eq!(count(profile, "branches"), 3 * 320);
    assert_eq!(count(profile, "divergent_branches"), 3 * 96);
    assert!((percent(profile, "branch_efficiency") - 70.0).abs() < 1e-9);
    assert_eq!(count(profile, "assembled_branches"), 3 * 304);
    assert_eq!(count(profile, "assembled_divergent_branches"), 3 * 95);
    assert_eq!(percent(profile, "assembled_branch_efficiency"), 68.75);

    let lines = profile["lines"].as_array().expect("a list of lines");
    let branches: Vec<(u64, u64)> = lines
        .iter()
        .filter(|line| count(line, "branches") != 0)
        .map(|line| {
            (
                count(line, "branches") / 3,
                count(line, "divergent_branches") / 3,
            )
        })
        .collect();
    assert_eq!(branches, [(16, 0), (144, 95), (144, 0), (16, 1)]);
    let instructions: u64 = lines
        .iter()
        .map(|line| count(line, "warp_instructions"))
        .sum();
    assert_eq!(instructions, count(profile, "warp_instructions"));
    for line in lines {
        assert!(
            line["ptx"].as_str().is_some_and(|text| !text.is_empty()),
            "{line}"
        );
    }
}

#[test]
fn the_promised_command() {
    let profile = &profiles(&["neighbored", "-n", "2^22", "--block", "512"])[0];
    assert!((percent(profile, "branch_efficiency") - 68.75).abs() <= 2.0);
    assert_eq!(count(profile, "branches"), 8192 * 320);
    assert_eq!(percent(profile, "assembled_branch_efficiency"), 68.75);
    assert_eq!(count(profile, "assembled_branches"), 8192 * 304);
    assert_eq!(count(profile, "assembled_divergent_branches"), 8192 * 95);
}

/// Of the PTX, up to two points lower: the short bodies that ptxas predicates are branches there, of which many diverge from
/// step 9 on.
#[test]
fn branch_efficiency_is_the_gpus() {
    assert_eq!(ladder().count(), lessons_of(Part::Ladder).len());
    for step in ladder() {
        let assembled = percent(&step.profile, "assembled_branch_efficiency");
        let measured = step.gpu["smsp__sass_average_branch_targets_threads_uniform.pct"];
        let id = step.lesson.id;
        assert!(
            (assembled - measured).abs() <= 0.3,
            "{id}: {assembled}, {measured}"
        );
    }
}

/// In the ladder, every single branch, but for those of threads that wait for others. Where threads wait and blocks run in order, all
/// branches that diverge.
#[test]
fn branches_are_the_gpus() {
    for measured in lessons() {
        let id = measured.lesson.id;
        let assembled = count(&measured.profile, "assembled_branches");
        let diverging = count(&measured.profile, "assembled_divergent_branches");
        let on_gpu = measured.gpu["smsp__sass_branch_targets.sum"];
        let diverging_on_gpu = measured.gpu["smsp__sass_branch_targets_threads_divergent.sum"];
        if measured.lesson.part == Part::Ladder && !matches!(id, "single_pass" | "flagship_bulk") {
            assert_eq!(
                (assembled as f64, diverging as f64),
                (on_gpu, diverging_on_gpu),
                "{id}"
            );
        }
        if on_gpu != 0.0 {
            let efficiency = percent(&measured.profile, "assembled_branch_efficiency");
            let efficiency_on_gpu = 100.0 * (1.0 - diverging_on_gpu / on_gpu);
            assert!((efficiency - efficiency_on_gpu).abs() <= 2.0, "{id}");
        } else {
            assert_eq!(diverging, 0, "{id}");
        }
        if measured.waits() {
            assert_eq!(diverging as f64, diverging_on_gpu, "{id}");
        }
    }
}

#[test]
fn instructions_are_near_the_gpus() {
    let mut before = None;
    for step in ladder() {
        let id = step.lesson.id;
        let emulated = count(&step.profile, "warp_instructions") as f64;
        let measured = step.gpu["smsp__inst_executed.sum"];
        // One `rem` is a dozen and a half machine instructions.
        let range = if id == "neighbored" {
            0.5..0.65
        } else {
            0.8..1.2
        };
        let ratio = emulated / measured;
        assert!(range.contains(&ratio), "{id}: {ratio}");
        // Up to step 10 each has fewer than the one before, here and there.
        if let Some((emulated_before, measured_before)) = before {
            assert!(
                emulated < emulated_before && measured < measured_before,
                "{id}"
            );
        }
        before = (id != "vectorized" && before.is_some() || id == "neighbored")
            .then_some((emulated, measured));
    }
}

#[test]
fn memory_traffic_is_exactly_the_gpus() {
    for measured in lessons().iter().filter(|measured| !measured.waits()) {
        let id = measured.lesson.id;
        for metric in METRICS {
            let Some(ncu) = metric.ncu else { continue };
            let is_global = ncu.contains("mem_global_op") && ncu.ends_with(".sum");
            if !is_global && !ncu.starts_with("memory_") || ncu.contains(" + ") {
                continue;
            }
            // An atomic addition of 1 whose result nobody reads is one of the whole warp there, `ATOMS.POPC.INC`.
            if id == "histogram_shared" && ncu.starts_with("memory_l1_wavefronts_shared") {
                continue;
            }
            let (emulated, on_gpu) = (
                count(&measured.profile, metric.name) as f64,
                measured.gpu[ncu],
            );
            assert_eq!(emulated, on_gpu, "{} of {id}", metric.name);
        }
    }
}

#[test]
fn kernels_and_block_shapes_side_by_side() {
    let both = profiles(&[
        "interleaved",
        "shuffle",
        "-n",
        "2^14",
        "--block",
        "64",
        "--block",
        "1024",
    ]);
    let shapes: Vec<(&str, u64)> = both
        .iter()
        .map(|profile| {
            let block = profile["block"][0].as_u64().expect("a number");
            (profile["kernel"].as_str().expect("a name"), block)
        })
        .collect();
    let expected = [
        ("interleaved", 64),
        ("interleaved", 1024),
        ("shuffle_64", 64),
        ("shuffle_1024", 1024),
    ];
    assert_eq!(shapes, expected);
    let text = output_of(&["profile", "interleaved", "shuffle", "-n", "2^14"]);
    for expected in [
        "shuffle_512",
        "branch_efficiency",
        "memory_l1_wavefronts_shared_ideal",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

/// Whole warps retire in one kernel, and lanes of every warp in the other; the text shows the metrics that were asked for alone.
#[test]
fn steps_show_who_is_at_work() {
    let arguments = [
        "neighbored",
        "neighbored_less",
        "-n",
        "2^14",
        "--block",
        "256",
    ];
    let by_step = [
        &arguments[..],
        &["--by", "step", "--metrics", "inst_per_warp"],
    ]
    .concat();
    let profiles = profiles(&by_step);
    let active = |profile: &Value, what: &str| -> Vec<u64> {
        let steps = profile["steps"].as_array().expect("a list of steps");
        let figures = steps.iter().map(|step| {
            assert_eq!(step["blocks"], 64);
            step[what].as_u64().expect("a count") / 64
        });
        figures.collect()
    };
    assert_eq!(
        active(&profiles[0], "active_warps"),
        [8, 8, 8, 8, 8, 4, 2, 1, 1]
    );
    assert_eq!(
        active(&profiles[1], "active_warps"),
        [4, 2, 1, 1, 1, 1, 1, 1, 1]
    );
    for profile in &profiles {
        let halved = [128, 64, 32, 16, 8, 4, 2, 1, 1];
        assert_eq!(active(profile, "active_threads"), halved);
        assert_eq!(active(profile, "threads"), [256; 9]);
    }
    let text = output_of(&[&["profile"], &by_step[..]].concat());
    for expected in ["inst_per_warp", "4 of 8  50.00 %", "2 of 8  25.00 %"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("branch_efficiency"), "{text}");
}

#[test]
fn lines_stand_beside_their_source() {
    let ptx = "\
.version 7.0
.target sm_70
.address_size 64
.file 1 \"count.rs\"
.visible .entry count(.param .u64 word)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .loc 1 7 5
    ld.param.u64 %rd1, [word];
    .loc 1 8 5
    atom.global.add.u32 %r1, [%rd1], 1;
    .loc 1 9 5
    bar.sync 0;
    ret;
}
";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("count.ptx");
    std::fs::write(&file, ptx).expect("it can be written");
    let file = file.to_str().expect("the path is text");
    let arguments = [
        "--ptx",
        file,
        "--kernel",
        "count",
        "--grid",
        "4",
        "--block",
        "128",
        "--arg",
        "buf:u32:zeros:1",
    ];
    let by_line = ["--by", "line", "--top", "1", "--sort", "atomics"];
    let text = output_of(&[&["profile"], &arguments[..], &by_line].concat());
    assert!(text.contains("1 of 4 lines, by atomics"), "{text}");
    assert!(
        text.contains("atom.global.add.u32 %r1, [%rd1], 1;") && text.contains("count.rs:8"),
        "{text}"
    );

    let profile = &profiles(&[&arguments[..], &by_line].concat())[0];
    // All 512 threads on one word: every warp's 32 lanes take turns.
    assert_eq!(count(profile, "atomics"), 512);
    assert_eq!(count(profile, "global_atomic_requests"), 16);
    assert_eq!(count(profile, "global_atomic_passes"), 512);
    assert_eq!(count(profile, "atomics_on_one_address"), 512);
    assert_eq!(percent(profile, "barrier_waiting_warps"), 0.0);
    let atomic = &profile["lines"][1];
    assert_eq!(
        (&atomic["source_file"], &atomic["source_line"]),
        (&"count.rs".into(), &8.into())
    );
}

#[test]
fn the_occupancy_is_told_with_what_limits_it() {
    let arguments = [
        "in_flight",
        "--block",
        "256",
        "-n",
        "70000",
        "--sm",
        "80,90",
    ];
    let [profile] = &profiles(&arguments)[..] else {
        panic!("one lesson, one block size");
    };
    let occupancy = profile["occupancy"].as_array().expect("it is a list");
    for (of, sm) in occupancy.iter().zip([80, 90]) {
        assert_eq!(of["sm"], sm);
        assert!(
            of["registers"]
                .as_u64()
                .is_some_and(|registers| registers > 64),
            "{of}"
        );
        assert_eq!(of["blocks"], 3, "{of}");
        assert_eq!(of["percent"], 37.5, "{of}");
        assert_eq!(of["limited_by"], serde_json::json!(["registers"]));
    }
    let text = output_of(&[&["profile"], &arguments[..]].concat());
    assert!(
        text.contains("24 of 64") && text.contains("Registers of a thread as ptxas"),
        "{text}"
    );
    // Of other PTX nobody has recorded them.
    let file = root().join("kernels/ptx/exhibits.sm_80.ptx");
    let file = file.to_str().expect("the path is text");
    let text = output_of(&[
        "profile",
        "--ptx",
        file,
        "--kernel",
        "off_by_one",
        "--grid",
        "2",
        "--block",
        "64",
        "--arg",
        "buf:i32:iota:101",
        "--arg",
        "u32:100",
    ]);
    assert!(
        text.contains("Without registers where there is a ?"),
        "{text}"
    );
    refuses(&["in_flight", "--sm", "61"], "give one or more of 70, 75");
}

#[test]
fn bad_usage_is_one_sentence() {
    refuses(&[], "ID");
    refuses(&["neighbord"], "did you mean `neighbored`?");
    refuses(&["neighbored", "-n", "0"], "nothing to profile");
    refuses(
        &["neighbored", "--block", "100"],
        "use one of 64, 128, 256, 512, 1024",
    );
    refuses(
        &["neighbored", "--multiprocessors", "0"],
        "--multiprocessors",
    );
    refuses(&["neighbored", "--by", "column"], "column");
    refuses(&["neighbored", "--top", "3"], "--by");
    refuses(
        &["neighbored", "--by", "line", "--sort", "branch_eficiency"],
        "did you mean `branch_efficiency`?",
    );
    refuses(&["neighbored", "--kernel", "x"], "--ptx");
    refuses(&["--ptx", "missing.ptx"], "--kernel");
    let launch = [
        "--ptx",
        "missing.ptx",
        "--kernel",
        "k",
        "--grid",
        "1",
        "--block",
        "32",
    ];
    refuses(&launch, "cannot read missing.ptx");
    refuses(
        &[&launch[..], &["--block", "64"]].concat(),
        "--ptx takes one --block",
    );
    refuses(&[&launch[..], &["neighbored"]].concat(), "--ptx");
}

#[test]
fn help_explains_every_metric() {
    // Without the line ends that a narrow terminal makes.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = words(&output_of(&["profile", "--help"]));
    for metric in METRICS {
        let explained = format!(
            "{} {} {}",
            metric.name,
            metric.explanation,
            metric.ncu.unwrap_or_default()
        );
        assert!(help.contains(&words(&explained)), "{explained}");
    }
}

/// With `WARPFOLD_BLESS` set, writes the block anew instead.
#[track_caller]
fn check_document(document: &str, block: &str, expected: &str) {
    /// Tests run side by side, and each writes the whole document.
    static DOCUMENT: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = DOCUMENT.lock().unwrap_or_else(|failed| failed.into_inner());
    let path = root().join(document);
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (begin, end) = (
        format!("<!-- {block}: begin -->\n"),
        format!("<!-- {block}: end -->"),
    );
    let (before, rest) = text.split_once(&begin).expect("the block begins");
    let (shown, after) = rest.split_once(&end).expect("the block ends");
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        let blessed = format!("{before}{begin}{expected}{end}{after}");
        std::fs::write(&path, blessed).expect("the document can be written");
    } else {
        assert_eq!(
            shown, expected,
            "{document} is out of date: WARPFOLD_BLESS=1 cargo test --test profile writes it anew"
        );
    }
}

#[test]
fn the_metrics_of_the_documentation_are_those_of_the_table() {
    let mut table = "| metric | in Nsight Compute | what it says |\n|---|---|---|\n".to_owned();
    for metric in METRICS {
        let ncu = metric.ncu.map_or_else(String::new, |ncu| {
            format!("`{}`", ncu.replace(" + ", "` + `"))
        });
        writeln!(
            table,
            "| `{}` | {ncu} | {} |",
            metric.name, metric.explanation
        )
        .expect("a string takes all");
    }
    check_document("docs/counters.md", "metrics", &table);
}

#[test]
fn the_ladder_of_the_documentation_is_the_one_that_is_counted() {
    let mut table = "\
| kernel | warp instructions | H200 | per warp | H200 | branch efficiency: PTX | assembled | H200 | sectors | H200 | shared wavefronts | H200 |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    for step in ladder() {
        let emulated = |metric| HumanCount(count(&step.profile, metric));
        let measured = |ncu: &str| HumanCount(step.gpu[ncu] as u64);
        writeln!(
            table,
            "| `{}` | {} | {} | {:.2} | {:.2} | {:.2} % | {:.2} % | {:.2} % | {} | {} | {} | {} |",
            step.lesson.id,
            emulated("warp_instructions"),
            measured("smsp__inst_executed.sum"),
            percent(&step.profile, "inst_per_warp"),
            step.gpu["smsp__inst_executed.sum"] / count(&step.profile, "warps_launched") as f64,
            percent(&step.profile, "branch_efficiency"),
            percent(&step.profile, "assembled_branch_efficiency"),
            step.gpu["smsp__sass_average_branch_targets_threads_uniform.pct"],
            emulated("global_sectors"),
            measured("memory_l2_theoretical_sectors_global"),
            emulated("shared_wavefronts"),
            measured("memory_l1_wavefronts_shared"),
        )
        .expect("a string takes all");
    }
    check_document("docs/counters.md", "h200", &table);
}
