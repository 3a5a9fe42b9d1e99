//! Where the values of a file are: side by side in it, for many to read at once, or in what only one can read from its beginning to its end.

use super::archive::Member;
use super::array::Array;
use super::csv::CsvReader;
use super::npy_header::MOST_HEADER_BYTES;
use super::npy_values::NpyValues;
use super::open::{Name, is_table, open};
#[cfg(feature = "parquet")]
use super::parquet::ParquetColumn;
use super::{FileNumber, InputError};
use rawzip::FileReader;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use warpfold_dynamic::TypeName;

/// Values of a table that are read at once.
const TABLE_VALUES: usize = 1 << 16;

/// How a file is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The type; by default the file's own.
    pub element_type: Option<TypeName>,
    /// The type of the cells of tables.
    pub type_of_tables: TypeName,
    /// The column of a table or a Parquet file, or the array of an archive.
    pub column: Option<&'a str>,
    /// What stands between the cells of a table; a file is one where it is given.
    pub delimiter: Option<u8>,
}

/// The values of a file.
pub struct Found {
    /// Their type.
    pub element_type: TypeName,
    /// The cell above them in a table, the name of a Parquet file's column, or that of the array in an archive.
    pub name: Option<String>,
    /// Whether they lie in another order than NumPy counts them.
    pub is_reordered: bool,
    /// Where they are.
    pub place: Place,
}

/// Where values are.
pub enum Place {
    /// Side by side.
    InFile {
        /// The open file, which is a regular one.
        file: File,
        /// The place of the first byte.
        start: u64,
        /// How many bytes there are.
        bytes: u64,
        /// Whether the bytes of a value are in another order than this computer's.
        is_swapped: bool,
    },
    /// In what is read from its beginning to its end.
    Stream(Box<dyn Values>),
}

/// Values that come one after another.
pub trait Values: Send {
    /// Fills the room with the next values, and says how many bytes that are: less than there is room for at the end only.
    ///
    /// # Errors
    /// One sentence: what is wrong, and where.
    fn fill(&mut self, room: &mut [u8]) -> Result<usize, InputError>;
}

impl Found {
    /// Looks at the beginning of a file.
    ///
    /// # Errors
    /// One sentence: the file cannot be read, or is not what it should be.
    pub fn open(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        let name = Name::of(path);
        let extension = name.extension.as_deref();
        if extension == Some("parquet") {
            return Self::parquet(path, asked);
        }
        if asked.delimiter.is_some() || is_table(path) {
            return Self::table(path, asked);
        }
        match extension {
            Some("npz") if name.is_gz => return Self::npz_in_memory(path, asked),
            Some("npz") => return Self::npz(path, asked),
            _ => {}
        }
        if asked.column.is_some() {
            return Err(InputError::ColumnOfOther(path.into()));
        }
        match (extension, asked.element_type) {
            (Some("npy"), _) => Self::npy(path, asked),
            // A table otherwise.
            _ if name.is_standard_input => Self::npy(path, asked),
            (_, Some(element_type)) => Self::raw(path, element_type),
            (Some("bin"), None) => Err(InputError::NoType(path.into())),
            (_, None) => Err(InputError::UnknownFormat(path.into())),
        }
    }

    fn table(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        let table = Batches::table(path, asked)?;
        Ok(Self {
            name: table.column.header().map(str::to_owned),
            ..Self::flat(asked.type_of_tables, Place::Stream(Box::new(table)))
        })
    }

    #[cfg(feature = "parquet")]
    fn parquet(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        let column = ParquetColumn::open(path, asked.column, asked.element_type)?;
        let name = Some(column.name().to_owned());
        let element_type = column.element_type();
        let values = Box::new(Batches::new(column, ParquetColumn::next));
        Ok(Self {
            name,
            ..Self::flat(element_type, Place::Stream(values))
        })
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet(path: &Path, _: Asked<'_>) -> Result<Self, InputError> {
        Err(InputError::NoParquet(path.into()))
    }

    fn raw(path: &Path, element_type: TypeName) -> Result<Self, InputError> {
        let unreadable = |source| InputError::unreadable(path, source);
        let (file, length) = regular(path).map_err(unreadable)?;
        let place = match (file, length) {
            (Some(file), Some(bytes)) => {
                if !bytes.is_multiple_of(element_type.bytes() as u64) {
                    return Err(partial(path, bytes, element_type));
                }
                Place::InFile {
                    file,
                    start: 0,
                    bytes,
                    is_swapped: false,
                }
            }
            (file, _) => {
                let data: Box<dyn Read + Send> = match file {
                    Some(pipe) => Box::new(pipe),
                    None => open(path).map_err(unreadable)?,
                };
                Place::Stream(Box::new(Bytes::new(path, data, element_type)))
            }
        };
        Ok(Self::flat(element_type, place))
    }

    fn flat(element_type: TypeName, place: Place) -> Self {
        Self {
            element_type,
            name: None,
            is_reordered: false,
            place,
        }
    }

    fn npy(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        let unreadable = |source| InputError::unreadable(path, source);
        let (file, length) = regular(path).map_err(unreadable)?;
        let mut file = match (file, length) {
            (Some(file), Some(_)) => file,
            (Some(pipe), None) => return Self::npy_stream(path, Box::new(pipe), None, asked),
            (None, _) => {
                let data = open(path).map_err(unreadable)?;
                return Self::npy_stream(path, data, None, asked);
            }
        };
        let beginning = beginning(&mut file).map_err(unreadable)?;
        let header = NpyValues::read(path, &beginning, length, asked.element_type)?;
        Ok(Self::of_header(&header, |header| Place::InFile {
            file,
            start: header.start as u64,
            bytes: header.bytes,
            is_swapped: header.is_swapped,
        }))
    }

    fn npy_stream(
        path: &Path,
        mut data: Box<dyn Read + Send>,
        length: Option<u64>,
        asked: Asked<'_>,
    ) -> Result<Self, InputError> {
        let unreadable = |source| InputError::unreadable(path, source);
        let beginning = beginning(&mut data).map_err(unreadable)?;
        let header = NpyValues::read(path, &beginning, length, asked.element_type)?;
        let mut rest = Cursor::new(beginning);
        rest.set_position(header.start as u64);
        let values = Bytes {
            promised: Some(header.bytes),
            is_swapped: header.is_swapped,
            ..Bytes::new(path, Box::new(rest.chain(data)), header.element_type)
        };
        Ok(Self::of_header(&header, |_| {
            Place::Stream(Box::new(values))
        }))
    }

    fn of_header(header: &NpyValues, place: impl FnOnce(&NpyValues) -> Place) -> Self {
        Self {
            is_reordered: header.is_fortran && header.shape.len() > 1,
            ..Self::flat(header.element_type, place(header))
        }
    }

    /// An array of an archive that is compressed once more, whose directory is at its end.
    fn npz_in_memory(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        let array = Array::open(path, asked.element_type, asked.column)?;
        let values = Box::new(Cursor::new(array.values().to_vec()));
        let values = Bytes::new(path, values, array.element_type);
        Ok(Self {
            name: array.name,
            is_reordered: array.is_fortran && array.shape.len() > 1,
            ..Self::flat(array.element_type, Place::Stream(Box::new(values)))
        })
    }

    /// An array of an archive. One that is stored as it is lies in the file like any other; its check sum is then not looked at.
    fn npz(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        let unreadable = |source| InputError::unreadable(path, source);
        let mut file = FileReader::from(File::open(path).map_err(unreadable)?);
        let bytes = file.seek(SeekFrom::End(0)).map_err(unreadable)?;
        let member = Member::find(path, &file, bytes, asked.column)?;
        let mut file = file.into_inner();
        let (start, length) = (member.start, member.length);
        file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        let found = if member.is_deflated {
            Self::npy_stream(path, member.unpacked(file), Some(length), asked)?
        } else {
            let beginning = beginning(&mut (&file).take(length)).map_err(unreadable)?;
            let header = NpyValues::read(path, &beginning, Some(length), asked.element_type)?;
            Self::of_header(&header, |header| Place::InFile {
                file,
                start: start + header.start as u64,
                bytes: header.bytes,
                is_swapped: header.is_swapped,
            })
        };
        Ok(Self {
            name: Some(member.name),
            ..found
        })
    }
}

/// The open file, unless the name stands for something else, and its length where it is a regular one that holds the values as they are.
fn regular(path: &Path) -> io::Result<(Option<File>, Option<u64>)> {
    let name = Name::of(path);
    if name.is_gz || name.is_standard_input {
        return Ok((None, None));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let length = metadata.is_file().then_some(metadata.len());
    Ok((Some(file), length))
}

fn beginning(data: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    data.take(MOST_HEADER_BYTES as u64)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn partial(path: &Path, bytes: u64, element_type: TypeName) -> InputError {
    InputError::PartialValue {
        path: path.into(),
        bytes,
        element_type: element_type.to_string(),
        value_bytes: element_type.bytes(),
    }
}

/// Values as they lie in memory, end to end.
struct Bytes {
    path: PathBuf,
    data: Box<dyn Read + Send>,
    element_type: TypeName,
    is_swapped: bool,
    /// How many bytes there have to be; `None` where the last value is followed by nothing.
    promised: Option<u64>,
    read: u64,
}

impl Bytes {
    fn new(path: &Path, data: Box<dyn Read + Send>, element_type: TypeName) -> Self {
        Self {
            path: path.into(),
            data,
            element_type,
            is_swapped: false,
            promised: None,
            read: 0,
        }
    }

    /// Reads until the room is full, or the data end.
    fn read(&mut self, room: &mut [u8]) -> Result<usize, InputError> {
        let mut filled = 0;
        while filled < room.len() {
            match self.data.read(&mut room[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(InputError::unreadable(&self.path, error)),
            }
        }
        self.read += filled as u64;
        Ok(filled)
    }
}

impl Values for Bytes {
    fn fill(&mut self, room: &mut [u8]) -> Result<usize, InputError> {
        let left = self.promised.map(|promised| promised - self.read);
        let most = left.map_or(room.len(), |left| left.min(room.len() as u64) as usize);
        let filled = self.read(&mut room[..most])?;
        let each = self.element_type.bytes();
        // Also looks at the check sum.
        let has_more = self.promised.is_some()
            && filled < room.len()
            && filled == most
            && self.read(&mut [0])? > 0;
        match self.promised {
            Some(promised) if filled < most || has_more => {
                let follow = if has_more {
                    "more".to_owned()
                } else {
                    self.read.to_string()
                };
                return Err(InputError::BrokenNpy {
                    path: self.path.clone(),
                    reason: format!(
                        "its header promises {promised} bytes of {} values, and {follow} follow it",
                        self.element_type
                    ),
                });
            }
            Some(_) => {}
            None if filled < room.len() && !filled.is_multiple_of(each) => {
                return Err(partial(&self.path, self.read, self.element_type));
            }
            None => {}
        }
        if self.is_swapped {
            room[..filled].chunks_mut(each).for_each(<[u8]>::reverse);
        }
        Ok(filled)
    }
}

/// A column that is read some values at a time.
struct Batches<C> {
    column: C,
    /// The next values; none at the end.
    next: fn(&mut C) -> Result<Vec<u8>, InputError>,
    /// Values that have been read and not handed over.
    read: Vec<u8>,
    handed_over: usize,
}

impl<C> Batches<C> {
    fn new(column: C, next: fn(&mut C) -> Result<Vec<u8>, InputError>) -> Self {
        Self {
            column,
            next,
            read: Vec::new(),
            handed_over: 0,
        }
    }
}

impl Batches<CsvReader> {
    /// A column of a table of text.
    fn table(path: &Path, asked: Asked<'_>) -> Result<Self, InputError> {
        fn next<T: FileNumber>(column: &mut CsvReader) -> Result<Vec<u8>, InputError> {
            let values = column.read::<T>(TABLE_VALUES)?;
            Ok(bytemuck::cast_slice(&values).to_vec())
        }
        let asked_type = asked.type_of_tables.name();
        macro_rules! by_type {
            ($($variant:ident $number:ident $kind:ident $bits:tt;)*) => {
                match asked_type {
                    $(stringify!($number) => Ok(next::<$number> as fn(&mut CsvReader) -> _),)*
                    _ => Err(InputError::TypeOfTable {
                        path: path.to_owned(),
                        asked: asked_type.to_owned(),
                    }),
                }
            };
        }
        let next = warpfold_kernels::for_each_element!(by_type)?;
        let column = CsvReader::open(path, asked.column, asked.delimiter)?;
        Ok(Self::new(column, next))
    }
}

impl<C: Send> Values for Batches<C> {
    fn fill(&mut self, room: &mut [u8]) -> Result<usize, InputError> {
        let mut filled = 0;
        while filled < room.len() {
            if self.handed_over == self.read.len() {
                (self.read, self.handed_over) = ((self.next)(&mut self.column)?, 0);
                if self.read.is_empty() {
                    break;
                }
            }
            let more = &self.read[self.handed_over..];
            let count = more.len().min(room.len() - filled);
            room[filled..][..count].copy_from_slice(&more[..count]);
            filled += count;
            self.handed_over += count;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes of a file of this extension.
    fn read(
        extension: &str,
        contents: &[u8],
        element_type: Option<&str>,
    ) -> Result<Vec<u8>, String> {
        let file = tempfile::Builder::new().suffix(extension).tempfile();
        let file = file.expect("there is room");
        std::fs::write(file.path(), contents).expect("there is room");
        let asked = Asked {
            element_type: element_type.map(|name| name.parse().expect("it is a type")),
            type_of_tables: "f64".parse().expect("it is a type"),
            column: None,
            delimiter: None,
        };
        let found = Found::open(file.path(), asked).map_err(|error| error.to_string())?;
        match found.place {
            Place::Stream(mut values) => {
                let mut room = vec![0; 1 << 20];
                let filled = values.fill(&mut room).map_err(|error| error.to_string())?;
                Ok(room[..filled].to_vec())
            }
            Place::InFile {
                start,
                bytes,
                is_swapped,
                ..
            } => {
                let mut values = contents[start as usize..][..bytes as usize].to_vec();
                if is_swapped {
                    let each = found.element_type.bytes();
                    values.chunks_mut(each).for_each(<[u8]>::reverse);
                }
                Ok(values)
            }
        }
    }

    /// A `.npy` file of version 1.0 with this header dictionary.
    fn npy(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
        bytes.extend_from_slice(dictionary.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    fn gz(contents: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(contents).expect("it is memory");
        gz.finish().expect("it is memory")
    }

    const FOUR_I32: &str = "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }\n";

    #[test]
    fn arrays_are_found_as_they_are_and_compressed() {
        let data: Vec<u8> = [1, -2, 3, 4]
            .into_iter()
            .flat_map(i32::to_le_bytes)
            .collect();
        let square = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }";
        for header in [FOUR_I32, square] {
            let file = npy(header, &data);
            for asked in [None, Some("i32")] {
                assert_eq!(read(".npy", &file, asked), Ok(data.clone()));
                assert_eq!(read(".npy.gz", &gz(&file), asked), Ok(data.clone()));
            }
        }
        let big_endian = "{'descr': '>f8', 'fortran_order': False, 'shape': (), }";
        let file = npy(big_endian, &1.5_f64.to_be_bytes());
        let expected = Ok(1.5_f64.to_le_bytes().to_vec());
        assert_eq!(read(".npy", &file, None), expected);
        assert_eq!(read(".npy.gz", &gz(&file), None), expected);
        let empty = "{'descr': '<u8', 'fortran_order': False, 'shape': (0, 3), }";
        assert_eq!(read(".npy", &npy(empty, &[]), None), Ok(vec![]));
    }

    #[test]
    fn broken_files_are_refused_with_the_reason() {
        for (contents, reason) in [
            (vec![], "does not begin with the bytes"),
            (b"not an array".to_vec(), "does not begin with the bytes"),
            (b"\x93NUMPY\x01\x00".to_vec(), "ends before its header"),
            (
                b"\x93NUMPY\x01\x00\xff\x00{'descr'".to_vec(),
                "ends before its header",
            ),
            (npy("(1, 2)", &[]), "no Python dictionary"),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': 1, 'shape': (4,), }",
                    &[0; 16],
                ),
                "its fortran_order is 1, not True or False",
            ),
            (
                npy(
                    "{'descr': '<i2305843009213693953', 'fortran_order': False, 'shape': (4,), }",
                    &[0; 4],
                ),
                "'<i2305843009213693953'",
            ),
            (npy("{'descr': '<i4'}", &[]), "has no 'fortran_order'"),
            (npy(FOUR_I32, &[0; 15]), "does not match the 15 bytes"),
            (npy(FOUR_I32, &[0; 17]), "does not match the 17 bytes"),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }",
                    &[],
                ),
                "negative",
            ),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,), }",
                    &[],
                ),
                "does not match",
            ),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }",
                    &[],
                ),
                "does not match",
            ),
            (npy(&"(".repeat(9000), &[]), "no Python dictionary"),
            (
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(),
                "longer than any",
            ),
        ] {
            let message = read(".npy", &contents, None).unwrap_err();
            assert!(message.contains(reason), "{reason}: {message}");
        }
        for (bytes, reason) in [(15, "and 15 follow it"), (17, "and more follow it")] {
            let file = gz(&npy(FOUR_I32, &vec![0; bytes]));
            let message = read(".npy.gz", &file, None).unwrap_err();
            assert!(message.contains(reason), "{reason}: {message}");
        }
    }

    #[test]
    fn other_types_are_named() {
        for descriptor in ["|S3", "<c8", "|O"] {
            let header =
                format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': (0,), }}");
            let message = read(".npy", &npy(&header, &[]), None).unwrap_err();
            assert!(
                message.contains(&format!("NumPy type '{descriptor}'")),
                "{message}"
            );
        }
        let structure =
            "{'descr': [('a, b', '<i4'), ('c', '<f4')], 'fortran_order': False, 'shape': (0,), }";
        let message = read(".npy", &npy(structure, &[]), None).unwrap_err();
        assert!(
            message.contains("NumPy type [('a, b', '<i4'), ('c', '<f4')]"),
            "{message}"
        );
        let message = read(".npy", &npy(FOUR_I32, &[0; 16]), Some("f32")).unwrap_err();
        assert!(message.contains("holds i32 values, not f32"), "{message}");
    }

    #[test]
    fn a_raw_value_must_be_whole() {
        for (extension, contents) in [(".bin", vec![0; 7]), (".bin.gz", gz(&[0; 7]))] {
            let message = read(extension, &contents, Some("f32")).unwrap_err();
            assert!(
                message.contains("7 bytes, which is no whole number of f32 values of 4 bytes"),
                "{message}"
            );
        }
    }

    #[test]
    fn the_extension_decides() {
        let sentence = |name: &str, element_type: Option<&str>, column| {
            let asked = Asked {
                element_type: element_type.map(|name| name.parse().expect("it is a type")),
                type_of_tables: "f64".parse().expect("it is a type"),
                column,
                delimiter: None,
            };
            match Found::open(Path::new(name), asked) {
                Ok(_) => panic!("{name} is read"),
                Err(error) => error.to_string(),
            }
        };
        assert!(sentence("a.txt", None, None).contains("cannot tell what a.txt holds"));
        assert!(sentence("a", None, None).contains("cannot tell what a holds"));
        assert!(sentence("a.BIN", None, None).contains("give their --type"));
        assert!(sentence("a.npy", None, Some("x")).contains("--column is for .csv files"));
        assert!(sentence("missing.NPY", None, None).contains("cannot read missing.NPY"));
        assert!(sentence("missing", Some("i32"), None).contains("cannot read missing"));
    }
}
