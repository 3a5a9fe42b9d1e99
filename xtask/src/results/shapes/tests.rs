//! What a record by hand gives, and that the document shows the committed one.

use super::*;
use crate::results::record::Maker;
use crate::results::shapes_record::{Group, Missing, Point, ShapesRecord, Time};
use crate::results::{SHAPES, SHAPES_PICTURE, SHAPES_RECORD, blocks, read_shapes};
use std::fs;

/// The record by hand, whose numbers are nobody's.
fn by_hand() -> ShapesRecord {
    read_shapes(&crate::repository().join("xtask/tests/data/shapes.json")).expect("it is a record")
}

#[test]
fn the_document_shows_the_committed_record_or_nothing() {
    let repository = crate::repository();
    let path = repository.join(SHAPES_RECORD);
    let record = path
        .is_file()
        .then(|| read_shapes(&path).expect("the record can be read"));
    let document = fs::read_to_string(repository.join(SHAPES)).expect("the document is committed");
    let written =
        blocks::with_block(&document, "shapes", &block(record.as_ref())).expect("it has the block");
    assert!(
        document == written,
        "{SHAPES} is out of date: `cargo xtask results peers/results/h200.json` writes it anew"
    );
    let picture = fs::read_to_string(repository.join(SHAPES_PICTURE)).ok();
    let drawn = record.map(|record| svg(&record).expect("it can be drawn"));
    assert!(
        picture == drawn,
        "{SHAPES_PICTURE} is out of date: `cargo xtask results peers/results/h200.json` draws it anew"
    );
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = by_hand();
    let text = serde_json::to_string(&record).expect("it can be written");
    let again: ShapesRecord = serde_json::from_str(&text).expect("it can be read");
    assert_eq!(record, again);
}

#[test]
fn nothing_measured_is_nothing_shown() {
    assert_eq!(block(None), "");
}

#[test]
fn the_table_has_a_row_for_each_shape_and_a_column_for_each_operator() {
    let block = block(Some(&by_hand()));
    for row in [
        "|  | sum | max | argmax | argmax, u32 | mean | variance | log-sum-exp | dot |",
        "| rows, 2^22 × 2^6 | 4.00 · 92 % |  | 1.50 · 80 % |  |  |  | 5.00 · 50 % |  |",
        "| segments, zipf, 32 | 2.00 · 90 % |  |  |  |  |  |  |  |",
        "| graphs, 2^12 |  |  |  |  |  |  |  | 1.10 · 80 % |",
        "| small types, i8, 2^28 | 20 · 95 % |  |  |  |  |  |  |  |",
    ] {
        assert!(block.contains(&format!("\n{row}\n")), "{row}: {block}");
    }
    let sentence = "\nLeft out: CuPy (ModuleNotFoundError: No module named 'cupy').\n";
    assert!(block.contains(sentence), "{block}");
    let places =
        "\nLeft out: Triton, a tile of rows at sum of f32, 1 × 4; max of f32, 1 × 4 (it failed).\n";
    assert!(block.contains(places), "{block}");
}

#[test]
fn the_verdict_names_each_bound_and_what_misses_it() {
    assert_eq!(
        verdict(&by_hand()),
        [
            "rows, share of the ceiling: missed in 1 of 2:",
            "  argmax of 2^22 × 2^6: 0.800 (at least 0.85)",
            "rows, best peer's time divided by ours: kept in all 3; closest to its bound: 1.500 at argmax of 2^22 × 2^6 (at least 1.00)",
            "rows, torch's time divided by ours: missed in 1 of 2:",
            "  argmax of 2^22 × 2^6: 1.500 (at least 3.50)",
            "rows, torch's log-sum-exp divided by ours: kept in all 1; closest to its bound: 5.000 at log-sum-exp of 2^22 × 2^6 (at least 4.00)",
            "small types, share of the ceiling: kept in all 1; closest to its bound: 0.950 at sum of i8, 2^28 (at least 0.85)",
            "segments, share of the ceiling: kept in all 1; closest to its bound: 0.900 at sum of zipf, 32 (at least 0.85)",
            "segments, CUB's time divided by ours: kept in all 1; closest to its bound: 2.000 at sum of zipf, 32 (at least 1.00)",
            "graphs, allowed time divided by ours: missed in 1 of 1:",
            "  dot of 2^12: 0.860 (at least 1.00)",
        ]
    );
}

#[test]
fn the_heat_map_has_a_cell_for_each_point_and_is_as_high_as_its_rows() {
    let svg = svg(&by_hand()).expect("it can be drawn");
    for text in [
        "4.00 · 92 %",
        "1.50 · 80 %",
        "zipf, 32",
        "i8, 2^28",
        "log-sum-exp",
    ] {
        assert_eq!(svg.matches(text).count(), 1, "{text}");
    }
    // Of scans and reductions by key nothing was measured.
    assert!(!svg.contains("by key"), "{svg}");
}

#[test]
fn who_has_nothing_to_be_compared_with_has_no_ratio() {
    let time = |maker, median_ms| Time {
        maker,
        name: String::new(),
        launches: 7,
        median_ms,
        fastest_ms: median_ms,
    };
    let point = Point {
        group: Group::Keys,
        operator: "sum".to_owned(),
        element_type: "f32".to_owned(),
        rows: 9,
        columns: 4,
        spread: None,
        bytes_read: 36,
        bytes_written: 12,
        times: vec![time(Maker::Ceiling, 0.5), time(Maker::Warpfold, 1.0)],
    };
    assert_eq!((point.ratio(), point.share()), (None, Some(0.5)));
    let record = ShapesRecord {
        points: vec![point],
        left_out: vec![Missing {
            name: "CUB".to_owned(),
            at: None,
            reason: "no nvcc".to_owned(),
        }],
        ..by_hand()
    };
    assert!(block(Some(&record)).contains("| by key, runs of 4 | 50 % |"));
    assert_eq!(verdict(&record), [""; 0]);
}
