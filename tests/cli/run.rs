//! `warpfold run`.

use super::*;

#[test]
fn a_lesson_is_verified_and_counted() {
    let output = output_of(&[
        "run", "unroll4", "-n", "10_000", "--block", "64", "--device", "emulator",
    ]);
    assert!(output.contains("warp instructions"), "{output}");
    let json = json_of(&[
        "run", "unroll4", "-n", "10_000", "--block", "64", "--device", "emulator",
    ]);
    assert_eq!(
        (&json["id"], &json["is_right"]),
        (&"unroll4".into(), &true.into())
    );
    assert_eq!(json["grid"], 40);
    assert_eq!(json["result"], json["expected"]);
    assert_eq!(json["tolerance"], Value::Null);
}

#[test]
fn a_lesson_of_floats_is_verified_to_within_rounding() {
    let arguments = [
        "run",
        "shuffle_sum_f32",
        "-n",
        "10_000",
        "--device=emulator",
    ];
    let output = output_of(&arguments);
    assert!(
        output.contains("Operators and types, step 4 · shuffle_sum_f32")
            && output.contains("n = 10,000 random f32 (39.06 KiB")
            && output.contains("rounding allowed"),
        "{output}"
    );
    let json = json_of(&[&arguments[..], &["--type", "f32", "--op", "sum"]].concat());
    assert_eq!(
        (&json["element_type"], &json["is_right"]),
        (&"f32".into(), &true.into())
    );
    let number = |key: &str| json[key].as_f64().expect("a number");
    assert_ne!(number("expected"), 0.0);
    assert!((number("result") - number("expected")).abs() <= number("tolerance"));
    assert!(number("tolerance") < 0.01, "{json}");
}

#[test]
fn the_sum_of_nothing_is_0() {
    let json = json_of(&["run", "shuffle", "-n", "0", "--device", "emulator"]);
    assert_eq!(
        (&json["result"], &json["grid"], &json["is_right"]),
        (&0.into(), &0.into(), &true.into())
    );
    let json = json_of(&["run", "shuffle_sum_f32", "-n", "0", "--device", "emulator"]);
    assert_eq!(
        (&json["result"], &json["grid"], &json["is_right"]),
        (&0.0.into(), &0.into(), &true.into())
    );
}

#[test]
fn cpu_references_run_on_the_processor() {
    for id in [
        "cpu_sequential",
        "cpu_recursive_neighbored",
        "cpu_recursive_interleaved",
        "cpu_parallel",
    ] {
        let json = json_of(&["run", id, "-n", "12345"]);
        assert_eq!(json["id"], id);
        assert!(json["elapsed_ms"].as_f64() > Some(0.0), "{json}");
    }
    refuses(
        &["run", "cpu_parallel", "--device", "emulator"],
        "leave --device out",
    );
}

#[test]
fn what_is_not_there_is_refused_with_the_nearest_that_is() {
    refuses(&["run", "neighboured"], "did you mean `neighbored`?");
    refuses(&["run", "zzz"], "`warpfold lessons` lists them");
    refuses(
        &["run", "shuffle", "--type", "f32"],
        "`shuffle` is built for the sum of i32 values, not for the sum of f32 values; `single_pass_sum_f32` is",
    );
    refuses(
        &["run", "shuffle", "--op", "max"],
        "not for the max of i32 values; `single_pass_max_i32` is",
    );
    refuses(
        &["run", "shuffle_sum_f32", "--type", "f64"],
        "not for the sum of f64 values; `single_pass_sum_f64` is",
    );
    refuses(
        &["run", "cpu_parallel", "--type", "f32"],
        "`cpu_parallel` is built for the sum of i32 values",
    );
    refuses(
        &["run", "shuffle", "--type", "int"],
        "'int' is not an element type",
    );
    refuses(
        &["run", "shuffle", "--op", "median"],
        "'median' is not an operator",
    );
}
