//! `warpfold check`: right kernels are clean, whatever the order of execution; wrong ones are found out, each with the
//! diagnosis that stands in `kernels/exhibits/diagnoses/`. `INSTA_UPDATE=always cargo test --test check` writes them anew.

use assert_cmd::Command;
use predicates::str::contains;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use warpfold::device::Emulator;
use warpfold::ptx::PtxSet;
use warpfold_course::check::Subject;
use warpfold_course::prepared::PreparedLesson;
use warpfold_emulator::{Launch, Memory, Module, Order, Program, Tool};
use warpfold_exhibits::catalogue::EXHIBITS;
use warpfold_kernels::catalogue::{
    BLOCK_SIZES, Lesson, Parameter, Part, PtxText, Variant, flagship, lessons,
};
use warpfold_ptx::EXHIBITS as EXHIBITS_PTX;

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.args(arguments).env("NO_COLOR", "1");
    command
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is run of a lesson: every block size, with each of a few values of its parameter. The instances of a generic body differ in what
/// they compute and not in what they access, so that one block size shows enough of each.
fn variants(lesson: &'static Lesson, values: fn(&Parameter) -> Vec<u32>) -> Vec<Variant> {
    let blocks = match lesson.part {
        Part::Operators => &BLOCK_SIZES[..1],
        _ => &BLOCK_SIZES,
    };
    let values = lesson.parameter.as_ref().map(values);
    let is_of_them = |variant: &Variant| match (&values, variant.parameter) {
        (Some(values), Some(value)) => values.contains(&value),
        _ => true,
    };
    let all = blocks.iter().flat_map(|&block| lesson.variants_of(block));
    all.filter(is_of_them).collect()
}

/// The least value of a parameter, the usual one and the greatest.
fn few(parameter: &Parameter) -> Vec<u32> {
    let ends = parameter
        .values
        .first()
        .into_iter()
        .chain(parameter.values.last());
    ends.copied().chain([parameter.usual]).collect()
}

/// What the emulator runs of each PTX module.
fn modules() -> HashMap<PtxText, Arc<Module>> {
    let set = PtxSet::embedded();
    let newest = PtxText::ALL.into_iter().filter_map(|module| {
        let ptx = set.newest_for(module, Emulator::SM).ok()?;
        let parsed = Module::parse(ptx).unwrap_or_else(|error| panic!("{module:?}: {error}"));
        Some((module, Arc::new(parsed)))
    });
    newest.collect()
}

/// Does something with each lesson, with some values of its parameter and each of a few lengths, or what the lesson takes of them.
fn each_launch(
    values: fn(&Parameter) -> Vec<u32>,
    lengths: impl Fn(&Lesson, Variant) -> Vec<usize> + Sync,
    act: impl Fn(&Lesson, Subject) + Sync,
) {
    let modules = modules();
    let lessons: Vec<&'static Lesson> = lessons().collect();
    lessons.into_par_iter().for_each(|lesson| {
        let module = &modules[&lesson.module];
        for variant in variants(lesson, values) {
            let reduction = lesson.reduction();
            let most = reduction.and_then(|reduction| reduction.most_elements(variant));
            let limited = |n: usize| most.map_or(n, |most| n.min(most as usize));
            let mut lengths: Vec<usize> =
                lengths(lesson, variant).into_iter().map(limited).collect();
            lengths.dedup();
            for n in lengths {
                let prepared =
                    PreparedLesson::new(lesson, variant, n, 7, Emulator::MULTIPROCESSORS)
                        .unwrap_or_else(|error| {
                            panic!("{}, {variant:?}, n {n}: {error}", lesson.id)
                        });
                let Some(case) = prepared.case() else {
                    // What moves elements by some places has nothing to do for fewer.
                    assert!(n == 1, "{}, {variant:?}, n {n}", lesson.id);
                    continue;
                };
                let subject = Subject::of_case(module, case)
                    .expect("the PTX is right")
                    .with_results_in_any_order(lesson.results_in_any_order());
                act(lesson, subject);
            }
        }
    });
}

#[test]
fn every_lesson_is_clean_but_the_exhibits_of_the_ladder() {
    // Many blocks of the smallest size. Of each other one, as many that some have a whole tile of eight elements a thread, and one has a cut
    // tile.
    let lengths = |_: &Lesson, variant: Variant| {
        let block = variant.block as usize;
        let most = if variant.block == BLOCK_SIZES[0] {
            12_345
        } else {
            12 * block + 57
        };
        vec![1, 63, 4 * block + 1, most]
    };
    each_launch(few, lengths, |lesson, mut subject| {
        let findings = subject.check(&Tool::WATCHING).expect("it runs");
        let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
        // Where a tile is cut below 64 sums, the exhibits take the tree of step 3, and are right.
        let launch = subject.launch();
        let is_whole = launch.grid[0] > 1;
        if lesson.exhibit.is_some() && is_whole {
            assert!(!findings.is_empty(), "{} {launch:?}", lesson.id);
            for finding in findings {
                assert_eq!(finding.tool, Tool::Racecheck, "{finding}");
            }
        } else if lesson.exhibit.is_none() {
            assert_eq!(shown, [""; 0], "{} {launch:?}", lesson.id);
        }
    });
}

#[test]
fn no_right_lesson_depends_on_the_schedule() {
    // Two blocks and a bit of the smallest size, so that 200 schedules of every kernel take seconds; a kernel for any block size
    // gets them with the smallest.
    let lengths = |lesson: &Lesson, variant: Variant| {
        let reduction = lesson.reduction();
        let each = reduction.map_or(4, |reduction| reduction.elements_per_thread(variant));
        vec![2 * BLOCK_SIZES[0] as usize * each as usize + 76]
    };
    let seen = Mutex::new(HashSet::new());
    each_launch(
        |parameter| vec![parameter.usual],
        lengths,
        |lesson, mut subject| {
            if lesson.exhibit.is_none() {
                let name = subject.kernel().name().to_owned();
                let is_new = seen.lock().expect("nobody panics with it").insert(name);
                let schedules = if is_new { 200 } else { 20 };
                assert_same_in(&mut subject, schedules);
            }
        },
    );
}

/// The kernels of `warpfold::sum`, of which a lesson shows one or two: with as few elements as here, `choose` would take most of them
/// for none.
#[test]
fn the_kernels_of_sums_are_clean_and_do_not_depend_on_the_schedule() {
    let module = &modules()[&flagship::MODULE];
    for entry in flagship::entries() {
        for n in [1, 63, 1_100, 12_345] {
            let mut subject = subject_of_sum(module, entry, n);
            let findings = subject.check(&Tool::WATCHING).expect("it runs");
            let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
            assert_eq!(shown, [""; 0], "{entry}, n {n}");
            if n == 1_100 {
                assert_same_in(&mut subject, 200);
            }
        }
    }
}

/// A launch of three blocks over small whole numbers, whose sum is the same in any order.
fn subject_of_sum(module: &Arc<Module>, entry: &str, n: usize) -> Subject {
    let mut memory = Memory::new();
    let program = Program::load(Arc::clone(module), &mut memory).expect("it loads");
    let kernel = program.kernel(entry).expect("it is there");
    let input: Vec<u8> = (0..n)
        .flat_map(|index| match entry.rsplit('_').next() {
            Some("i32") => (index as i32 % 7).to_le_bytes().to_vec(),
            Some("f32") => ((index % 7) as f32).to_le_bytes().to_vec(),
            Some("i64") => (index as i64 % 7).to_le_bytes().to_vec(),
            Some("f64") => ((index % 7) as f64).to_le_bytes().to_vec(),
            other => panic!("{entry} adds up {other:?}"),
        })
        .collect();
    let mut buffer = |contents: &[u8]| {
        let address = memory.allocate(contents.len()).expect("it fits");
        memory.write(address, contents).expect("it was allocated");
        address.to_le_bytes().to_vec()
    };
    let count = (n as u64).to_le_bytes().to_vec();
    let arguments = if entry.starts_with("deterministic") {
        // As many partial sums as there are virtual blocks.
        let partials = buffer(&[0; 8 * 1024]);
        let (total, counter) = (buffer(&[0; 8]), buffer(&[0; 8]));
        vec![buffer(&input), partials, count, total, counter]
    } else {
        let (total, next) = (buffer(&[0; 8]), buffer(&[1; 8]));
        vec![buffer(&input), total, count, next]
    };
    let launch = Launch {
        grid: [3, 1, 1],
        block: [if entry.contains("little") { 128 } else { 512 }, 1, 1],
        ..Launch::default()
    };
    Subject::new(kernel, memory, launch, arguments)
}

#[track_caller]
fn assert_same_in(subject: &mut Subject, schedules: u64) {
    let differing = subject
        .compare_orders((0..schedules).map(Order::Seed))
        .expect("it runs");
    assert!(differing.is_none(), "{differing:?}");
}

#[test]
fn the_last_warp_depends_on_the_schedule_unless_it_is_in_step() {
    warpfold(&[
        "check",
        "unroll_warps8",
        "--block",
        "64",
        "--schedules",
        "50",
        "-n",
        "4096",
    ])
    .assert()
    .code(1)
    .stdout(contains("result depends on the schedule"))
    .stdout(contains("seed"));
    warpfold(&[
        "check",
        "unroll_warps8_sync",
        "--block",
        "64",
        "--schedules",
        "200",
        "-n",
        "4096",
    ])
    .assert()
    .success()
    .stdout(contains("clean"));
}

#[test]
fn every_exhibit_has_its_diagnosis() {
    for exhibit in EXHIBITS {
        let assert = warpfold(&["check", exhibit.id, "--schedules", "100"])
            .assert()
            .code(1);
        let text = String::from_utf8(assert.get_output().stdout.clone()).expect("it is text");
        assert!(
            text.contains(&format!("\n{}: ", exhibit.tool)),
            "{} has no finding of {}: {text}",
            exhibit.id,
            exhibit.tool
        );
        insta::with_settings!({
            snapshot_path => repository().join("kernels/exhibits/diagnoses"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(exhibit.id, text);
        });
    }
}

#[test]
fn the_ptx_of_the_exhibits_is_that_of_their_catalogue() {
    let module = Module::parse(EXHIBITS_PTX).expect("it parses");
    let mut entries: Vec<&str> = module.entries().collect();
    let mut exhibits: Vec<&str> = EXHIBITS.iter().map(|exhibit| exhibit.id).collect();
    entries.sort_unstable();
    exhibits.sort_unstable();
    assert_eq!(entries, exhibits);
    for exhibit in EXHIBITS {
        assert!(
            repository().join(exhibit.file).is_file(),
            "{}",
            exhibit.file
        );
    }
}

#[test]
fn the_compiler_copies_no_barrier_into_branches() {
    // There is one in the source, between two tests of one condition.
    let module = Module::parse(EXHIBITS_PTX).expect("it parses");
    let source = module
        .function_source("cleared_too_late")
        .expect("it is there");
    assert_eq!(source.matches("bar.sync").count(), 1);
}

#[test]
fn any_ptx_can_be_checked_with_arguments_of_one_s_own() {
    let file = repository().join("kernels/ptx/exhibits.sm_80.ptx");
    let file = file.to_str().expect("the path is text");
    let arguments = |n: &'static str| {
        [
            "check",
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
            n,
        ]
    };
    warpfold(&arguments("u32:101"))
        .assert()
        .code(1)
        .stdout(contains("access out of bounds"));
    warpfold(&arguments("u32:100"))
        .assert()
        .success()
        .stdout(contains("clean"));
}

#[test]
fn json_has_every_finding_with_its_places() {
    let assert = warpfold(&[
        "check",
        "missing_barrier",
        "--tool",
        "racecheck",
        "--json",
        "-",
    ])
    .assert()
    .code(1);
    let json: Value = serde_json::from_slice(&assert.get_output().stdout).expect("it is JSON");
    assert_eq!(json["tools"], serde_json::json!(["racecheck"]));
    let findings = json["launches"][0]["findings"].as_array().expect("a list");
    let race = findings
        .iter()
        .find(|finding| finding["kind"] == "read after write")
        .expect("there is one");
    assert_eq!(race["memory"]["space"], "shared");
    assert_eq!(race["places"].as_array().map(Vec::len), Some(2));
    for place in race["places"].as_array().expect("a list") {
        let file = place["source"]["file"].as_str().expect("a name");
        assert!(file.ends_with("e01_missing_barrier.rs"), "{file}");
        assert!(place["ptx_line"].as_u64().is_some_and(|line| line > 0));
    }
}

#[test]
fn a_seed_reruns_one_schedule() {
    let run = || {
        let assert = warpfold(&["check", "first_come", "--seed", "3"])
            .assert()
            .code(1);
        String::from_utf8(assert.get_output().stdout.clone()).expect("it is text")
    };
    let text = run();
    assert!(
        text.contains("the fixed order leaves") && text.contains("seed 3 leaves"),
        "{text}"
    );
    assert_eq!(run(), text);
}

#[test]
fn bad_usage_is_refused_with_a_sentence() {
    for (arguments, culprit) in [
        (&["check"][..], "ID"),
        (
            &["check", "missing_barier"],
            "did you mean `missing_barrier`?",
        ),
        (&["check", "shuffle", "--tool", "leakcheck"], "leakcheck"),
        (&["check", "shuffle", "--schedules", "0"], "--schedules"),
        (&["check", "shuffle", "--block", "100"], "64, 128"),
        (&["check", "shuffle", "-n", "0"], "-n 1"),
        (
            &["check", "missing_barrier", "-n", "5"],
            "launch of its own",
        ),
        (
            &[
                "check", "--ptx", "none.ptx", "--kernel", "k", "--grid", "1", "--block", "32",
            ],
            "none.ptx",
        ),
        (&["check", "--ptx", "none.ptx"], "--kernel"),
    ] {
        warpfold(arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(culprit));
    }
}

#[test]
fn an_endless_loop_ends_at_the_limit_of_steps() {
    warpfold(&["check", "neighbored", "--max-steps", "1000"])
        .assert()
        .code(1)
        .stderr(contains("stopped after 1000 warp instructions"));
}
