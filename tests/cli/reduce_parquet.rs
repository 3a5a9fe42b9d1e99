//! `warpfold reduce` of Parquet files, where they are built in and where not.

use super::*;

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_one() {
    for arguments in [
        &[&*data("nile.parquet")][..],
        &[
            &data("nile.parquet"),
            "--column=volume",
            "--device=emulator",
        ],
    ] {
        refuses(
            &[&["reduce"], arguments].concat(),
            "nile.parquet is a Parquet file, which this build does not read; build one that does: cargo install --path cli --features parquet",
        );
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_column_of_a_real_file_is_reduced_everywhere() {
    let nile = data("nile.parquet");
    for place in ["cpu", "emulator", "emulator:2"] {
        let json = json_of(&[
            "reduce",
            &nile,
            &nile,
            "--column=volume",
            "--op=sum,max",
            "--device",
            place,
        ]);
        let expected = serde_json::json!({ "sum": 2 * 91_935, "max": 1370 });
        assert_eq!(json["results"], expected, "{place}");
        assert_eq!(
            (&json["n"], &json["column"]),
            (&200.into(), &"volume".into())
        );
    }
    let text = output_of(&["reduce", &nile, "--column=1", "--device=emulator"]);
    assert!(
        text.contains("nile.parquet, column 'volume': 100 × i32"),
        "{text}"
    );
    assert!(text.contains("sum = 91935\n"), "{text}");
}

#[cfg(feature = "parquet")]
#[test]
fn what_is_wrong_with_a_parquet_file_is_one_sentence() {
    let nile = data("nile.parquet");
    let scratch = Scratch::new();
    let whole = std::fs::read(&nile).expect("the data");
    let cut = scratch.file("cut.parquet", &whole[..whole.len() / 2]);
    // The pages of both columns are gone.
    let mut lost = whole.clone();
    lost[4..whole.len() / 2].fill(0);
    let lost = scratch.file("lost.parquet", &lost);
    for (arguments, culprit) in [
        (
            &[&*nile][..],
            "has 2 columns (year, volume); choose one with --column",
        ),
        (
            &[&nile, "--column=flow"],
            "has no column 'flow'; its columns are: year, volume",
        ),
        (
            &[&nile, "--column=1", "--type=f64"],
            "holds i32 values, not f64",
        ),
        (
            &[&nile, "--column=1", "--axis=0"],
            "--axis is for .npy files",
        ),
        (
            &[&cut, "--column=1"],
            "cut.parquet is not a whole .parquet file",
        ),
        (
            &[&lost, "--column=1"],
            "lost.parquet is not a whole .parquet file",
        ),
    ] {
        refuses(&[&["reduce"], arguments].concat(), culprit);
    }
}
