//! `warpfold reduce`: every operator and type, in pieces, and what a type has no room for.

use super::*;
use warpfold_kernels::for_each_element;

/// A file of raw little-endian values.
fn raw<const BYTES: usize>(scratch: &Scratch, values: &[[u8; BYTES]]) -> String {
    scratch.file("values.bin", &values.concat())
}

/// The arguments that reduce a raw file on the emulator.
fn reduce<'a>(file: &'a str, element_type: &'a str, operator: &'a str) -> [&'a str; 7] {
    [
        "reduce",
        file,
        "--type",
        element_type,
        "--op",
        operator,
        "--device=emulator",
    ]
}

fn reduced(file: &str, element_type: &str, operator: &str, more: &[&str]) -> Value {
    json_of(&[&reduce(file, element_type, operator), more].concat())
}

#[test]
fn every_operator_reduces_every_type_at_once_and_in_pieces() {
    let scratch = Scratch::new();
    let expected: [(&str, i32); 5] = [
        ("sum", 18),
        ("product", 210),
        ("min", 5),
        ("max", 7),
        ("mean", 6),
    ];
    let values = [5_u8, 6, 7];
    macro_rules! files {
        ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => {
            [$({
                let bytes = values.map(|value| $value::from(value).to_le_bytes()).concat();
                let file = concat!(stringify!($value), ".bin");
                (stringify!($value), scratch.file(file, &bytes))
            }),*]
        };
    }
    for (element_type, file) in for_each_element!(files) {
        for (operator, expected) in expected {
            for (chunks, more) in [(1, &[][..]), (2, &["--chunk", "2"])] {
                let json = reduced(&file, element_type, operator, more);
                let place = format!("the {operator} of {element_type}: {json}");
                assert_eq!(json["result"].as_f64(), Some(expected.into()), "{place}");
                assert_eq!(
                    (&json["n"], &json["chunks"]),
                    (&3.into(), &chunks.into()),
                    "{place}"
                );
                assert_eq!(json["is_right"], true, "{place}");
                assert_eq!(json["overflowed"], false, "{place}");
            }
        }
    }
}

#[test]
fn many_chunks_give_the_result_of_one() {
    let scratch = Scratch::new();
    let values: Vec<[u8; 8]> = (0..100_000)
        .map(|index: i64| (index * 7919 % 10_007 - 5000).to_le_bytes())
        .collect();
    let file = raw(&scratch, &values);
    for operator in ["sum", "product", "min", "max", "mean"] {
        let whole = reduced(&file, "i64", operator, &[]);
        let pieces = reduced(&file, "i64", operator, &["--chunk", "4096"]);
        assert_eq!(pieces["chunks"], 25);
        for field in ["result", "exact_sum", "overflowed", "n", "bytes"] {
            assert_eq!(whole[field], pieces[field], "{field} of the {operator}");
        }
    }
    let text = output_of(&[&reduce(&file, "i64", "sum")[..], &["--chunk=2^14"]].concat());
    assert!(text.contains("in 7 chunks"), "{text}");
    // A .npy file and a .csv file come in pieces just so.
    let rows: String = (0..1000).map(|value| format!("{value}\n")).collect();
    let csv = scratch.file("numbers.csv", rows.as_bytes());
    let json = json_of(&["reduce", &csv, "--chunk=64", "--device=emulator"]);
    assert_eq!(
        (&json["result"], &json["chunks"]),
        (&499_500.0.into(), &16.into())
    );
    let nile = data("nile.npy");
    let json = json_of(&["reduce", &nile, "--chunk=64", "--device=emulator"]);
    assert_eq!(
        (&json["result"], &json["chunks"]),
        (&91_935.into(), &2.into())
    );
}

#[test]
fn a_fault_in_a_later_chunk_is_told_with_its_line() {
    let scratch = Scratch::new();
    let rows: String = (0..1000).map(|value| format!("{value}\n")).collect();
    let csv = scratch.file("numbers.csv", format!("{rows}many\n").as_bytes());
    let arguments = [
        "reduce",
        &csv,
        "--type=i64",
        "--chunk=64",
        "--device=emulator",
    ];
    refuses(&arguments, "line 1001: 'many' is not a value of type i64");
    refuses(
        &["reduce", &csv, "--chunk=0"],
        "a chunk has one value or more",
    );
}

#[test]
fn nothing_has_a_sum_and_a_product_and_no_more() {
    let scratch = Scratch::new();
    let file = scratch.file("empty.bin", &[]);
    assert_eq!(reduced(&file, "u64", "sum", &[])["result"], 0);
    assert_eq!(reduced(&file, "f64", "product", &[])["result"], 1.0);
    for operator in ["min", "max", "mean"] {
        let culprit =
            format!("empty.bin: there are no values, and the {operator} of nothing is not defined");
        refuses(&reduce(&file, "i32", operator), &culprit);
    }
}

#[test]
fn the_mean_of_integers_is_that_of_the_true_sum() {
    let scratch = Scratch::new();
    let file = raw(&scratch, &[i32::MAX, i32::MAX, 2].map(i32::to_le_bytes));
    let json = reduced(&file, "i32", "mean", &[]);
    assert_eq!(json["result"], 4_294_967_296.0 / 3.0);
    assert_eq!(json["exact_sum"], 4_294_967_296_i64);
    assert_eq!(json["overflowed"], false);
}

#[test]
fn a_product_that_its_type_cannot_hold_is_told() {
    let scratch = Scratch::new();
    let file = raw(&scratch, &[3; 100].map(i32::to_le_bytes));
    let json = reduced(&file, "i32", "product", &[]);
    let wrapped = (0..100).fold(1_i32, |product, _| product.wrapping_mul(3));
    assert_eq!(
        (&json["result"], &json["overflowed"]),
        (&wrapped.into(), &true.into())
    );
    let text = output_of(&reduce(&file, "i32", "product"));
    assert!(
        text.contains("the true product is about 5.15378e47"),
        "{text}"
    );
    let file = raw(&scratch, &[1e30_f32; 20].map(f32::to_le_bytes));
    let text = output_of(&reduce(&file, "f32", "product"));
    assert!(text.contains("product = inf"), "{text}");
    assert!(
        text.contains("overflow: all values are finite") && text.contains("about 1.00000e600"),
        "{text}"
    );
    let file = raw(&scratch, &[1e-30_f32; 20].map(f32::to_le_bytes));
    let text = output_of(&reduce(&file, "f32", "product"));
    assert!(
        text.contains("product = 0.0") && text.contains("underflow: no value is 0"),
        "{text}"
    );
}

#[test]
fn the_extremes_of_floats_know_nan_and_the_sign_of_zero() {
    let scratch = Scratch::new();
    for (values, least, greatest) in [
        ([0.0, -0.0, 0.0], "-0.0", "0.0"),
        ([1.0, f64::NAN, 2.0], "NaN", "NaN"),
        ([f64::INFINITY, 1.0, f64::NEG_INFINITY], "-inf", "inf"),
    ] {
        let file = raw(&scratch, &values.map(f64::to_le_bytes));
        for (operator, expected) in [("min", least), ("max", greatest)] {
            let text = output_of(&reduce(&file, "f64", operator));
            assert!(
                text.contains(&format!("{operator} = {expected}\n")),
                "{text}"
            );
        }
    }
}
