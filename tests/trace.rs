//! Pictures of small launches: what they show, and what is refused.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeSet;
use warpfold_kernels::catalogue::{Finish, Lesson, Part, lessons_of};

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.arg("trace").args(arguments).env("NO_COLOR", "1");
    command
}

/// Compares a picture with its snapshot. What it quotes of a page is left out: prose added to the page moves the line, and a longer
/// number leaves less room for its text.
fn assert_picture(name: &str, text: String) {
    insta::with_settings!({filters => vec![(r"\.rs:\d+ .*", ".rs:LINE")]}, {
        insta::assert_snapshot!(name, text);
    });
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
        assert_picture(lesson, text);
    }
}

#[test]
fn a_cut_tile_leaves_threads_idle() {
    assert_picture("cut_tile", picture(&["interleaved", "-n", "13"]));
}

#[test]
fn rows_of_the_input_stand_above_each_other() {
    assert_picture("unroll2", picture(&["unroll2"]));
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
        assert_picture(lesson, text);
    }
}

/// Who reads the partials and the counter of a launch that finishes on its own, and who writes the total.
#[test]
fn launches_that_finish_on_their_own_as_text() {
    for lesson in ["single_pass", "flagship", "naive_atomic"] {
        assert_picture(lesson, picture(&[lesson]));
    }
    assert_picture("grid_sync", picture(&["grid_sync"]));
}

/// By default the blocks that a kernel takes whose lanes exchange values, and so the CPU's result.
#[test]
fn kernels_of_whole_warps_are_drawn_with_whole_warps() {
    for lesson in [
        "warp_shuffle_xor",
        "warp_shuffle_down",
        "warp_aggregated_atomic",
        "shuffle_sum_i32",
        "vectorized_sum_i32",
        "single_pass_sum_i32",
        "flagship_bulk",
    ] {
        let json: Value = serde_json::from_str(&picture(&[lesson, "--json", "-"])).expect("JSON");
        assert!(json["mistake"].is_null(), "{lesson}: {}", json["mistake"]);
        warpfold(&[lesson, "--block", "8"])
            .assert()
            .code(2)
            .stderr(contains("needs blocks of 32 threads or more"));
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
    let end = entry + text[entry..].find("\n}").expect("it ends");
    let addition = entry + text[entry..end].rfind("add.s32").expect("it adds");
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
        let read: BTreeSet<u64> = work()
            .filter(|work| work["is_used"] == true)
            .flat_map(|work| work["reads"].as_array().expect("reads"))
            .filter_map(|cell| cell["input"].as_u64())
            .collect();
        assert_eq!(
            read,
            (0..n as u64).collect(),
            "{}: each element has been read for the total",
            lesson.id
        );
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
            let work = last.expect("there are steps")["work"].as_array();
            let writes = work.expect("threads work").iter();
            let mut writes = writes.flat_map(|work| work["writes"].as_array().expect("writes"));
            let write = writes.find(|write| write["cell"]["partials"].is_u64());
            let write = write.unwrap_or_else(|| panic!("{} leaves no partial", lesson.id));
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
    // The ground, the cells before the launch and after three steps, the partial results, and the legend.
    assert_eq!(count("rect"), 1 + 4 * 16 + 2 + 1);
    for text in [
        "interleaved",
        "0,2…6",
        "partials[1] = 100",
        "8 of 16 threads (50 %)",
    ] {
        assert!(document.lines().any(|line| line == text), "{text}");
    }
}

#[test]
fn an_svg_needs_nothing_from_outside_and_has_a_ground_of_its_own() {
    for lesson in ["unroll_warps8_sync", "bank_stride", "single_pass"] {
        let elements = elements(&svg(&[lesson]));
        for (name, attributes) in &elements {
            for key in attributes.keys() {
                assert!(!key.contains("href") && key != "style", "{name} {key}");
            }
        }
        let of_sheet = |key: &str| elements[0].1[key].clone();
        let ground = elements.iter().find(|(name, _)| name == "rect");
        let (_, ground) = ground.expect("there is a ground");
        assert_eq!(
            (&ground["width"], &ground["height"]),
            (&of_sheet("width"), &of_sheet("height")),
            "{lesson}"
        );
    }
}

/// What one block does alone is drawn beside what all do, and who does the same is counted.
#[test]
fn blocks_that_differ_are_drawn_and_others_are_folded() {
    for (lesson, expected) in [
        (
            "single_pass",
            &[
                "and 1 block like this",
                "the last to finish",
                "total = 4720128",
            ][..],
        ),
        (
            "grid_sync",
            &["the grid's barrier", "partials[2]", "total = 4720128"],
        ),
        ("flagship", &["total = 8390656", "next total = 0"]),
        ("flagship_bulk", &["the last to add", "total = 4720128"]),
        ("block_group", &["the last to add", "total = 2098176"]),
        ("warp_scan", &["and 1 block like this", "totals[0] = "]),
        (
            "columns_by_threads",
            &["1 block of 64 threads", "counter = 0"],
        ),
        (
            "vectorized",
            &["global[0…127], 4 a lane", "and 1 block like this"],
        ),
    ] {
        let (text, document) = (picture(&[lesson]), svg(&[lesson]));
        for words in expected {
            assert!(text.contains(words), "{lesson}: {words}\n{text}");
            assert!(document.contains(words), "{lesson}: {words}");
        }
    }
    // Too narrow for the names of its cells.
    assert!(svg(&["rows_by_threads"]).contains("32 cells"));
    // 2³² in a word of 32 bits.
    assert!(svg(&["grid_sync"]).contains("counter = 0"));
    let many = picture(&["interleaved", "-n", "256", "--block", "8"]);
    assert!(many.contains("and 31 blocks like this"), "{many}");
}

/// Active warps in each step of the tree.
#[test]
fn each_step_says_how_many_warps_are_active() {
    let text = picture(&["interleaved", "-n", "256", "--block", "256"]);
    for line in [
        "4 of 8 warps (50 %)",
        "2 of 8 warps (25 %)",
        "1 of 8 warps (12 %)",
        "128 of 256 threads (50 %)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = picture(&["neighbored", "-n", "256", "--block", "256"]);
    assert!(
        text.contains("64 of 256 threads (25 %), 8 of 8 warps (100 %)"),
        "{text}"
    );
}

/// Sectors of global memory, and banks of shared memory.
#[test]
fn memory_lessons_show_sectors_and_banks() {
    for (arguments, expected) in [
        (
            &["copy_offset"][..],
            "5 sectors of 32 bytes, 80 % of them wanted",
        ),
        (
            &["copy_offset", "--set", "offset=8"],
            "4 sectors of 32 bytes, 100 % of them wanted",
        ),
        (
            &["copy_stride", "--set", "stride=8", "-n", "1024"],
            "32 sectors of 32 bytes, 12 % of them wanted",
        ),
        (
            &["in_flight"],
            "16 sectors of 32 bytes, 100 % of them wanted; and 15 more like this",
        ),
        (&["in_flight"], "1 lane × 4 bytes: 1 sector of 32 bytes"),
        (
            &["constant_uniform"],
            "1 word, which all of them get at once; and 15 more like this",
        ),
        (&["constant_scattered"], "16 turns"),
        (&["bank_stride"], "2 wavefronts"),
        (&["bank_stride", "--set", "stride=32"], "32 wavefronts"),
        (&["reverse_static"], "32 banks, one word of each"),
    ] {
        let words: String = picture(arguments)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(words.contains(expected), "{arguments:?}: {words}");
        assert!(svg(arguments).contains("sector"), "{arguments:?}");
    }
}

/// Parents above children, each where its blocks' elements are.
#[test]
fn grids_that_kernels_launch_are_a_tree() {
    for lesson in ["nested_sync", "nested_nosync", "nested_fixed"] {
        assert_picture(lesson, picture(&[lesson]));
    }
    let document = svg(&["recursive_hello"]);
    for words in [
        "generation 2",
        "grid 6: 2 blocks of 64 threads",
        "by thread 0 of block 1 of grid 2",
    ] {
        assert!(document.contains(words), "{words}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_limit() {
    for (arguments, culprit) in [
        (&["interleaved", "-n", "0"][..], "use -n 1 or more"),
        (&["interleaved", "-n", "4097"], "use -n 4096 or fewer"),
        (&["interleaved", "-n", "2^60"], "use -n 4096 or fewer"),
        (&["blocked", "-n", "17"], "use -n 16 or fewer"),
        (&["copy_offset", "--block", "32"], "use one of 64"),
        (&["histogram_global"], "has no picture"),
        (&["shuffle", "--block", "8"], "use --block 64"),
        (&["warp_shuffle_xor", "--block", "8"], "use --block 32"),
        (&["flagship_bulk", "--block", "16"], "use --block 32"),
        (&["interleaved", "--block", "12"], "not of 12"),
        (&["interleaved", "--block", "2048"], "not of 2048"),
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
