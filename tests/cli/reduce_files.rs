//! `warpfold reduce` on files as other programs write them: right, or one clear sentence.

use super::*;

/// A .npy file with the header that NumPy writes for such an array.
fn npy(descriptor: &str, fortran_order: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let header =
        format!("{{'descr': {descriptor}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).expect("it is short");
    let start = [&b"\x93NUMPY\x01\x00"[..], &length.to_le_bytes()].concat();
    [&start, header.as_bytes(), bytes].concat()
}

#[track_caller]
fn result_of(file: &str, more: &[&str]) -> Value {
    let json = json_of(&[&["reduce", file, "--device", "emulator"], more].concat());
    assert_eq!(json["is_right"], true, "{file}");
    json["result"].clone()
}

#[test]
fn an_array_is_read_in_any_order_of_its_bytes_and_its_axes() {
    let scratch = Scratch::new();
    let integers = [1_i32, 2, 3, 4, 5, -600];
    let little = integers.map(i32::to_le_bytes).concat();
    let big = integers.map(i32::to_be_bytes).concat();
    let floats = [1.5_f32, -0.25].map(f32::to_be_bytes).concat();
    for (name, contents, sum) in [
        (
            "rows.npy",
            npy("'<i4'", false, "(2, 3)", &little),
            Value::from(-585),
        ),
        (
            "columns.npy",
            npy("'<i4'", true, "(2, 3)", &little),
            Value::from(-585),
        ),
        (
            "deep.npy",
            npy("'<i4'", false, "(1, 2, 1, 3, 1)", &little),
            Value::from(-585),
        ),
        (
            "big_endian.npy",
            npy("'>i4'", false, "(6,)", &big),
            Value::from(-585),
        ),
        (
            "big_endian_columns.npy",
            npy("'>i4'", true, "(3, 2)", &big),
            Value::from(-585),
        ),
        (
            "big_endian_floats.npy",
            npy("'>f4'", false, "(2,)", &floats),
            Value::from(1.25),
        ),
        (
            "no_dimension.npy",
            npy("'<i4'", false, "()", &little[20..]),
            Value::from(-600),
        ),
        (
            "no_rows.npy",
            npy("'<i4'", false, "(0, 3)", &[]),
            Value::from(0),
        ),
    ] {
        assert_eq!(
            result_of(&scratch.file(name, &contents), &[]),
            sum,
            "{name}"
        );
    }
}

#[test]
fn an_array_of_anything_but_numbers_is_refused_by_the_name_of_its_type() {
    let scratch = Scratch::new();
    for (descriptor, named) in [
        ("'|O'", "NumPy type '|O'"),
        ("'<U1'", "NumPy type '<U1'"),
        ("'<c16'", "NumPy type '<c16'"),
        ("'<f16'", "NumPy type '<f16'"),
        ("'<M8[D]'", "NumPy type '<M8[D]'"),
        (
            "[('a', '<i4'), ('b', '<f4')]",
            "NumPy type [('a', '<i4'), ('b', '<f4')",
        ),
        ("[('a', '<i4')]", "NumPy type [('a', '<i4')"),
    ] {
        let file = scratch.file("array.npy", &npy(descriptor, false, "(1,)", &[0; 8]));
        refuses(&["reduce", &file, "--device", "emulator"], named);
    }
    // A pickle, as NumPy writes behind the header of an array of objects, is not even looked at.
    let pickle = npy("'|O'", false, "(2,)", b"\x80\x04cos\nsystem\n");
    refuses(&["reduce", &scratch.file("pickle.npy", &pickle)], "'|O'");
}

#[test]
fn a_table_is_read_whatever_ends_its_lines_and_begins_its_file() {
    let scratch = Scratch::new();
    for (name, contents, column, sum) in [
        ("unix.csv", "a,b\n1,2\n3,4\n", "b", 6),
        ("windows.csv", "a,b\r\n1,2\r\n3,4\r\n", "b", 6),
        ("no_last_line_end.csv", "a,b\r\n1,2\r\n3,4", "b", 6),
        ("old_mac.csv", "a,b\r1,2\r3,4\r", "b", 6),
        ("spreadsheet.csv", "\u{feff}a,b\r\n1,2\r\n3,4\r\n", "a", 4),
        (
            "quoted_by_a_spreadsheet.csv",
            "\u{feff}\"a\",\"b\"\r\n\"1\",\"2\"\r\n",
            "a",
            1,
        ),
        ("blank_lines.csv", "a,b\n\n1,2\n\n\n3,4\n\n", "b", 6),
        ("spaces.csv", "a , b\n 1 ,\t2\n", "b", 2),
        ("other_columns.csv", "name,b\nNile,2\n,4\n", "b", 6),
    ] {
        let file = scratch.file(name, contents.as_bytes());
        let result = result_of(&file, &["--column", column]);
        assert_eq!(result, f64::from(sum), "{name}");
    }
}

#[test]
fn a_nan_in_a_table_is_a_value_and_makes_the_sum_one() {
    let scratch = Scratch::new();
    for cells in ["1.5\nNaN\n", "1\nnan\n2\n", "NaN\n1\n"] {
        let file = scratch.file("nan.csv", format!("a\n{cells}").as_bytes());
        assert_eq!(result_of(&file, &[]), "NaN", "{cells}");
        assert_eq!(result_of(&file, &["--type", "f32"]), "NaN", "{cells}");
        refuses(
            &["reduce", &file, "--type", "i32", "--device", "emulator"],
            "is not a value of type i32",
        );
    }
}

#[test]
fn a_table_with_something_else_in_the_column_is_refused_with_line_and_cell() {
    let scratch = Scratch::new();
    for (contents, column, culprit) in [
        (
            &b"a,b\n1,2\n3,four\n"[..],
            "b",
            "line 3: 'four' is not a value of type",
        ),
        (b"a\n1\nNA\n", "a", "line 3: 'NA' is not a value of type"),
        (b"a\n1\n-\n", "a", "line 3: '-' is not a value of type"),
        (
            b"a\r\n1\r\n0x10\r\n",
            "a",
            "line 3: '0x10' is not a value of type",
        ),
        (
            b"a\n\"1,000\"\n",
            "a",
            "line 2: '1,000' is not a value of type",
        ),
        (b"a;b\n1;2\n", "0", "line 2: '1;2' is not a value of type"),
        (b"a,b\n1,2\n,4\n", "a", "line 3: the cell is empty"),
        (b"a,b\n1,2\n3\n", "b", "line 3: the row has 1 cells"),
        (
            b"a,b\n1,2\n",
            "c",
            "has no column 'c'; its first row is: a, b",
        ),
        (
            b"\xef\xbb\xbfa,b\r\n1,2\r\n",
            "c",
            "has no column 'c'; its first row is: a, b",
        ),
        (
            b"gr\xf6\xdfe,b\n1,x\n",
            "b",
            "line 2: 'x' is not a value of type",
        ),
        (b"a\n1\n\0\n", "a", "line 3: '"),
        (b"\xef\xbb\xbfa\r\n1\r\nx\r\n", "a", "line 3: 'x'"),
        (b"a\r1\rx\r", "a", "line 3: 'x'"),
        (b"a\n\n1\n\n\nx\n", "a", "line 6: 'x'"),
        (b"a\r\n\r\nx\r\n", "a", "line 3: 'x'"),
        (b"a,b\r\n1,\"two\r\nlines\"\r\nx,2\r\n", "a", "line 4: 'x'"),
        (
            b"a,b\r\n\r\n1,2\r\n3\r\n",
            "b",
            "line 4: the row has 1 cells",
        ),
    ] {
        let file = scratch.file("table.csv", contents);
        refuses(&["reduce", &file, "--column", column], culprit);
    }
}
