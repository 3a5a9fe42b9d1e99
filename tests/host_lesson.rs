//! Every lesson about the host's side: right on the emulator for awkward numbers of elements, and on the first GPU where there is one.

use assert_cmd::Command;
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use warpfold::device::DeviceChoice;
use warpfold::{Device, Group};
use warpfold_course::host_lesson::{Cell, HOST_LESSONS, HostLesson, HostLessonError, Setting};
use warpfold_course::oracle::CPU_REFERENCES;
use warpfold_kernels::catalogue;

/// Elements of a tile of the kernel that most lessons launch: one more makes a second block.
const TILE: usize = 8 * 512;

fn main() {
    let arguments = Arguments::from_args();
    let has_gpu = Device::open(&DeviceChoice::Gpu(0)).is_ok();
    let tests: [(&str, fn()); 6] = [
        (
            "what_a_lesson_needs_is_a_lesson",
            what_a_lesson_needs_is_a_lesson,
        ),
        (
            "command::help_has_every_lesson_and_an_example",
            help_has_every_lesson_and_an_example,
        ),
        (
            "command::every_lesson_says_what_the_emulator_does_not_show",
            every_lesson_says_what_the_emulator_does_not_show,
        ),
        (
            "command::json_has_the_rows_of_the_table",
            json_has_the_rows_of_the_table,
        ),
        (
            "command::a_name_is_read_with_either_dash_or_in_short",
            a_name_is_read_with_either_dash_or_in_short,
        ),
        (
            "command::bad_input_is_one_sentence_with_status_2",
            bad_input_is_one_sentence_with_status_2,
        ),
    ];
    let mut trials: Vec<Trial> = tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        })
        .collect();
    for lesson in HOST_LESSONS {
        for (machine, choice) in [
            ("emulator", DeviceChoice::Emulator),
            ("gpu", DeviceChoice::Gpu(0)),
        ] {
            let is_ignored = choice != DeviceChoice::Emulator && !has_gpu;
            let name = format!("{machine}::{}", lesson.id);
            let trial = Trial::test(name, move || {
                every_sum_is_right(lesson, choice);
                Ok(())
            });
            trials.push(trial.with_ignored_flag(is_ignored));
        }
    }
    let trial = Trial::test("gpu::command::the_default_stream_takes_turns", || {
        the_default_stream_takes_turns();
        Ok(())
    });
    trials.push(trial.with_ignored_flag(!has_gpu));
    if !has_gpu {
        eprintln!("No GPU here: the tests named gpu::… are skipped, and counted as ignored.");
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn what_a_lesson_needs_is_a_lesson() {
    for lesson in HOST_LESSONS {
        for id in lesson.needs {
            let is_known = catalogue::find(id).is_some()
                || HOST_LESSONS.iter().any(|other| other.id == *id)
                || CPU_REFERENCES.iter().any(|reference| reference.id == *id);
            assert!(is_known, "{} needs {id}", lesson.id);
        }
    }
}

fn every_sum_is_right(lesson: &HostLesson, choice: DeviceChoice) {
    // Several emulated devices, or one GPU as if it were two.
    let choices = match (lesson.needs_group, choice) {
        (true, DeviceChoice::Emulator) => vec![choice; 3],
        (true, _) => vec![choice; 2],
        (false, _) => vec![choice],
    };
    let group = Group::open(&choices).expect("the devices open");
    let machine = &group.devices()[0];
    let setting = Setting {
        device: machine,
        group: Some(&group),
        n: Some(0),
        repeat: 2,
        seed: 7,
    };
    assert!(matches!(
        lesson.run(&setting),
        Err(HostLessonError::NoElements { .. })
    ));
    for n in [4, 5, 31, 511, TILE - 1, TILE, TILE + 1, 12_345] {
        let setting = Setting {
            n: Some(n),
            ..setting
        };
        let report = lesson
            .run(&setting)
            .unwrap_or_else(|error| panic!("n = {n}: {error}"));
        let verdicts: Vec<&Cell> = report
            .rows
            .iter()
            .flatten()
            .filter(|cell| matches!(cell, Cell::Right(Some(_))))
            .collect();
        assert!(verdicts.len() > 1, "n = {n}: nothing is compared");
        assert!(report.is_right(), "n = {n}: {:?}", report.rows);
        let is_timed = report.rows.iter().flatten().any(|cell| {
            matches!(
                cell,
                Cell::Milliseconds(Some(_)) | Cell::Microseconds(Some(_))
            )
        });
        assert_eq!(is_timed, machine.is_gpu(), "n = {n}");
        // Where blocks fit, and how instructions scale, is known without a GPU; where kernels stand under the roof is measured.
        let is_drawn =
            lesson.has_picture && (is_timed || ["residency", "scaling"].contains(&lesson.id));
        assert_eq!(report.picture.is_some(), is_drawn);
        assert!(is_timed || report.timelines.is_empty(), "n = {n}");
        for timeline in &report.timelines {
            let spans = timeline.lanes.iter().flat_map(|lane| &lane.spans);
            for span in spans {
                assert!(span.start_ms >= 0.0, "n = {n}: {timeline:?}");
                assert!(span.end_ms >= span.start_ms, "n = {n}: {timeline:?}");
            }
        }
    }
}

/// In a process of its own: the default stream would wait for the streams of other tests.
fn the_default_stream_takes_turns() {
    let arguments = ["default_stream", "--device", "gpu", "--json", "-"];
    let results: Value = serde_json::from_str(&output_of(&arguments)).expect("it is JSON");
    let rows = results["rows"].as_array().expect("there are rows");
    let at_once = |row: usize| rows[row]["at_once"].as_u64();
    for (row, is_trap) in [true, false, false, true, false].into_iter().enumerate() {
        assert_eq!(at_once(row) == Some(1), is_trap, "{results}");
    }
    let timelines = results["timelines"]
        .as_array()
        .expect("there are timelines");
    assert_eq!(timelines.len(), rows.len());
}

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command
        .arg("host-lesson")
        .args(arguments)
        .env("NO_COLOR", "1");
    command
}

#[track_caller]
fn output_of(arguments: &[&str]) -> String {
    let assert = warpfold(arguments).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("the output is text")
}

fn help_has_every_lesson_and_an_example() {
    let help = output_of(&["--help"]);
    assert!(
        help.contains("Examples:\n  warpfold host-lesson "),
        "{help}"
    );
    for lesson in HOST_LESSONS {
        assert!(help.contains(lesson.id), "{}: {help}", lesson.id);
    }
}

fn every_lesson_says_what_the_emulator_does_not_show() {
    for lesson in HOST_LESSONS {
        let output = output_of(&[lesson.id, "--device", "emulator", "-n", "5000"]);
        // What a GPU showed once comes last.
        let output = output.split("\nRecorded on ").next().unwrap_or_default();
        for text in [lesson.change, lesson.not_shown, "right"] {
            assert!(output.contains(text), "{}: {output}", lesson.id);
        }
        assert!(!output.contains("µs"), "{}: {output}", lesson.id);
        assert!(!output.contains(lesson.see), "{}: {output}", lesson.id);
    }
}

fn json_has_the_rows_of_the_table() {
    let arguments = [
        "two-stage",
        "--device",
        "emulator",
        "-n",
        "5000",
        "--json",
        "-",
    ];
    let results: Value = serde_json::from_str(&output_of(&arguments)).expect("it is JSON");
    assert_eq!(results["id"], "two_stage");
    assert_eq!(results["n"], 5000);
    assert_eq!(results["repeat"], Value::Null);
    let rows = results["rows"].as_array().expect("there are rows");
    assert_eq!(rows[0]["downloaded"], 2);
    assert_eq!(rows[1]["downloaded"], 1);
    for row in rows {
        assert_eq!(row["right"], true);
        assert_eq!(row["elapsed_us"], Value::Null);
    }
}

fn a_name_is_read_with_either_dash_or_in_short() {
    for name in ["l2", "l2-persistence", "l2_persistence"] {
        let output = output_of(&[name, "--device", "emulator", "-n", "100"]);
        assert!(output.contains("persisting"), "{output}");
    }
}

fn bad_input_is_one_sentence_with_status_2() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let svg = folder.path().join("picture.svg");
    let svg = svg.to_str().expect("the path is text");
    for (arguments, culprit) in [
        (&["tranfers"][..], "did you mean `transfers`"),
        (
            &["transfers", "-n", "0"],
            "`transfers` has nothing to show for 0 elements",
        ),
        (&["roofline", "-n", "3"], "words of 4 elements"),
        (&["streams", "--svg", svg], "`streams` has no picture"),
        (
            &["roofline", "--svg", svg],
            "`roofline` draws what a GPU measures",
        ),
        (&["graph", "--repeat", "0"], "'0'"),
    ] {
        let arguments = [arguments, &["--device", "emulator"]].concat();
        let assert = warpfold(&arguments).assert().code(2).stdout("");
        let sentence = String::from_utf8_lossy(&assert.get_output().stderr);
        assert!(sentence.contains(culprit), "{sentence}");
    }
    assert!(!std::path::Path::new(svg).exists());
}
