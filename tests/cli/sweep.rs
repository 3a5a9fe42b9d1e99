//! `warpfold sweep`.

use super::*;

const EMULATOR: [&str; 3] = ["sweep", "--device", "emulator"];

fn sweep<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&EMULATOR[..], arguments].concat()
}

/// The lines of a CSV file by the names in its first.
fn csv_of(path: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("the file is there");
    let rows = reader.deserialize();
    rows.collect::<Result<_, _>>().expect("the file is CSV")
}

#[test]
fn the_ladder_and_the_library_are_swept_and_written_alike_everywhere() {
    let scratch = Scratch::new();
    let (csv, svg) = (scratch.name("sweep.csv"), scratch.name("sweep.svg"));
    let json = json_of(&sweep(&[
        "--sizes",
        "2^10..2^12,3",
        "--block",
        "128",
        "--csv",
        &csv,
        "--svg",
        &svg,
    ]));
    assert_eq!(json["sizes"], serde_json::json!([3, 1024, 2048, 4096]));
    assert_eq!(json["on_gpu"], false);
    assert!(
        json["ptx_compiler"]
            .as_str()
            .is_some_and(|text| text.contains("rustc"))
    );
    let names: Vec<&str> = lessons_of(Part::Ladder)
        .iter()
        .map(|lesson| lesson.id)
        .chain(["warpfold::sum"])
        .collect();
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4 * names.len());
    let lines = csv_of(Path::new(&csv));
    assert_eq!(lines.len(), rows.len());
    for (row, line) in rows.iter().zip(&lines) {
        assert_eq!(row["figures"]["is_right"], true, "{row}");
        assert_eq!(row["id"], line["kernel"]);
        assert_eq!(row["n"].to_string(), line["n"]);
        let counters = &row["figures"]["emulator"]["counters"];
        for name in ["warp_instructions", "global_sectors"] {
            assert!(counters[name].as_u64() > Some(0), "{row}");
            assert_eq!(counters[name].to_string(), line[name]);
        }
        assert_eq!(line["median_ms"], "", "the emulator has no times");
    }
    let svg = std::fs::read_to_string(svg).expect("the picture is there");
    for name in names.into_iter().chain(["2¹⁰", "2¹²"]) {
        assert!(svg.contains(name), "{name}");
    }
}

#[test]
fn tables_have_kernels_down_and_sizes_across() {
    let output = output_of(&sweep(&[
        "shuffle", "sum", "shuffle", "--sizes", "1K..4K*4",
    ]));
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let tables: Vec<Vec<String>> = output.lines().map(words).collect();
    let head = tables
        .iter()
        .position(|words| words.first().is_some_and(|word| word == "warp"))
        .expect("a table of instructions");
    assert_eq!(tables[head][2..], ["2^10", "2^12"]);
    assert_eq!(tables[head + 2][0], "shuffle");
    assert_eq!(tables[head + 3][0], "warpfold::sum");
    assert_eq!(tables[head + 2].len(), 3);
    assert!(!output.contains("GB/s"), "{output}");
}

#[test]
fn another_operator_and_type_have_kernels_of_their_own() {
    let ids = |arguments: &[&str]| -> Vec<String> {
        let json = json_of(&sweep(arguments));
        let rows = json["rows"].as_array().expect("rows").clone();
        assert!(
            rows.iter().all(|row| row["figures"]["is_right"] == true),
            "{json}"
        );
        rows.iter()
            .map(|row| row["id"].as_str().expect("a name").to_owned())
            .collect()
    };
    let maxima = ids(&["--op", "max", "--type", "f32", "--sizes", "1000"]);
    assert!(
        !maxima.is_empty() && maxima.iter().all(|id| id.ends_with("max_f32")),
        "{maxima:?}"
    );
    let sums = ids(&["--type", "f64", "--sizes", "1000"]);
    assert!(sums.contains(&"warpfold::sum".to_owned()), "{sums:?}");
    assert_eq!(
        ids(&["sum", "--type", "u64", "--sizes", "77"]),
        ["warpfold::sum"]
    );
    let first = ids(&["shuffle_sum_f32", "sum", "--sizes", "5000"]);
    assert_eq!(first, ["shuffle_sum_f32", "warpfold::sum"]);
}

#[test]
fn what_a_kernel_does_not_take_is_named_and_left_out() {
    // One block, which takes this many elements at most.
    let one_block = lessons()
        .find(|lesson| {
            let reduction = lesson.reduction();
            reduction.is_some_and(|reduction| reduction.most_elements(lesson.usual(64)).is_some())
        })
        .expect("a lesson of one block");
    let arguments = [one_block.id, "--block", "64", "--sizes", "64,2^20,2^21"];
    let json = json_of(&sweep(&arguments));
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["left_out"][0]["id"], one_block.id);
    assert_eq!(
        json["left_out"][0]["sizes"],
        serde_json::json!([1 << 20, 1 << 21])
    );
    let output = output_of(&sweep(&arguments));
    assert!(
        output.contains(&format!("left out: `{}` at 2^20, 2^21", one_block.id)),
        "{output}"
    );
    refuses(
        &sweep(&[one_block.id, "--block", "64", "--sizes", "2^20"]),
        "nothing to sweep: left out",
    );
}

#[test]
fn bad_requests_are_one_sentence_with_status_2() {
    for (arguments, culprit) in [
        (&["shufle"][..], "did you mean `shuffle`?"),
        (&["recursive_hello"], "reduces nothing"),
        (&["--sizes", "2^20..2^10"], "is no range of sizes"),
        (&["--sizes", "0"], "a size of 0"),
        (&["--sizes", "many"], "'many' is not a size"),
        (&["--sizes", "2^60"], "not enough memory"),
        (
            &["shuffle", "--type", "f32"],
            "`shuffle` is built for the sum of i32 values",
        ),
        (
            &["shuffle", "shuffle_sum_f32"],
            "`shuffle_sum_f32` is built for the sum of f32 values",
        ),
        (&["sum", "--op", "max"], "`warpfold::sum` is built for sums"),
        (&["copy_offset", "shuffle"], "sweep it by itself"),
        (
            &["copy_stride", "--type", "f32"],
            "leave --op and --type out",
        ),
        (
            &["bank_stride", "--sizes", "1K,2K"],
            "`bank_stride` is swept over its parameter; give --sizes one number",
        ),
        (&["--op", "mean"], "no kernel makes a mean by itself"),
        (&["--block", "100"], "use one of 64, 128, 256, 512, 1024"),
        (&["--csv", "/no/such/folder/x.csv"], "there is no folder"),
        (&["--svg", "/no/such/folder/x.svg"], "there is no folder"),
    ] {
        refuses(&sweep(arguments), culprit);
    }
}

/// What each access of a whole warp costs, as the lessons' pages say.
#[test]
fn a_lesson_about_addresses_is_swept_over_its_parameter() {
    fn gcd(one: u32, other: u32) -> u32 {
        if other == 0 {
            one
        } else {
            gcd(other, one % other)
        }
    }
    type Cost = fn(u32) -> u32;
    let swept: [(&str, &str, Cost); 3] = [
        ("copy_offset", "offset", |offset| {
            if offset.is_multiple_of(8) { 4 } else { 5 }
        }),
        ("copy_stride", "stride", |stride| 4 * stride.min(8)),
        ("bank_stride", "stride", |stride| gcd(stride, 32) - 1),
    ];
    for (id, parameter, right) in swept {
        let scratch = Scratch::new();
        let (csv, svg) = (scratch.name("sweep.csv"), scratch.name("sweep.svg"));
        // Whole warps, whatever the offset or stride.
        let arguments = [
            id, "--sizes", "2^16", "--block", "128", "--csv", &csv, "--svg", &svg,
        ];
        let json = json_of(&sweep(&arguments));
        assert_eq!((&json["id"], &json["n"]), (&id.into(), &(1 << 16).into()));
        assert_eq!(json["parameter"], parameter);
        let values = lessons()
            .find(|lesson| lesson.id == id)
            .and_then(|lesson| lesson.parameter)
            .expect("it has one")
            .values;
        let rows = json["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), values.len());
        let lines = csv_of(Path::new(&csv));
        assert_eq!(lines.len(), values.len());
        for ((row, line), &value) in rows.iter().zip(&lines).zip(values) {
            assert_eq!(row["value"], value);
            assert_eq!(row["is_right"], true, "{row}");
            assert_eq!(row["gpu"], Value::Null);
            let counted = row["per_request"].as_f64().expect("a number");
            // The last warp lacks lanes, of some hundreds of warps.
            let difference = (counted - f64::from(right(value))).abs();
            assert!(difference < 0.5, "{id} {value}: {counted}");
            let column = if id == "bank_stride" {
                "bank_conflicts_per_request"
            } else {
                "sectors_per_request"
            };
            let in_csv: f64 = line[column].parse().expect("a number");
            assert!((in_csv - counted).abs() < 1e-9, "{line:?}");
        }
        let svg = std::fs::read_to_string(svg).expect("the picture is there");
        for text in [id, parameter, "per request", "30"] {
            assert!(svg.contains(text), "{id}: {text}");
        }
        let output = output_of(&sweep(&[id, "--sizes", "1000"]));
        assert!(!output.contains("GB/s"), "{output}");
        assert_eq!(output.matches("right").count(), values.len(), "{output}");
    }
}
