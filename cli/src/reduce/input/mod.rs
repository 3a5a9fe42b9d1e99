//! Real input: the numbers in a `.npy`, `.csv` or raw `.bin` file.

pub mod array;
mod csv;
mod error;
pub mod found;
mod line;
mod npy;
mod npy_header;
mod npy_values;
mod open;
mod raw;
mod values;

pub use error::InputError;
pub use open::{comes_in_pieces, is_table};
pub use values::FileNumber;
#[cfg(test)]
use values::Values;

use self::csv::CsvReader;
use self::raw::RawReader;
use self::values::is_read_from_files;
#[cfg(test)]
use self::values::with_number_type;
use std::path::Path;
use warpfold_course::element::ElementType;

/// The numbers of a file, to be read piece by piece, so that the file may be larger than memory.
pub struct Source {
    reader: Reader,
    bytes: Option<u64>,
}

enum Reader {
    Raw(RawReader),
    Csv(Box<CsvReader>),
}

impl Source {
    /// Opens a file; its extension says how it is read.
    ///
    /// - `.npy`: an array of any shape, flattened. Its type is the file's; an `element_type` has to agree.
    /// - `.csv`: one `column`, by its name in the first row or by its number from 0; it may be left out where there is
    ///   only one. The first row is a header where the column is named in it or its cell is no number. Without
    ///   `element_type` a column of integers is i32, and one with anything else is f32.
    /// - `.bin`, and any other file with an `element_type`: its little-endian values, end to end.
    ///
    /// # Errors
    /// One sentence: the file cannot be read, or its beginning is wrong.
    pub fn open(
        path: &Path,
        element_type: Option<ElementType>,
        column: Option<&str>,
    ) -> Result<Self, InputError> {
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        let is_csv = extension.as_deref() == Some("csv");
        if column.is_some() && !is_csv {
            return Err(InputError::ColumnOfOther(path.into()));
        }
        if let Some(element_type) = element_type
            && !is_read_from_files(element_type)
        {
            return Err(InputError::UnsupportedType {
                path: path.into(),
                element_type,
            });
        }
        let reader = match (extension.as_deref(), element_type) {
            (Some("npy"), _) => Reader::Raw(npy::open(path, element_type)?),
            (Some("csv"), _) => Reader::Csv(Box::new(CsvReader::open(path, element_type, column)?)),
            (_, Some(element_type)) => Reader::Raw(RawReader::open(path, element_type)?),
            (Some("bin"), None) => return Err(InputError::NoType(path.into())),
            (_, None) => return Err(InputError::UnknownFormat(path.into())),
        };
        let metadata = path.metadata().ok();
        let bytes = metadata
            .filter(|file| file.is_file())
            .map(|file| file.len());
        Ok(Self { reader, bytes })
    }

    /// Opens one column of a table: a file of text, compressed where its name ends in `.gz`, or with `-` standard input. Cells are
    /// apart by the delimiter, by default a tab where the name ends in `.tsv` and a comma elsewhere.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_table(
        path: &Path,
        element_type: ElementType,
        column: Option<&str>,
        delimiter: Option<u8>,
    ) -> Result<Self, InputError> {
        let reader = CsvReader::open_as(path, element_type, column, delimiter)?;
        Ok(Self {
            reader: Reader::Csv(Box::new(reader)),
            bytes: None,
        })
    }

    /// The type of the numbers.
    pub fn element_type(&self) -> ElementType {
        match &self.reader {
            Reader::Raw(reader) => reader.element_type(),
            Reader::Csv(reader) => reader.element_type(),
        }
    }

    /// The cell above the numbers in a `.csv` file, where its first row was taken for a header.
    pub fn header(&self) -> Option<&str> {
        match &self.reader {
            Reader::Raw(_) => None,
            Reader::Csv(reader) => reader.header(),
        }
    }

    /// The length of the file; `None` for a pipe.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// How much of the file has been read, except for a few bytes of a header.
    pub fn bytes_read(&self) -> u64 {
        match &self.reader {
            Reader::Raw(reader) => reader.bytes_read(),
            Reader::Csv(reader) => reader.bytes_read(),
        }
    }

    /// The next numbers: as many as asked for, or all that are left, and none at the end.
    ///
    /// # Errors
    /// One sentence: what in the file is wrong, and where.
    ///
    /// # Panics
    /// `T` is not the type of the numbers.
    pub fn read<T: FileNumber>(&mut self, most: usize) -> Result<Vec<T>, InputError> {
        assert_eq!(T::ELEMENT_TYPE, self.element_type(), "the type of the file");
        match &mut self.reader {
            Reader::Raw(reader) => reader.read(most),
            Reader::Csv(reader) => reader.read(most),
        }
    }
}

/// All numbers of a file.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The numbers in the file's order.
    pub values: Values,
    /// The cell above them in a `.csv` file, where its first row was taken for a header.
    pub header: Option<String>,
}

/// Reads all numbers of a file into memory.
///
/// # Errors
/// As [`Source::open`] and [`Source::read`].
#[cfg(test)]
fn read(
    path: &Path,
    element_type: Option<ElementType>,
    column: Option<&str>,
) -> Result<Input, InputError> {
    let mut source = Source::open(path, element_type, column)?;
    let element_type = source.element_type();
    let values =
        with_number_type!(element_type, T => source.read::<T>(usize::MAX).map(T::into_values))
            .ok_or_else(|| InputError::UnsupportedType {
            path: path.into(),
            element_type,
        })??;
    Ok(Input {
        values,
        header: source.header().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides() {
        let sentence = |name: &str, element_type, column| {
            read(Path::new(name), element_type, column)
                .unwrap_err()
                .to_string()
        };
        assert!(sentence("a.txt", None, None).contains("cannot tell what a.txt holds"));
        assert!(sentence("a", None, None).contains("cannot tell what a holds"));
        assert!(sentence("a.BIN", None, None).contains("give their --type"));
        assert!(sentence("a.npy", None, Some("x")).contains("--column is for .csv files"));
        assert!(sentence("missing.NPY", None, None).contains("cannot read missing.NPY"));
        assert!(sentence("missing", Some(ElementType::I32), None).contains("cannot read missing"));
    }
}
