//! What the README shows is what the committed record gives; and what a record gives.

use super::record::{Cache, LeftOut, Maker, Measurement, Record};
use super::*;

/// The record that the README shows.
fn committed() -> Record {
    read(&crate::repository().join("peers/results/h200.json")).expect("the record is committed")
}

fn file(name: &str) -> String {
    fs::read_to_string(crate::repository().join(name)).expect("the file is committed")
}

#[test]
fn the_readme_shows_the_committed_record() {
    let text = file("README.md");
    assert_eq!(
        readme::shown(&text).expect("the README has the block"),
        readme::block(&committed()),
        "`cargo xtask results peers/results/h200.json` writes it anew"
    );
}

#[test]
fn the_picture_is_that_of_the_committed_record() {
    assert!(
        file("docs/speed.svg") == picture::svg(&committed()).expect("it can be drawn"),
        "`cargo xtask results peers/results/h200.json` draws it anew"
    );
}

fn measurement(maker: Maker, name: &str, n: usize, median_ms: f64) -> Measurement {
    Measurement {
        maker,
        name: name.to_owned(),
        n,
        cache: Cache::Warm,
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
        element_type: "i32".to_owned(),
        block: 512,
        repeat: 3,
        measurements,
        left_out: vec![LeftOut {
            name: "CuPy".to_owned(),
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
    let ratios: Vec<f64> = record
        .measurements
        .iter()
        .filter(|measurement| measurement.maker != Maker::Warpfold)
        .map(|theirs| theirs.median_ms / figures::counterpart(&record, theirs).unwrap().median_ms)
        .collect();
    assert_eq!(ratios, [0.03 / 0.02, 0.04 / 0.01]);
    let block = readme::block(&record);
    assert!(block.contains("| `shuffle` | 0.0200 (1.500) |"), "{block}");
    assert!(
        block.contains("| thrust::reduce | 0.0400 (4.00) |"),
        "{block}"
    );
    assert!(
        block.contains("Not in this run: CuPy, because it is not installed."),
        "{block}"
    );
}

#[test]
fn bandwidth_counts_the_input() {
    let million = measurement(Maker::Warpfold, "shuffle", 1_000_000, 0.004);
    assert_eq!(figures::gigabytes_per_second(&million), 1000.0);
}

#[test]
fn only_what_stands_between_the_markers_is_written() {
    let text = "a\n<!-- results: begin -->\nold\n<!-- results: end -->\nb\n";
    let written = readme::with_block(text, "new\n").expect("there are markers");
    assert_eq!(written, text.replace("old", "new"));
    assert_eq!(readme::with_block("a\n", "new\n"), None);
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
