//! One column of a `.parquet` file, page by page.

use super::InputError;
use super::guard::guarded;
use super::open::Name;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use warpfold_dynamic::TypeName;

/// Values that are decoded at once.
const BATCH: usize = 1 << 16;

/// A column and how much of it has been read.
pub(super) struct ParquetColumn {
    path: PathBuf,
    name: String,
    element_type: TypeName,
    file: SerializedFileReader<File>,
    file_bytes: u64,
    /// The column's number among those that are not nested.
    leaf: usize,
    /// The row group after the current one.
    next_group: usize,
    current: Option<ColumnReader>,
    /// Rows of the current group that are left.
    left: u64,
    /// Rows that have been read.
    rows: u64,
}

impl ParquetColumn {
    /// Opens a column: by its name or by its number from 0; it may be left out where there is only one. A type that is given has to be its own.
    pub(super) fn open(
        path: &Path,
        column: Option<&str>,
        element_type: Option<TypeName>,
    ) -> Result<Self, InputError> {
        guarded(|| Self::try_open(path, column, element_type))
            .unwrap_or_else(|| Err(broken(path, "its description contradicts itself")))
    }

    fn try_open(
        path: &Path,
        asked: Option<&str>,
        asked_type: Option<TypeName>,
    ) -> Result<Self, InputError> {
        if Name::of(path).is_gz {
            return Err(broken(
                path,
                "it is compressed as a whole; unpack it with gunzip",
            ));
        }
        let unreadable = |source| InputError::unreadable(path, source);
        let file = File::open(path).map_err(unreadable)?;
        let file_bytes = file.metadata().map_err(unreadable)?.len();
        let file = SerializedFileReader::new(file).map_err(|error| said(path, error))?;
        let schema = file.metadata().file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
        let column = choose(path, &names, asked)?;
        let name = names[column].clone();
        let leaf = (0..schema.num_columns())
            .find(|&leaf| schema.get_column_root_idx(leaf) == column)
            .filter(|_| fields[column].is_primitive());
        let descriptor = leaf.map(|leaf| (leaf, schema.column(leaf)));
        let found = match &descriptor {
            Some((_, column)) if column.max_rep_level() == 0 => type_of(column),
            _ => Err("nested values".to_owned()),
        };
        let (Some((leaf, _)), Ok(found)) = (descriptor, &found) else {
            return Err(InputError::NoNumbersInColumn {
                path: path.into(),
                column: name,
                what: found.err().unwrap_or_default(),
            });
        };
        let element_type: TypeName = found.parse().expect("it is one of the types");
        if let Some(asked) = asked_type
            && asked != element_type
        {
            return Err(InputError::OtherType {
                path: path.into(),
                found: element_type.to_string(),
                asked: asked.to_string(),
            });
        }
        Ok(Self {
            path: path.into(),
            name,
            element_type,
            file,
            file_bytes,
            leaf,
            next_group: 0,
            current: None,
            left: 0,
            rows: 0,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn element_type(&self) -> TypeName {
        self.element_type
    }

    /// The bytes of the next values; none at the end.
    pub(super) fn next(&mut self) -> Result<Vec<u8>, InputError> {
        let row = self.rows;
        guarded(|| self.try_next()).unwrap_or_else(|| {
            let reason = format!(
                "the values of '{}' cannot be decoded from row {row} on",
                self.name
            );
            Err(broken(&self.path, reason))
        })
    }

    fn try_next(&mut self) -> Result<Vec<u8>, InputError> {
        loop {
            let Some(reader) = &mut self.current else {
                if self.next_group == self.file.num_row_groups() {
                    return Ok(Vec::new());
                }
                self.open_group()?;
                continue;
            };
            let each = self.element_type.bytes();
            let batch = match reader {
                ColumnReader::BoolColumnReader(column) => batch(column, |values: &[bool]| {
                    values.iter().map(|&value| u8::from(value)).collect()
                }),
                ColumnReader::Int32ColumnReader(column) => {
                    batch(column, |values| match self.element_type.name() {
                        "i8" => narrowed::<i8, _>(values, i8::to_ne_bytes),
                        "u8" => narrowed::<u8, _>(values, u8::to_ne_bytes),
                        "i16" => narrowed::<i16, _>(values, i16::to_ne_bytes),
                        "u16" => narrowed::<u16, _>(values, u16::to_ne_bytes),
                        _ => copied(values),
                    })
                }
                ColumnReader::Int64ColumnReader(column) => batch(column, copied),
                ColumnReader::FloatColumnReader(column) => batch(column, copied),
                ColumnReader::DoubleColumnReader(column) => batch(column, copied),
                ColumnReader::FixedLenByteArrayColumnReader(column) => batch(column, |values| {
                    let halves = values.iter().filter_map(|value| value.data().first_chunk());
                    halves
                        .flat_map(|half| u16::from_le_bytes(*half).to_ne_bytes())
                        .collect()
                }),
                // The others have been refused.
                _ => Ok(Batch::default()),
            };
            let batch = batch.map_err(|error| said(&self.path, error))?;
            if let Some(null) = batch.null {
                return Err(InputError::NullInColumn {
                    path: self.path.clone(),
                    column: self.name.clone(),
                    row: self.rows + null as u64,
                });
            }
            let rows = batch.rows as u64;
            if rows == 0 && self.left == 0 {
                self.current = None;
                continue;
            }
            if rows == 0 || rows > self.left || batch.bytes.len() != batch.rows * each {
                let reason = format!(
                    "row group {} has other values of '{}' than it promises",
                    self.next_group - 1,
                    self.name
                );
                return Err(broken(&self.path, reason));
            }
            (self.rows, self.left) = (self.rows + rows, self.left - rows);
            return Ok(batch.bytes);
        }
    }

    /// Goes to the next row group. Its places in the file are looked at first.
    fn open_group(&mut self) -> Result<(), InputError> {
        let number = self.next_group;
        let group = self.file.metadata().row_group(number);
        let reason = if group.num_columns() <= self.leaf {
            Some(format!("row group {number} has no column '{}'", self.name))
        } else {
            refusal_of(group, self.leaf, self.file_bytes)
                .map(|reason| format!("'{}' in row group {number} {reason}", self.name))
        };
        if let Some(reason) = reason {
            return Err(broken(&self.path, reason));
        }
        let reader = self.file.get_row_group(number);
        let reader = reader.and_then(|group| group.get_column_reader(self.leaf));
        self.current = Some(reader.map_err(|error| said(&self.path, error))?);
        self.left = group.num_rows() as u64;
        self.next_group += 1;
        Ok(())
    }
}

/// Why a column of a row group cannot be read, if so.
fn refusal_of(group: &RowGroupMetaData, leaf: usize, file_bytes: u64) -> Option<String> {
    let column = group.column(leaf);
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    let end = start.checked_add(column.compressed_size());
    let is_there = end.is_some_and(|end| start >= 0 && end >= start && end as u64 <= file_bytes);
    if !is_there || column.file_path().is_some() {
        return Some("lies outside the file".to_owned());
    }
    if group.num_rows() < 0 {
        return Some("has a negative number of rows".to_owned());
    }
    match column.compression() {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::ZSTD(_) => None,
        other => {
            let name = other.to_string();
            let name = name.split('(').next().unwrap_or_default();
            Some(format!(
                "is compressed by {name}; save it with snappy, zstd or gzip"
            ))
        }
    }
}

/// Some values of a column.
#[derive(Default)]
struct Batch {
    rows: usize,
    bytes: Vec<u8>,
    /// The first row without a value.
    null: Option<usize>,
}

fn batch<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    bytes: impl FnOnce(&[T::T]) -> Vec<u8>,
) -> Result<Batch, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (rows, _, _) = column.read_records(BATCH, Some(&mut levels), None, &mut values)?;
    Ok(Batch {
        rows,
        bytes: bytes(&values),
        // A column without nulls has no levels.
        null: levels.iter().position(|&level| level == 0),
    })
}

/// The bytes of integers of a smaller type, up to the first that is none of it.
fn narrowed<T: TryFrom<i32>, const N: usize>(
    values: &[i32],
    bytes: impl Fn(T) -> [u8; N],
) -> Vec<u8> {
    let integers = values.iter().map_while(|&value| T::try_from(value).ok());
    integers.flat_map(bytes).collect()
}

fn copied<T: bytemuck::Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

/// The number of the column that is asked for, as in a table of text.
fn choose(path: &Path, names: &[String], asked: Option<&str>) -> Result<usize, InputError> {
    let path = || path.to_owned();
    let Some(asked) = asked else {
        return match names {
            [_] => Ok(0),
            _ => Err(InputError::ColumnNotChosen {
                path: path(),
                columns: names.to_vec(),
            }),
        };
    };
    let first = names.iter().position(|name| name == asked);
    let last = names.iter().rposition(|name| name == asked);
    match (first, last) {
        (Some(first), Some(last)) if first != last => Err(InputError::SameName {
            path: path(),
            column: asked.to_owned(),
            first,
            last,
        }),
        (Some(first), _) => Ok(first),
        _ => (asked.parse().ok())
            .filter(|&number| number < names.len())
            .ok_or_else(|| InputError::NoSuchName {
                path: path(),
                column: asked.to_owned(),
                columns: names.to_vec(),
            }),
    }
}

/// The type of a column's values, or what they are where they are no numbers.
fn type_of(column: &ColumnDescriptor) -> Result<&'static str, String> {
    let (physical, logical) = (column.physical_type(), column.logical_type_ref());
    // Older files have only this one; newer ones both or, for nanoseconds and f16, the other.
    let converted = column.converted_type();
    if logical == Some(&LogicalType::Float16) && column.type_length() == 2 {
        return Ok("f16");
    }
    let is_plain = matches!(logical, None | Some(LogicalType::Integer(_)));
    let found = match (physical, converted) {
        _ if !is_plain => None,
        (Physical::BOOLEAN, ConvertedType::NONE) => Some("bool"),
        (Physical::INT32, ConvertedType::INT_8) => Some("i8"),
        (Physical::INT32, ConvertedType::UINT_8) => Some("u8"),
        (Physical::INT32, ConvertedType::INT_16) => Some("i16"),
        (Physical::INT32, ConvertedType::UINT_16) => Some("u16"),
        (Physical::INT32, ConvertedType::NONE | ConvertedType::INT_32) => Some("i32"),
        (Physical::INT32, ConvertedType::UINT_32) => Some("u32"),
        (Physical::INT64, ConvertedType::NONE | ConvertedType::INT_64) => Some("i64"),
        (Physical::INT64, ConvertedType::UINT_64) => Some("u64"),
        (Physical::FLOAT, ConvertedType::NONE) => Some("f32"),
        (Physical::DOUBLE, ConvertedType::NONE) => Some("f64"),
        _ => None,
    };
    found.ok_or_else(|| match logical {
        Some(LogicalType::String | LogicalType::Json) => "text".to_owned(),
        Some(LogicalType::Timestamp(_)) => "timestamps".to_owned(),
        Some(LogicalType::Time(_)) => "times".to_owned(),
        _ if converted != ConvertedType::NONE => format!("{converted} values"),
        _ => format!("{physical} values"),
    })
}

/// What the crate says is wrong.
fn said(path: &Path, error: ParquetError) -> InputError {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                InputError::unreadable(path, *source)
            }
            Ok(source) => broken(path, source.to_string()),
            Err(source) => broken(path, source.to_string()),
        },
        ParquetError::General(reason) | ParquetError::EOF(reason) | ParquetError::NYI(reason) => {
            broken(path, reason)
        }
        error => broken(path, error.to_string()),
    }
}

fn broken(path: &Path, reason: impl Into<String>) -> InputError {
    InputError::BrokenParquet {
        path: path.into(),
        reason: reason.into(),
    }
}
