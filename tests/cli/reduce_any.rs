//! `warpfold reduce` on the cores and by the library's kernels: every operator, several at once, along an axis, and of small types.

use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::Write;

/// A .npy file with the header that NumPy writes for such an array.
pub fn npy(descriptor: &str, fortran_order: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let header =
        format!("{{'descr': '{descriptor}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).expect("it is short");
    let start = [&b"\x93NUMPY\x01\x00"[..], &length.to_le_bytes()].concat();
    [&start, header.as_bytes(), bytes].concat()
}

/// The results by the cores, which are those on the emulator.
#[track_caller]
fn results_of(file: &str, more: &[&str]) -> Value {
    let [cores, emulator] = ["cpu", "emulator"].map(|device| {
        let json = json_of(&[&["reduce", file, "--device", device], more].concat());
        // The kernels of the course give one result alone.
        let results = json.get("results").cloned();
        results.unwrap_or_else(|| serde_json::json!({ "sum": json["result"] }))
    });
    assert_eq!(cores, emulator, "{file} {more:?}");
    cores
}

/// Axes of an array whose first axis varies fastest give what the same array in C's order gives.
#[test]
fn along_any_axis_in_fortrans_order() {
    let scratch = Scratch::new();
    let shape = [2_usize, 3, 4, 5];
    let value = |index: [usize; 4]| {
        (index[0] * 7 + index[1] * 31 + index[2] * 5 + index[3] * 13) as u8 % 97
    };
    let (mut in_c, mut in_fortran) = (Vec::new(), vec![0; 120]);
    for place in 0..120 {
        let index = [place / 60, place / 20 % 3, place / 5 % 4, place % 5];
        in_c.push(value(index));
        in_fortran[index[0] + 2 * (index[1] + 3 * (index[2] + 4 * index[3]))] = value(index);
    }
    let written = format!("{shape:?}").replace('[', "(").replace(']', ")");
    let in_c = scratch.file("c.npy", &npy("|u1", false, &written, &in_c));
    let in_fortran = scratch.file("fortran.npy", &npy("|u1", true, &written, &in_fortran));
    for axis in ["0", "1", "2", "3", "-1", "-4"] {
        let asked = ["--op", "max,argmin,mean", "--axis", axis];
        let expected = results_of(&in_c, &asked);
        assert_eq!(results_of(&in_fortran, &asked), expected, "axis {axis}");
        let shown = expected["max"].as_array().expect("there are many");
        assert_eq!(
            shown.len() * shape[axis.parse::<i64>().expect("it is one").rem_euclid(4) as usize],
            120
        );
    }
    let printed = output_of(&[
        "reduce",
        &in_fortran,
        "--op",
        "max",
        "--axis",
        "2",
        "--device",
        "cpu",
    ]);
    let first = results_of(&in_c, &["--op", "max", "--axis", "2"]);
    let first: Vec<_> = first["max"].as_array().expect("there are many")[..3]
        .iter()
        .map(Value::to_string)
        .collect();
    assert!(
        printed.contains(&format!("max = [{}", first.join(", "))),
        "{printed}"
    );
}

#[test]
fn several_operators_in_one_call() {
    let scratch = Scratch::new();
    let values: Vec<u8> = [3.0_f32, -1.5, 4.0, 4.0].map(f32::to_le_bytes).concat();
    let file = scratch.file("values.npy", &npy("<f4", false, "(4,)", &values));
    let operators =
        "sum,min,max,minmax,argmin,argmax,last_argmax,mean,variance,norm1,any,count_nonzero";
    let results = results_of(&file, &["--op", operators]);
    let expected = serde_json::json!({
        "sum": 9.5, "min": -1.5, "max": 4.0, "minmax": { "min": -1.5, "max": 4.0 }, "argmin": 1, "argmax": 2, "last_argmax": 3,
        "mean": 2.375, "variance": 5.171875, "norm1": 12.5, "any": true, "count_nonzero": 4
    });
    assert_eq!(results, expected);
    let text = output_of(&["reduce", &file, "--op", "max,mean", "--device=cpu"]);
    assert!(text.contains("max = 4.0\nmean = 2.375\n"), "{text}");
    // Its own type, whatever the address that the header leaves the values at.
    let raw = scratch.file("values.bin", &values);
    assert_eq!(
        results_of(&raw, &["--type=f32", "--op", operators]),
        expected
    );
}

#[test]
fn small_types_and_both_orders_of_bytes() {
    let scratch = Scratch::new();
    for (descriptor, bytes, sum, min) in [
        (
            "|i1",
            &[0x80, 0x7f, 0x80][..],
            Value::from(-129),
            Value::from(-128),
        ),
        ("|u1", &[200, 200, 1], 401.into(), 1.into()),
        ("<i2", &[0, 0x80, 1, 0], (-32767).into(), (-32768).into()),
        (">i2", &[0x80, 0, 0, 1], (-32767).into(), (-32768).into()),
        (
            "<f2",
            &[0x00, 0x3e, 0x00, 0xc0],
            (-0.5).into(),
            (-2.0).into(),
        ),
        ("|b1", &[1, 0, 1], 2.into(), false.into()),
    ] {
        let size = usize::from(descriptor.as_bytes()[2] - b'0');
        let shape = format!("({},)", bytes.len() / size);
        let file = scratch.file("small.npy", &npy(descriptor, false, &shape, bytes));
        let results = results_of(&file, &["--op=sum,min"]);
        assert_eq!(
            (&results["sum"], &results["min"]),
            (&sum, &min),
            "{descriptor}"
        );
    }
    let file = scratch.file("brain.bin", &[0x80, 0x3f, 0x00, 0x40]);
    assert_eq!(results_of(&file, &["--type=bf16"])["sum"], 3.0);
}

#[test]
fn along_an_axis() {
    let scratch = Scratch::new();
    let values: Vec<u8> = (0..24_i32).flat_map(i32::to_le_bytes).collect();
    let matrix = scratch.file("matrix.npy", &npy("<i4", false, "(4, 6)", &values));
    let transposed = scratch.file("transposed.npy", &npy("<i4", true, "(6, 4)", &values));
    let deep = scratch.file("deep.npy", &npy("<i4", false, "(2, 3, 4)", &values));
    let columns = serde_json::json!([36, 40, 44, 48, 52, 56]);
    let rows = serde_json::json!([15, 51, 87, 123]);
    for (file, axis, expected) in [
        (&matrix, "0", &columns),
        (&matrix, "1", &rows),
        (&matrix, "-1", &rows),
        (&matrix, "-2", &columns),
        (&transposed, "0", &rows),
        (&transposed, "1", &columns),
        (
            &deep,
            "0",
            &serde_json::json!([12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34]),
        ),
        (
            &deep,
            "1",
            &serde_json::json!([12, 15, 18, 21, 48, 51, 54, 57]),
        ),
        (&deep, "2", &serde_json::json!([6, 22, 38, 54, 70, 86])),
    ] {
        assert_eq!(
            results_of(file, &["--axis", axis])["sum"],
            *expected,
            "{file}, axis {axis}"
        );
    }
    let results = results_of(&matrix, &["--axis=1", "--op=argmax,mean"]);
    assert_eq!(results["argmax"], serde_json::json!([5, 5, 5, 5]));
    assert_eq!(results["mean"], serde_json::json!([2.5, 8.5, 14.5, 20.5]));
    // Several launches, and one.
    let many = (0..3000_i32)
        .flat_map(i32::to_le_bytes)
        .collect::<Vec<u8>>();
    let many = scratch.file("many.npy", &npy("<i4", false, "(3, 10, 100)", &many));
    let results = results_of(&many, &["--axis=1", "--op=max,mean,last_argmax"]);
    assert_eq!(results["max"][299], 2999);
    assert_eq!(results["mean"][0], 450.0);
    assert_eq!(results["last_argmax"][150], 9);
    let text = output_of(&["reduce", &deep, "--axis=0", "--device=cpu"]);
    assert!(
        text.contains("sum = [12, 14, 16, 18, 20, 22, 24, 26, …], 12 results"),
        "{text}"
    );
}

/// What gzip makes of it.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("there is memory");
    encoder.finish().expect("there is memory")
}

#[test]
fn arrays_in_archives_compressed_and_from_standard_input() {
    let scratch = Scratch::new();
    let array = |values: &[i16]| {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        npy("<i2", false, &format!("({},)", values.len()), &bytes)
    };
    // As numpy.savez writes it, and numpy.savez_compressed.
    let archive = |arrays: &[(&str, &[i16])], method| {
        let mut archive = ZipArchiveWriter::new(Vec::new());
        for (name, values) in arrays {
            let member = archive.new_file(format!("{name}.npy"));
            let member = member.compression_method(method).start();
            let (mut member, config) = member.expect("it is new");
            let packed: Box<dyn Write> = if method == CompressionMethod::DEFLATE {
                Box::new(DeflateEncoder::new(&mut member, Compression::default()))
            } else {
                Box::new(&mut member)
            };
            let mut packed = config.wrap(packed);
            packed.write_all(&array(values)).expect("there is memory");
            let (packed, counted) = packed.finish().expect("there is memory");
            // The encoder writes its end.
            drop(packed);
            member.finish(counted).expect("there is memory");
        }
        archive.finish().expect("there is memory")
    };
    let two: &[(&str, &[i16])] = &[("a", &[1, 2]), ("b", &[-5, 2, 7])];
    for method in [CompressionMethod::STORE, CompressionMethod::DEFLATE] {
        let file = scratch.file("two.npz", &archive(two, method));
        assert_eq!(
            results_of(&file, &["--column=b", "--op=sum,argmin"]),
            serde_json::json!({ "sum": 4, "argmin": 0 })
        );
        refuses(
            &["reduce", &file],
            "has 2 arrays (a, b); choose one by its name with --column",
        );
        refuses(&["reduce", &file, "--column=c"], "has 2 arrays (a, b)");
        let file = scratch.file("one.npz", &archive(&two[..1], method));
        let text = output_of(&["reduce", &file, "--device=cpu"]);
        assert!(
            text.contains("one.npz, column 'a': 2 × i16") && text.contains("sum = 3\n"),
            "{text}"
        );
    }
    let one = &two[..1];
    let mut wrong = archive(one, CompressionMethod::DEFLATE);
    let directory = wrong.windows(4).rposition(|bytes| bytes == b"PK\x01\x02");
    wrong[directory.expect("there is one") + 16] ^= 1;
    for (contents, culprit) in [
        (
            &archive(two, CompressionMethod::STORE)[..60],
            "is not a whole .npz file",
        ),
        (
            &archive(one, CompressionMethod::BZIP2),
            "'a' in it is packed by method 12 (BZIP2); save it with numpy.savez",
        ),
        (&wrong, "its check sum is another one than the archive says"),
    ] {
        let file = scratch.file("broken.npz", contents);
        for device in ["--device=cpu", "--device=emulator"] {
            refuses(&["reduce", &file, device], culprit);
        }
    }

    let npy = array(&[4, 5]);
    let file = scratch.file("array.npy.gz", &compressed(&npy));
    assert_eq!(results_of(&file, &[])["sum"], 9);
    let raw = scratch.file("array.bin.gz", &compressed(&[1, 255]));
    assert_eq!(results_of(&raw, &["--type=i8"])["sum"], 0);
    refuses(
        &[
            "reduce",
            &scratch.file("cut.npy.gz", &compressed(&npy)[..40]),
        ],
        "cannot read",
    );
    warpfold(&["reduce", "-", "--op=max"])
        .write_stdin(npy)
        .assert()
        .success()
        .stdout(contains("max = 5\n"));
}

#[test]
fn what_is_no_text_is_no_table() {
    for (input, culprit) in [
        (
            compressed(b"a\n1\n2\n"),
            "- is no text but compressed by gzip",
        ),
        (b"PK\x03\x04\x14".to_vec(), "- is no text but an archive"),
        (
            b"\x80\0\0\0\x01".to_vec(),
            "- is no text but bytes of another kind",
        ),
    ] {
        warpfold(&["reduce", "-"])
            .write_stdin(input)
            .assert()
            .code(2)
            .stderr(contains(culprit));
    }
}

#[test]
fn results_do_not_overwrite_what_is_read() {
    let scratch = Scratch::new();
    let file = scratch.file("table.csv", b"a\n1\n2\n");
    refuses(
        &["reduce", &file, "--json", &file],
        "is read, and the JSON would overwrite it",
    );
    assert_eq!(
        std::fs::read(&file).ok().as_deref(),
        Some(&b"a\n1\n2\n"[..])
    );
}

#[test]
fn tables_from_files_and_from_standard_input() {
    let scratch = Scratch::new();
    let gz = scratch.file("table.csv.gz", &compressed(b"a,b\n1,2\n3,5\n"));
    let tsv = scratch.file("table.tsv", b"a\tb\n1\t2\n3\t5\n");
    let other = scratch.file("table.txt", b"a;b\n1;2\n3;5\n");
    for arguments in [
        &[&*gz, "--column=b"][..],
        &[&tsv, "--column=b"],
        &[&other, "--column=1", "--delimiter=;"],
    ] {
        let json = json_of(&[&["reduce", "--op=sum,mean"], arguments].concat());
        assert_eq!(
            json["results"],
            serde_json::json!({ "sum": 7.0, "mean": 3.5 })
        );
        assert_eq!(
            (&json["element_type"], &json["column"]),
            (&"f64".into(), &"b".into())
        );
    }
    warpfold(&[
        "reduce",
        "-",
        "--delimiter=\\t",
        "--column=b",
        "--type=i64",
        "--op=max",
    ])
    .write_stdin("a\tb\n1\t2\n3\t5\n")
    .assert()
    .success()
    .stdout(contains("-, column 'b': 2 × i64").and(contains("max = 5\n")));
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let scratch = Scratch::new();
    let twice = scratch.file("twice.csv", b"a,b,a\n1,2,3\n");
    let empty = scratch.file("empty.npy", &npy("<f4", false, "(0, 3)", &[]));
    let file = scratch.file("matrix.npy", &npy("<i4", true, "(1, 2)", &[0; 8]));
    for (arguments, culprit) in [
        (
            &[&*twice, "--column=a"][..],
            "columns 0 and 2 are both named 'a'",
        ),
        (
            &[&twice, "--column=b", "--axis=0"],
            "--axis is for .npy files",
        ),
        (
            &[&twice, "--column=b", "--type=f16"],
            "is a table, which is not read as f16",
        ),
        (
            &[&empty, "--op=sum,max"],
            "the max of nothing is not defined",
        ),
        (
            &[&empty, "--op=mean", "--axis=0"],
            "the mean of nothing is not defined",
        ),
        (&[&file, "--axis=2"], "has 2 dimensions and no axis 2"),
        (
            &[&file, "--op=argmax"],
            "the argmax is found along an --axis only",
        ),
        (
            &[&file, "--op=sum,median"],
            "'median' is not an operator; use one of sum product",
        ),
        (&[&file, "--type=f16"], "holds i32 values, not f16"),
        (
            &[&file, "--delimiter=ab"],
            "a delimiter is one ASCII character",
        ),
    ] {
        for device in ["--device=cpu", "--device=emulator"] {
            refuses(&[&["reduce", device], arguments].concat(), culprit);
        }
    }
    assert_eq!(
        results_of(&empty, &["--axis=0"])["sum"],
        serde_json::json!([-0.0, -0.0, -0.0])
    );
}

#[test]
fn the_cores_sum_integers_without_an_overflow() {
    let scratch = Scratch::new();
    for (element_type, least, greatest) in [
        ("i32", i128::from(i32::MIN), i128::from(i32::MAX)),
        ("u64", 0, u64::MAX.into()),
    ] {
        let bytes = if element_type == "i32" { 4 } else { 8 };
        let values = [greatest; 5].into_iter().chain([least; 2]);
        let values: Vec<u8> = values
            .flat_map(|value| value.to_le_bytes()[..bytes].to_vec())
            .collect();
        let file = scratch.file("large.bin", &values);
        let arguments = [
            "reduce",
            &file,
            "--device=cpu",
            "--op=sum,mean",
            "--type",
            element_type,
        ];
        let text = output_of(&arguments);
        let sum = 5 * greatest + 2 * least;
        assert!(
            text.contains(&format!("sum = {sum}\nmean = {:?}\n", sum as f64 / 7.0)),
            "{text}"
        );
    }
}
