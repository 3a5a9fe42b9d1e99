//! `warpfold reduce`.

use super::*;

const NILE_SUM: i32 = 91_935;

#[track_caller]
fn sum_of(arguments: &[&str]) -> Value {
    json_of(&[&["reduce"], arguments, &["--device", "emulator"]].concat())
}

#[test]
fn a_real_file_gives_the_sum_that_numpy_gives() {
    let sum = Value::from(NILE_SUM);
    let in_f64 = Value::from(f64::from(NILE_SUM));
    for (arguments, element_type, sum) in [
        (&[&*data("nile.npy")][..], "i32", &sum),
        (&[&*data("nile.csv"), "--column=volume"], "f64", &in_f64),
        (
            &[&*data("nile.csv"), "--column=1", "--type=i32"],
            "i32",
            &sum,
        ),
    ] {
        let json = sum_of(arguments);
        assert_eq!(&json["result"], sum, "{arguments:?}");
        assert_eq!(
            (&json["n"], &json["element_type"]),
            (&100.into(), &element_type.into())
        );
        assert_eq!(
            (&json["overflowed"], &json["is_right"]),
            (&false.into(), &true.into())
        );
    }
    let output = output_of(&["reduce", &data("nile.npy"), "--device", "emulator"]);
    assert!(output.contains("sum = 91935"), "{output}");
    let output = output_of(&[
        "reduce",
        &data("nile.csv"),
        "--column=1",
        "--device=emulator",
    ]);
    assert!(
        output.contains("nile.csv, column 'volume': 100 × f64"),
        "{output}"
    );
    assert!(output.starts_with("emulator"), "{output}");
}

/// What neither i32 nor f32 holds is read as it stands, and shown like that on every device.
#[test]
fn cells_of_a_table_are_f64_on_every_device() {
    let scratch = Scratch::new();
    for (cells, sum) in [
        ("3000000000\n", "3000000000.0"),
        ("0.1\n", "0.1"),
        ("1\n2\n", "3.0"),
    ] {
        let csv = scratch.file("cells.csv", cells.as_bytes());
        for place in [
            &["--device=cpu"][..],
            &["--device=emulator"],
            &["--device=emulator", "--unverified"],
            &["--device=emulator:2"],
        ] {
            let output = output_of(&[&["reduce", &csv], place].concat());
            assert!(output.contains(" × f64 "), "{place:?}: {output}");
            assert!(
                output.contains(&format!("\nsum = {sum}\n")),
                "{place:?}: {output}"
            );
        }
        refuses(
            &["reduce", &csv, "--type=u8", "--device=emulator"],
            "which is not read as u8",
        );
    }
}

#[test]
fn an_overflow_is_reported_with_the_true_sum() {
    let scratch = Scratch::new();
    let values = [i32::MAX, i32::MAX, 1].map(i32::to_le_bytes).concat();
    let file = scratch.file("large.bin", &values);
    let json = sum_of(&[&file, "--type", "i32"]);
    assert_eq!(
        (&json["result"], &json["exact_sum"]),
        (&(-1).into(), &4_294_967_295_i64.into())
    );
    assert_eq!(json["overflowed"], true);
    let output = output_of(&["reduce", &file, "--type", "i32", "--device", "emulator"]);
    assert!(
        output.contains("overflow: the true sum is 4294967295"),
        "{output}"
    );
}

#[test]
fn the_sum_of_an_empty_file_is_0() {
    let scratch = Scratch::new();
    let file = scratch.file("empty.bin", &[]);
    assert_eq!(sum_of(&[&file, "--type", "i32"])["result"], 0);
    for device in ["cpu", "emulator"] {
        let empty = scratch.file("empty.csv", b"");
        refuses(
            &["reduce", &empty, "--device", device],
            "is empty: it has neither a header nor a value",
        );
    }
    let npy = scratch.file("empty.npy", &npy("<f4", 0, &[]));
    for arguments in [&[&*file, "--type", "f32"][..], &[&npy]] {
        let json = sum_of(arguments);
        assert_eq!(
            (&json["result"], &json["is_right"]),
            (&0.0.into(), &true.into())
        );
    }
}

/// A .npy file of one dimension.
fn npy(descriptor: &str, length: usize, bytes: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({length},)}}\n");
    let header_length = u16::try_from(header.len())
        .expect("it is short")
        .to_le_bytes();
    [
        b"\x93NUMPY\x01\x00",
        &header_length[..],
        header.as_bytes(),
        bytes,
    ]
    .concat()
}

/// A file of little-endian f32 values.
fn floats(scratch: &Scratch, values: &[f32]) -> String {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    scratch.file("floats.bin", &bytes)
}

#[test]
fn floats_add_up_to_numpys_sum_but_for_rounding() {
    // NumPy 2.4.6: v = ((np.arange(10_000) * 7919) % 10_007).astype(np.float32) / np.float32(100) - np.float32(37);
    // v.sum(dtype=np.float64), np.abs(v).sum(dtype=np.float64)
    const NUMPY_SUM: f64 = 130_365.780_004_501_34;
    const NUMPY_MAGNITUDE: f64 = 267_181.620_004_653_93;
    // 8 additions by a thread, 9 by the tree of 512 threads, and the last of all.
    let tolerance = 18.0 * 2_f64.powi(-24) * NUMPY_MAGNITUDE;
    let values: Vec<f32> = (0..10_000)
        .map(|index| (index * 7919 % 10_007) as f32 / 100.0 - 37.0)
        .collect();
    let scratch = Scratch::new();
    let bin = floats(&scratch, &values);
    let bytes = std::fs::read(&bin).expect("the file was written");
    let npy = scratch.file("floats.npy", &npy("<f4", values.len(), &bytes));
    let rows: String = values.iter().map(|value| format!("x,{value}\n")).collect();
    let csv = scratch.file("floats.csv", format!("name,value\n{rows}").as_bytes());
    let results = [
        sum_of(&[&npy]),
        sum_of(&[&bin, "--type", "f32"]),
        sum_of(&[&csv, "--column=value", "--type=f32"]),
    ];
    for json in &results {
        assert_eq!(
            (&json["n"], &json["element_type"]),
            (&10_000.into(), &"f32".into())
        );
        let in_f64 = json["sum_in_f64"].as_f64().expect("the sum in f64");
        assert!((in_f64 - NUMPY_SUM).abs() < 1e-9, "{json}");
        let result = json["result"].as_f64().expect("a sum");
        assert!((result - NUMPY_SUM).abs() <= tolerance, "{json}");
        assert_eq!(json["result"], results[0]["result"], "always the same");
        assert_eq!(
            (&json["overflowed"], &json["is_right"]),
            (&false.into(), &true.into())
        );
    }
    assert_eq!(
        sum_of(&[&data("nile.csv"), "--column=1", "--type=f32"])["result"],
        f64::from(NILE_SUM)
    );
}

#[test]
fn infinities_and_nan_come_through() {
    let scratch = Scratch::new();
    for (cells, expected) in [
        ("1.5\ninf\n2\n", "inf"),
        ("1.5\n-inf\n2\n", "-inf"),
        ("1.5\nNaN\n2\n", "NaN"),
        ("1.5\ninf\n-inf\n", "NaN"),
    ] {
        let csv = scratch.file("special.csv", cells.as_bytes());
        let json = sum_of(&[&csv]);
        assert_eq!(json["result"], expected, "{cells}");
        assert_eq!(
            (&json["overflowed"], &json["is_right"]),
            (&false.into(), &true.into()),
            "{cells}"
        );
    }
    let file = floats(&scratch, &[-0.0; 1000]);
    let output = output_of(&["reduce", &file, "--type=f32", "--device=emulator"]);
    assert!(output.contains("sum = -0.0"), "{output}");
}

#[test]
fn a_float_overflow_is_reported_with_the_sum_in_f64() {
    let scratch = Scratch::new();
    let file = floats(&scratch, &[f32::MAX, 1.0, f32::MAX]);
    let json = sum_of(&[&file, "--type", "f32"]);
    assert_eq!(
        (&json["result"], &json["overflowed"], &json["is_right"]),
        (&"inf".into(), &true.into(), &true.into())
    );
    let output = output_of(&["reduce", &file, "--type=f32", "--device=emulator"]);
    assert!(
        output.contains("sum = inf") && output.contains("in f64 the sum is 6.80564693"),
        "{output}"
    );
}

#[test]
fn bad_input_is_one_sentence_with_status_2() {
    let scratch = Scratch::new();
    let doubles = scratch.file("doubles.npy", &npy("<f8", 1, &[0; 8]));
    let large = scratch.file("large.csv", b"1.5\n1e39\n");
    let text = scratch.file("notes.txt", b"hello");
    let bin = scratch.file("odd.bin", &[0; 7]);
    let csv = scratch.file("words.csv", b"a,b\n1,2\n3,four\n5,\n");
    let fake = scratch.file("fake.npy", b"PK");
    let nile = data("nile.npy");
    let truncated = scratch.file("cut.npy", &std::fs::read(&nile).expect("the data")[..300]);
    for (arguments, culprit) in [
        (&["missing.npy"][..], "cannot read missing.npy"),
        (&["missing.csv"], "cannot read missing.csv"),
        (&["missing.bin", "--type", "i32"], "cannot read missing.bin"),
        (&[&scratch.name("")], "cannot tell what"),
        (&[&text], "cannot tell what"),
        (&[&bin], "give their --type"),
        (&[&bin, "--type", "i32"], "no whole number of i32 values"),
        (
            &[&csv, "--column=a", "--type=i8"],
            "which is not read as i8",
        ),
        (&[&bin, "--type", "int"], "'int' is not an element type"),
        (&[&csv], "choose one with --column"),
        (&[&csv, "--column", "c"], "has no column 'c'"),
        (
            &[&csv, "--column", "b"],
            "line 3: 'four' is not a value of type",
        ),
        (&[&fake], "is not a whole .npy file"),
        (&[&truncated], "does not match the 172 bytes"),
        (&[&nile, "--type", "f32"], "holds i32 values, not f32"),
        (&[&nile, "--column", "1"], "--column is for .csv files"),
        (&[&doubles, "--type", "f32"], "holds f64 values, not f32"),
        (
            &[&large, "--type=f32"],
            "line 2: '1e39' is not a value of type f32",
        ),
        (&[&nile, "--op", "median"], "'median' is not an operator"),
        (&[&nile, "--device", "cuda"], "names no device"),
    ] {
        refuses(&[&["reduce"], arguments].concat(), culprit);
    }
}
