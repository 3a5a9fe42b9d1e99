//! What the documents show is what the committed record gives; and what a record gives.

use super::figures::OfType;
use super::record::{LeftOut, Place};
use super::*;

/// The record that the documents show.
fn committed() -> Record {
    read(&crate::repository().join("peers/results/h200.json")).expect("the record is committed")
}

fn file(name: &str) -> String {
    fs::read_to_string(crate::repository().join(name)).expect("the file is committed")
}

#[test]
fn the_documents_show_the_committed_record() {
    for (document, block) in DOCUMENTS {
        let text = file(document);
        let written =
            blocks::with_block(&text, "results", &block(&committed())).expect("it has the block");
        assert!(
            text == written,
            "{document} is out of date: `cargo xtask results peers/results/h200.json` writes it anew"
        );
    }
}

#[test]
fn the_recorded_ladder_is_that_of_the_committed_record() {
    assert!(
        file(LADDER) == ladder(&committed()),
        "`cargo xtask results peers/results/h200.json` writes {LADDER} anew"
    );
}

#[test]
fn the_picture_is_that_of_the_committed_record() {
    assert!(
        file(PICTURE) == picture::svg(&committed()).expect("it can be drawn"),
        "`cargo xtask results peers/results/h200.json` draws it anew"
    );
}

fn measurement(maker: Maker, name: &str, n: usize, median_ms: f64) -> Measurement {
    Measurement {
        maker,
        name: name.to_owned(),
        element_type: "i32".to_owned(),
        n,
        finds: Finds::Warm,
        launches: 3,
        median_ms,
        fastest_ms: median_ms,
    }
}

fn record(measurements: Vec<Measurement>) -> Record {
    Record {
        date: "2026-01-31T12:00:00Z".to_owned(),
        device: "GPU 0: a GPU".to_owned(),
        driver: "1.0".to_owned(),
        datasheet_gigabytes_per_second: Some(4800.0),
        compilers: vec!["a compiler".to_owned()],
        block: 512,
        measurements,
        notes: Vec::new(),
        left_out: vec![LeftOut {
            name: "CuPy".to_owned(),
            at: None,
            reason: "it is not installed".to_owned(),
        }],
    }
}

#[test]
fn a_step_is_compared_with_its_counterpart_and_a_library_with_ours() {
    let n = 1 << 24;
    let record = record(vec![
        measurement(Maker::Warpfold, "shuffle", n, 0.02),
        measurement(Maker::Warpfold, "warpfold::sum", n, 0.01),
        measurement(Maker::CudaCpp, "shuffle", n, 0.03),
        measurement(Maker::Library, "thrust::reduce", n, 0.04),
    ]);
    let [part] = OfType::all(&record)[..] else {
        panic!("there is one type");
    };
    let ratios: Vec<f64> = part
        .measurements()
        .filter(|measurement| measurement.maker != Maker::Warpfold)
        .map(|theirs| theirs.median_ms / part.counterpart(theirs).unwrap().median_ms)
        .collect();
    assert_eq!(ratios, [0.03 / 0.02, 0.04 / 0.01]);
    let block = tables::everything(&record);
    assert!(block.contains("| `shuffle` | 0.0200 (1.500) |"), "{block}");
    assert!(
        block.contains("| thrust::reduce | 0.0400 (4.00) |"),
        "{block}"
    );
    assert!(
        block.ends_with("\nLeft out: CuPy (it is not installed).\n"),
        "{block}"
    );
}

#[test]
fn who_was_left_out_is_named_with_the_places_and_the_reason() {
    let left_out = |name: &str, n: usize, from, reason: &str| LeftOut {
        name: name.to_owned(),
        at: Some(Place {
            element_type: "f32".to_owned(),
            n,
            from,
        }),
        reason: reason.to_owned(),
    };
    let mut record = record(vec![measurement(
        Maker::Warpfold,
        "warpfold::sum",
        1 << 20,
        0.004,
    )]);
    record.left_out.extend([
        left_out("torch.sum", 1 << 24, Some(Finds::Cold), "out of memory"),
        left_out("cub", 1 << 24, None, "its sum is wrong"),
        left_out("torch.sum", 1_000_000, None, "out of memory"),
    ]);
    let sentences = [
        "Left out: CuPy (it is not installed).",
        "Left out: torch.sum at 2^24 of f32 from cold on, 1000000 of f32 (out of memory).",
        "Left out: cub at 2^24 of f32 (its sum is wrong).",
    ];
    assert_eq!(figures::left_out(&record), sentences);
    let (block, text) = (tables::everything(&record), long::text(&record));
    for sentence in sentences {
        assert!(block.contains(sentence), "{block}");
        assert!(text.contains(sentence), "{text}");
    }
}

#[test]
fn bandwidth_counts_the_input() {
    let mut million = measurement(Maker::Warpfold, "shuffle", 1_000_000, 0.004);
    assert_eq!(figures::gigabytes_per_second(&million), 1000.0);
    million.element_type = "f64".to_owned();
    assert_eq!(figures::gigabytes_per_second(&million), 2000.0);
}

#[test]
fn only_what_stands_between_the_markers_is_written() {
    let text = "a\n<!-- results: begin -->\nold\n<!-- results: end -->\nb\n";
    let written = blocks::with_block(text, "results", "new\n").expect("there are markers");
    assert_eq!(written, text.replace("old", "new"));
    assert_eq!(blocks::with_block("a\n", "results", "new\n"), None);
}

#[test]
fn a_table_for_the_terminal_has_a_row_for_each_contender() {
    let text = long::text(&record(vec![
        measurement(Maker::Warpfold, "warpfold::sum", 1 << 20, 0.004),
        measurement(Maker::Python, "torch.sum", 1 << 20, 0.008),
    ]));
    let row = text
        .lines()
        .find(|line| line.contains("torch.sum"))
        .expect("there is a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        words,
        ["Python", "torch.sum", "0.0080", "524", "2.000", "50.0", "%"]
    );
}

#[test]
fn one_row_stands_for_the_policies_of_one_library() {
    let n = 1 << 20;
    let block = tables::everything(&record(vec![
        measurement(Maker::Warpfold, "warpfold::sum", n, 0.004),
        measurement(Maker::Warpfold, "warpfold::sum, 1 off", n, 0.0042),
        measurement(Maker::Ceiling, "empty launch", n, 0.002),
        measurement(Maker::Library, "CUB, tuned: 256 x 16", n, 0.006),
        measurement(Maker::Library, "CUB, tuned: 512 x 16", n, 0.005),
    ]));
    let rows: Vec<&str> = block
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("|  |"))
        .collect();
    assert_eq!(
        rows,
        [
            "| `warpfold::sum` | **0.0040** |",
            "| `warpfold::sum, 1 off` | 0.0042 (1.05) |",
            "| empty launch | 0.0020 (0.50) |",
            "| CUB, the fastest of three policies | 0.0050 (1.25) |"
        ]
    );
}

#[test]
fn the_summary_has_those_who_are_best_known_at_some_sizes() {
    let (shown, not_shown) = (1 << 20, 1 << 21);
    let summary = tables::summary(&record(vec![
        measurement(Maker::Library, "thrust::reduce", shown, 0.02),
        measurement(Maker::Library, "CUB, not_guaranteed", shown, 0.004),
        measurement(Maker::Python, "torch.sum", shown, 0.016),
        measurement(Maker::Python, "torch.sum, dtype=int32", shown, 0.008),
        measurement(Maker::Warpfold, "shuffle", shown, 0.004),
        measurement(Maker::Warpfold, "warpfold::sum", shown, 0.004),
        measurement(Maker::Warpfold, "warpfold::sum", not_shown, 0.004),
    ]));
    assert_eq!(
        summary,
        "Sums of i32 on GPU 0: a GPU, milliseconds with a warm L2 cache:\n\n\
         |  | 2^20 |\n|---|--:|\n\
         | `warpfold::sum` | **0.0040** |\n\
         | torch, the faster way | 0.0080 (2.00) |\n\
         | Thrust | 0.0200 (5.00) |\n"
    );
}

#[test]
fn the_verdict_names_who_is_faster_and_by_how_much() {
    let (small, large) = (1 << 20, 1 << 26);
    let lines = verdict::lines(&record(vec![
        measurement(Maker::Warpfold, "warpfold::sum", small, 0.004),
        measurement(Maker::Library, "cub::DeviceReduce::Sum", small, 0.006),
        measurement(Maker::Python, "torch.sum", small, 0.0032),
        measurement(Maker::Warpfold, "warpfold::sum", large, 0.064),
        measurement(Maker::Library, "cub::DeviceReduce::Sum", large, 0.08),
        measurement(Maker::Warpfold, "warpfold::sum, 1 off", large, 0.068),
        measurement(Maker::Warpfold, "shuffle", large, 0.08),
        measurement(Maker::CudaCpp, "shuffle", large, 0.08),
        // Who reads nothing wins nothing.
        measurement(Maker::Ceiling, "empty launch", small, 0.001),
    ]));
    let expected = [
        "warpfold::sum against the fastest peer: missed in 1 of 2 comparisons:",
        "  2^20 of i32, warm: warpfold::sum takes 0.0040 ms, 1.250 × the 0.0032 ms of torch.sum (at most 1.00)",
        "warpfold::sum against cub::DeviceReduce::Sum: kept in all 2 comparisons; closest to its bound of 0.75: 2^20 of i32, warm: \
         warpfold::sum takes 0.0040 ms, 0.667 × the 0.0060 ms of cub::DeviceReduce::Sum",
        "steps of the ladder against nvcc: kept in all 1 comparisons; closest to its bound of 1.02: 2^26 of i32, warm: shuffle takes \
         0.0800 ms, 1.000 × the 0.0800 ms of its counterpart by nvcc",
        "an input that is not aligned: missed in 1 of 1 comparisons:",
        "  2^26 of i32, warm: warpfold::sum, 1 off takes 0.0680 ms, 1.062 × the 0.0640 ms of warpfold::sum (at most 1.03)",
        "2^20 of i32, warm: 1049 GB/s, 21.8 % of the data sheet's 4800",
        "2^26 of i32, warm: 4194 GB/s, 87.4 % of the data sheet's 4800",
    ];
    assert_eq!(lines, expected);
}
