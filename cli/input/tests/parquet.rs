//! Columns of Parquet files, as the writer of the crate `parquet` leaves them, and as a broken disk would.
#![cfg(feature = "parquet")]

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::Path;
use std::sync::Arc;
use warpfold_input::found::{Asked, Found, Place};

/// Writes columns of one type, with `None` for nulls: each row group has the same values in every column.
fn file<T: DataType>(
    columns: &[&str],
    groups: &[&[Option<T::T>]],
    properties: WriterProperties,
) -> Vec<u8> {
    let columns: String = (columns.iter())
        .map(|column| format!("{column}{} ", if column.ends_with('}') { "" } else { ";" }))
        .collect();
    let schema = format!("message m {{ {columns} }}");
    let schema = Arc::new(parse_message_type(&schema).expect("it is a schema"));
    let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties));
    let mut writer = writer.expect("it is memory");
    for group in groups {
        let mut rows = writer.next_row_group().expect("it is memory");
        while let Some(mut column) = rows.next_column().expect("it is memory") {
            let levels: Vec<i16> = group.iter().map(|value| value.is_some().into()).collect();
            let values: Vec<T::T> = group.iter().flatten().cloned().collect();
            let typed = column.typed::<T>();
            let written = typed.write_batch(&values, Some(&levels), Some(&vec![0; levels.len()]));
            written.expect("it is memory");
            column.close().expect("it is memory");
        }
        rows.close().expect("it is memory");
    }
    writer.into_inner().expect("it is memory")
}

/// The type and the bytes of a column.
fn read(
    file: &[u8],
    column: Option<&str>,
    element_type: Option<&str>,
) -> Result<(String, Vec<u8>), String> {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("it.parquet");
    std::fs::write(&path, file).expect("there is room");
    read_path(&path, column, element_type)
}

fn read_path(
    path: &Path,
    column: Option<&str>,
    element_type: Option<&str>,
) -> Result<(String, Vec<u8>), String> {
    let asked = Asked {
        element_type: element_type.map(|name| name.parse().expect("it is a type")),
        type_of_tables: "f64".parse().expect("it is a type"),
        column,
        delimiter: None,
    };
    let found = Found::open(path, asked).map_err(|error| error.to_string())?;
    let Place::Stream(mut values) = found.place else {
        panic!("it has to be decoded");
    };
    let (mut all, mut room) = (Vec::new(), vec![0; 1000]);
    loop {
        let filled = values.fill(&mut room).map_err(|error| error.to_string())?;
        all.extend_from_slice(&room[..filled]);
        if filled < room.len() {
            return Ok((found.element_type.to_string(), all));
        }
    }
}

#[track_caller]
fn refuses(file: &[u8], column: Option<&str>, culprit: &str) {
    let sentence = read(file, column, None).unwrap_err();
    assert!(sentence.contains(culprit), "{culprit}: {sentence}");
}

fn usual() -> WriterProperties {
    WriterProperties::builder().build()
}

/// The column is found with this type, and its values as these bytes.
#[track_caller]
fn holds<T: DataType>(column: &str, values: &[T::T], element_type: &str, bytes: &[u8]) {
    let values: Vec<Option<T::T>> = values.iter().cloned().map(Some).collect();
    let expected = Ok((element_type.to_owned(), bytes.to_vec()));
    for repetition in ["required", "optional"] {
        let column = format!("{repetition} {column}");
        let (first, second) = values.split_at(1);
        let file = file::<T>(&[&column], &[first, &[], second], usual());
        assert_eq!(read(&file, None, None), expected, "{column}");
        assert_eq!(read(&file, Some("a"), Some(element_type)), expected);
        assert_eq!(read(&file, Some("0"), None), expected);
    }
}

#[test]
fn a_column_of_every_type_is_read_as_it_is() {
    let ends = [i32::MIN, -1, i32::MAX];
    holds::<Int32Type>(
        "int32 a",
        &ends,
        "i32",
        &ends.map(i32::to_ne_bytes).concat(),
    );
    holds::<Int32Type>(
        "int32 a (INTEGER(32,false))",
        &[1, -1],
        "u32",
        &[1, u32::MAX].map(u32::to_ne_bytes).concat(),
    );
    holds::<Int32Type>(
        "int32 a (INTEGER(16,true))",
        &[1, -300],
        "i16",
        &[1, -300].map(i16::to_ne_bytes).concat(),
    );
    holds::<Int32Type>(
        "int32 a (INTEGER(16,false))",
        &[1, 65_535],
        "u16",
        &[1, u16::MAX].map(u16::to_ne_bytes).concat(),
    );
    holds::<Int32Type>("int32 a (INTEGER(8,true))", &[1, -2], "i8", &[1, 254]);
    holds::<Int32Type>("int32 a (INTEGER(8,false))", &[1, 255], "u8", &[1, 255]);
    holds::<Int32Type>("int32 a (UINT_8)", &[1, 255], "u8", &[1, 255]);
    let ends = [i64::MIN, -1, i64::MAX];
    holds::<Int64Type>(
        "int64 a",
        &ends,
        "i64",
        &ends.map(i64::to_ne_bytes).concat(),
    );
    holds::<Int64Type>(
        "int64 a (INTEGER(64,false))",
        &[1, -1],
        "u64",
        &[1, u64::MAX].map(u64::to_ne_bytes).concat(),
    );
    holds::<FloatType>(
        "float a",
        &[1.5, f32::INFINITY],
        "f32",
        &[1.5, f32::INFINITY].map(f32::to_ne_bytes).concat(),
    );
    holds::<DoubleType>(
        "double a",
        &[0.1, -0.0],
        "f64",
        &[0.1, -0.0].map(f64::to_ne_bytes).concat(),
    );
    holds::<BoolType>("boolean a", &[true, false, true], "bool", &[1, 0, 1]);
    let half = FixedLenByteArray::from(vec![0x00, 0x3e]);
    holds::<FixedLenByteArrayType>(
        "fixed_len_byte_array(2) a (FLOAT16)",
        &[half.clone(), half],
        "f16",
        &[0x3e00_u16, 0x3e00].map(u16::to_ne_bytes).concat(),
    );
}

/// More values than are decoded at once, in pages and row groups of odd sizes, with a dictionary and without, packed in every way.
#[test]
fn many_values_come_in_pieces_whatever_packs_them() {
    let values: Vec<i64> = (0..150_001).map(|value| value * 7919 % 10_007).collect();
    let rows: Vec<Option<i64>> = values.iter().copied().map(Some).collect();
    let (first, second) = rows.split_at(70_001);
    let expected = Ok(("i64".to_owned(), bytemuck::cast_slice(&values).to_vec()));
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        for (version, has_dictionary) in [
            (WriterVersion::PARQUET_1_0, true),
            (WriterVersion::PARQUET_2_0, true),
            (WriterVersion::PARQUET_2_0, false),
        ] {
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_dictionary_enabled(has_dictionary)
                .set_data_page_row_count_limit(30_011)
                .build();
            let file = file::<Int64Type>(&["optional int64 a"], &[first, second], properties);
            assert!(
                read(&file, None, None) == expected,
                "{compression} {version:?}"
            );
        }
    }
}

#[test]
fn a_file_without_rows_has_no_values() {
    for groups in [&[][..], &[&[][..]]] {
        let file = file::<FloatType>(&["required float a"], groups, usual());
        assert_eq!(read(&file, None, None), Ok(("f32".to_owned(), vec![])));
    }
}

#[test]
fn an_integer_beyond_its_type_is_refused() {
    for (column, value) in [
        ("int32 a (INTEGER(8,true))", 128),
        ("int32 a (INTEGER(8,false))", -1),
        ("int32 a (INTEGER(16,true))", -32_769),
        ("int32 a (INTEGER(16,false))", 65_536),
    ] {
        let column = format!("required {column}");
        let file = file::<Int32Type>(&[&column], &[&[Some(7), Some(value)]], usual());
        refuses(
            &file,
            None,
            "row group 0 has other values of 'a' than it promises",
        );
    }
}

#[test]
fn a_null_is_refused_with_its_row() {
    let some = vec![Some(1); 70_000];
    let groups = [&some[..], &[Some(1), Some(2), None, Some(3), None]];
    let file = file::<Int32Type>(&["optional int32 a"], &groups, usual());
    refuses(
        &file,
        None,
        "it.parquet, column 'a', row 70002 (from 0): the value is null; remove the row or give it a value",
    );
}

#[test]
fn columns_go_by_name_or_number_and_are_named_where_they_do_not() {
    let columns = ["required int32 a", "required int32 b", "required int32 2"];
    let three = file::<Int32Type>(&columns, &[&[Some(7)]], usual());
    for column in ["b", "1", "2"] {
        assert!(read(&three, Some(column), None).is_ok());
    }
    refuses(
        &three,
        None,
        "has 3 columns (a, b, 2); choose one with --column",
    );
    for column in ["c", "3", "-1", ""] {
        let culprit = format!("has no column '{column}'; its columns are: a, b, 2");
        refuses(&three, Some(column), &culprit);
    }
    let columns = ["required int32 a", "required int32 b", "required int32 a"];
    let twice = file::<Int32Type>(&columns, &[&[Some(7)]], usual());
    refuses(&twice, Some("a"), "columns 0 and 2 are both named 'a'");
    assert!(read(&twice, Some("2"), None).is_ok());
    let other = read(&three, Some("a"), Some("f64")).unwrap_err();
    assert!(other.contains("holds i32 values, not f64"), "{other}");
}

#[test]
fn what_is_no_number_is_refused_by_its_column() {
    for (column, what) in [
        ("required int32 a (DATE)", "DATE values"),
        ("required int32 a (DECIMAL(9,2))", "DECIMAL values"),
        ("required int32 a (TIME(MILLIS,true))", "times"),
        ("required group a { required int32 b; }", "nested values"),
        ("repeated int32 a", "nested values"),
        (
            "optional group a (LIST) { repeated group list { optional int32 element; } }",
            "nested values",
        ),
    ] {
        let file = file::<Int32Type>(&[column], &[], usual());
        let culprit = format!("it.parquet: column 'a' holds {what}; choose a column of numbers");
        refuses(&file, None, &culprit);
    }
    for (column, what) in [
        ("required int64 a (TIMESTAMP(NANOS,true))", "timestamps"),
        ("required int64 a (TIME(NANOS,true))", "times"),
    ] {
        refuses(&file::<Int64Type>(&[column], &[], usual()), None, what);
    }
    for (column, what) in [
        ("required binary a (STRING)", "text"),
        ("required binary a", "BYTE_ARRAY values"),
    ] {
        let text = ByteArray::from("1");
        let file = file::<ByteArrayType>(&[column], &[&[Some(text)]], usual());
        refuses(&file, None, what);
    }
    let file = file::<Int32Type>(&["required int96 a"], &[], usual());
    refuses(&file, None, "INT96 values");
}

/// Files with everything that a reader has to trust: pages of both versions, dictionaries, levels, and each way of packing.
fn samples() -> Vec<Vec<u8>> {
    let values: Vec<Option<i32>> = (0..40).map(|value| Some(value % 7)).collect();
    let packed = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let mut samples = Vec::new();
    for (number, compression) in packed.into_iter().enumerate() {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_writer_version(versions[number % 2])
            .set_dictionary_enabled(number < 2)
            .build();
        let column = ["optional int32 a (INTEGER(16,true))", "required int32 a"][number / 2];
        samples.push(file::<Int32Type>(
            &[column],
            &[&values[..15], &values[15..]],
            properties,
        ));
    }
    samples
}

#[test]
fn a_file_that_ends_early_is_refused() {
    for sample in samples() {
        for end in 0..sample.len() {
            refuses(
                &sample[..end],
                None,
                "it.parquet is not a whole .parquet file: ",
            );
        }
    }
}

/// Whatever a byte becomes: values or one sentence, and no panic.
#[test]
fn no_byte_of_a_file_is_trusted() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("it.parquet");
    for sample in samples() {
        for place in 0..sample.len() {
            for byte in [0, 0x7f, 0xff, sample[place] ^ 0x10] {
                let mut broken = sample.clone();
                broken[place] = byte;
                std::fs::write(&path, &broken).expect("there is room");
                if let Err(sentence) = read_path(&path, None, None) {
                    assert!(sentence.contains("it.parquet"), "{sentence}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_parquet_file_is_said() {
    refuses(b"", None, "it.parquet is not a whole .parquet file: ");
    refuses(
        b"a,b\n1,2\n3,4\n",
        None,
        "it.parquet is not a whole .parquet file: ",
    );
    let missing = read_path(Path::new("missing.parquet"), None, None).unwrap_err();
    assert!(missing.contains("cannot read missing.parquet"), "{missing}");
    let gz = read_path(Path::new("it.parquet.gz"), None, None).unwrap_err();
    assert!(gz.contains("unpack it with gunzip"), "{gz}");
}
