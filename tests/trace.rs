//! Pictures of small launches: what they show, and what is refused.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use warpfold_kernels::catalogue::{Entries, Finish, Lesson, Part, lessons, lessons_of};

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.arg("trace").args(arguments).env("NO_COLOR", "1");
    command
}

/// What the command prints on success.
#[track_caller]
fn picture(arguments: &[&str]) -> String {
    let assert = warpfold(arguments).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("the picture is text")
}

/// The picture as SVG.
#[track_caller]
fn svg(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("picture.svg");
    let path = file.to_str().expect("the path is text");
    picture(&[arguments, &["--svg", path]].concat());
    std::fs::read_to_string(file).expect("the picture is written")
}

/// The elements of an SVG document by name and attributes, which also proves it well-formed.
fn elements(document: &str) -> Vec<(String, svg::node::Attributes)> {
    let mut elements = Vec::new();
    for event in svg::read(document).expect("the document is readable") {
        match event {
            svg::parser::Event::Tag(name, _, attributes) => {
                elements.push((name.to_owned(), attributes));
            }
            svg::parser::Event::Error(error) => panic!("{error}"),
            _ => {}
        }
    }
    elements
}

#[test]
fn the_trees_of_the_first_three_steps_as_text() {
    for lesson in ["neighbored", "neighbored_less", "interleaved"] {
        let text = picture(&[lesson, "-n", "16", "--block", "8"]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        insta::assert_snapshot!(lesson, text);
    }
}

#[test]
fn a_cut_tile_leaves_threads_idle() {
    insta::assert_snapshot!("cut_tile", picture(&["interleaved", "-n", "13"]));
}

#[test]
fn rows_of_the_input_stand_above_each_other() {
    insta::assert_snapshot!("unroll2", picture(&["unroll2"]));
}

#[test]
fn whole_warps_as_text() {
    for lesson in [
        "unroll_warps8",
        "unroll_warps8_sync",
        "complete_unroll_shared",
        "shuffle",
    ] {
        let text = picture(&[lesson]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        insta::assert_snapshot!(lesson, text);
    }
}

/// Who reads the partials and the counter of a launch that finishes on its own, and who writes the total.
#[test]
fn launches_that_finish_on_their_own_as_text() {
    for lesson in ["single_pass", "flagship", "naive_atomic"] {
        insta::assert_snapshot!(lesson, picture(&[lesson]));
    }
    insta::assert_snapshot!("grid_sync", picture(&["grid_sync"]));
}

/// By default the blocks that a lesson's kernels take, and by those the CPU's result.
#[test]
fn every_reduction_is_right_at_its_usual_size_and_at_the_least_block() {
    for lesson in lessons().filter(|lesson| lesson.reduction().is_some()) {
        let is_right = |arguments: &[&str]| {
            let json: Value = serde_json::from_str(&picture(arguments)).expect("JSON");
            assert!(
                json["mistake"].is_null(),
                "{arguments:?}: {}",
                json["mistake"]
            );
        };
        is_right(&[lesson.id, "--json", "-"]);
        if !matches!(lesson.entries, Entries::PerBlock(_)) {
            let least = lesson.least_block.max(2).to_string();
            is_right(&[lesson.id, "--block", &least, "--json", "-"]);
        }
    }
}

/// Step 3 with a subtraction in the place of its addition.
#[test]
fn a_wrong_result_is_drawn_and_exits_with_1() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../kernels/ptx/kernels.sm_70.ptx"
    );
    let text = std::fs::read_to_string(file).expect("the PTX is committed");
    let entry = text.find("entry interleaved(").expect("step 3");
    let addition = entry + text[entry..].find("add.s32").expect("it adds");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wrong = [
        &text[..addition],
        "sub.s32",
        &text[addition + "add.s32".len()..],
    ]
    .concat();
    std::fs::write(folder.path().join("kernels.sm_70.ptx"), wrong).expect("written");
    let path = folder.path().to_str().expect("the path is text");
    warpfold(&["interleaved", "-n", "8", "--ptx-dir", path])
        .assert()
        .code(1)
        .stdout(contains("step 1"))
        .stderr(contains("`interleaved` gives").and(contains("which should be 36")));
}

#[test]
fn a_step_without_a_barrier_is_one_where_racecheck_finds_a_race() {
    for (lesson, expected) in [
        ("unroll_warps8", true),
        ("complete_unroll", true),
        ("unroll_warps8_sync", false),
        ("flagship_bulk", false),
        ("warp_shuffle_down", false),
    ] {
        assert_eq!(
            picture(&[lesson]).contains("without a barrier"),
            expected,
            "{lesson}"
        );
    }
}

#[test]
fn every_launch_that_leaves_a_total_ends_its_picture_with_the_right_one() {
    let leaves_total = |lesson: &&Lesson| {
        lesson.reduction().is_some_and(|reduction| {
            matches!(
                reduction.finish,
                Finish::Total | Finish::TotalInTurns | Finish::OneLaunch
            )
        })
    };
    let lessons = [Part::Ladder, Part::Roads].map(lessons_of);
    let mut seen = 0;
    for lesson in lessons.into_iter().flatten().filter(leaves_total) {
        let json: Value = serde_json::from_str(&picture(&[lesson.id, "--json", "-"]))
            .expect("the picture has a JSON form");
        let n = json["n"].as_f64().expect("n is a number");
        let blocks = json["blocks"].as_array().expect("there are blocks");
        let steps = || {
            blocks
                .iter()
                .flat_map(|block| block["steps"].as_array().expect("steps"))
        };
        let work = || steps().flat_map(|step| step["work"].as_array().expect("work"));
        let total = work()
            .flat_map(|work| work["writes"].as_array().expect("writes"))
            .filter(|write| write["cell"]["total"].is_u64())
            .filter_map(|write| write["content"]["value"].as_f64())
            .fold(f64::NAN, f64::max);
        assert_eq!(total, n * (n + 1.0) / 2.0, "{}", lesson.id);
        for (number, step) in steps().enumerate() {
            let work = step["work"].as_array().expect("work");
            let is_used = |work: &Value| work["is_used"] == true;
            assert!(
                work.is_empty() || work.iter().any(is_used),
                "{}: step {number} is all in vain",
                lesson.id
            );
        }
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

/// What a register held before is no longer to be seen: no grey line may come from there.
#[test]
fn lines_of_work_in_vain_come_from_the_step_before() {
    for lesson in ["single_pass", "grid_sync"] {
        let mut lines = 0;
        for (name, attributes) in elements(&svg(&[lesson])) {
            let length = |name: &str| -> f64 { attributes[name].parse().expect("a number") };
            // The rows of the input are above.
            if name == "line" && *attributes["stroke"] == *"#c9c9c9" && length("y1") > 350.0 {
                lines += 1;
                assert!(
                    length("y2") - length("y1") < 150.0,
                    "{lesson}: {attributes:?}"
                );
            }
        }
        assert!(lines > 100, "{lesson}: {lines}");
    }
}

/// Whatever a step leaves behind, its picture has all elements, and work of every block.
#[test]
fn every_step_of_the_ladder_has_a_picture() {
    for lesson in lessons_of(Part::Ladder) {
        let json: Value = serde_json::from_str(&picture(&[lesson.id, "--json", "-"]))
            .expect("the picture has a JSON form");
        let n = json["n"].as_u64().expect("n is a number");
        assert_eq!(json["input"].as_array().map(Vec::len), Some(n as usize));
        let blocks = json["blocks"].as_array().expect("there are blocks");
        let has_steps = |block: &Value| {
            block["steps"]
                .as_array()
                .is_some_and(|steps| !steps.is_empty())
        };
        assert!(
            !blocks.is_empty() && blocks.iter().all(has_steps),
            "{}",
            lesson.id
        );
    }
}

#[test]
fn every_step_that_leaves_partials_ends_its_picture_with_the_right_ones() {
    let leaves_partials = |lesson: &&Lesson| {
        let reduction = lesson.reduction();
        reduction.is_some_and(|reduction| reduction.finish == Finish::PartialPerBlock)
    };
    for lesson in lessons_of(Part::Ladder).iter().filter(leaves_partials) {
        let json: Value = serde_json::from_str(&picture(&[lesson.id, "--json", "-"]))
            .expect("the picture has a JSON form");
        let n = json["n"].as_f64().expect("n is a number");
        let blocks = json["blocks"].as_array().expect("there are blocks");
        let partials = blocks.iter().map(|block| {
            let last = block["steps"].as_array().and_then(|steps| steps.last());
            let write = &last.expect("there are steps")["work"][0]["writes"][0];
            assert!(write["cell"]["partials"].is_u64(), "{}: {write}", lesson.id);
            let elements = write["content"]["elements"].as_array();
            assert_eq!(
                elements.map(Vec::len),
                Some(n as usize / blocks.len()),
                "{}: all elements of the block are in its partial sum",
                lesson.id
            );
            write["content"]["value"].as_f64().expect("it is a number")
        });
        assert_eq!(partials.sum::<f64>(), n * (n + 1.0) / 2.0, "{}", lesson.id);
    }
}

#[test]
fn an_svg_shows_every_thread_in_every_step() {
    let document = svg(&["interleaved", "-n", "16", "--block", "8"]);
    let elements = elements(&document);
    let count = |name: &str| elements.iter().filter(|(other, _)| other == name).count();
    assert_eq!(count("circle"), 4 * 16 + 2, "four steps, and the legend");
    assert_eq!(count("polygon"), 8 + 4 + 2 + 2, "an arrow for each write");
    // The background, the cells before the launch and behind three steps, the partial results, and the legend.
    assert_eq!(count("rect"), 1 + 4 * 16 + 2 + 1);
    for text in [
        "interleaved",
        "0,2…6",
        "partials[1]",
        "8 of 16 threads work",
    ] {
        assert!(document.lines().any(|line| line == text), "{text}");
    }
}

#[test]
fn an_svg_needs_nothing_from_outside_and_keeps_to_its_edges() {
    for lesson in ["unroll_warps8_sync", "complete_unroll_shared", "shuffle"] {
        let document = svg(&[lesson]);
        let elements = elements(&document);
        let length = |attributes: &svg::node::Attributes, name: &str| -> f64 {
            let text = attributes.get(name).map_or("0", |value| value);
            text.parse().expect("lengths are numbers")
        };
        let (name, sheet) = &elements[0];
        assert_eq!(name, "svg");
        let (width, height) = (length(sheet, "width"), length(sheet, "height"));
        for (name, attributes) in &elements[1..] {
            for key in attributes.keys() {
                assert!(!key.contains("href") && key != "style", "{name} {key}");
            }
            for (key, most) in [
                ("x", width),
                ("x1", width),
                ("x2", width),
                ("cx", width),
                ("y", height),
                ("y1", height),
                ("y2", height),
                ("cy", height),
            ] {
                assert!(
                    (0.0..=most).contains(&length(attributes, key)),
                    "{name} {key}"
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_limit() {
    for (arguments, culprit) in [
        (&["interleaved", "-n", "0"][..], "use -n 1 or more"),
        (
            &["interleaved", "-n", "1000", "--block", "8"],
            "use -n 64 or fewer",
        ),
        (&["interleaved", "-n", "2^60"], "use -n 64 or fewer"),
        (&["shuffle", "-n", "513"], "use -n 512 or fewer"),
        (&["shuffle", "--block", "8"], "use --block 64"),
        (&["warp_shuffle_xor", "--block", "8"], "use --block 32"),
        (&["flagship_bulk", "--block", "16"], "use --block 32"),
        (&["interleaved", "--block", "12"], "not of 12"),
        (&["interleaved", "--block", "128"], "not of 128"),
        (&["interleaved", "--block", "0"], "not of 0"),
        (&["interleavd"], "did you mean `interleaved`?"),
        (
            &["interleaved", "--svg", "no/such/folder/x.svg"],
            "cannot write no/such/folder/x.svg",
        ),
    ] {
        warpfold(arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(culprit).and(contains("warpfold: ")));
    }
}
