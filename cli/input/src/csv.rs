//! One column of a `.csv` file.

use super::InputError;
use super::line::line_of;
use super::open::{Name, open};
use super::values::FileNumber;
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::io::{Cursor, Read};
use std::mem;
use std::path::{Path, PathBuf};

/// Reads one column piece by piece.
pub(super) struct CsvReader {
    path: PathBuf,
    reader: Reader<Box<dyn Read + Send>>,
    /// The column's number, from 0.
    index: usize,
    /// The column's cell in the first row, where that is a header.
    header: Option<String>,
    /// Cells of the first row.
    cells: usize,
    /// The next row, if there is one.
    row: Option<ByteRecord>,
    /// The memory of the row before, for the one after.
    spare: ByteRecord,
}

/// What is no text and nothing known.
const OTHER_BYTES: &str = "bytes of another kind; give a raw file's --type";

/// So many bytes tell whether it is text.
const LOOKED_AT: u64 = 1 << 12;

/// What is read after the text, on a line of its own: if the last row is another one, a quote is open in it.
const END: &[u8] = b"\n\0end of the text\0\n";

impl CsvReader {
    /// Opens one column of a table: a file of text, compressed where its name ends in `.gz`, or with `-` standard input. Cells are
    /// apart by the delimiter, by default a tab where the name ends in `.tsv` and a comma elsewhere. The column goes by its name in the first
    /// row or by its number from 0; it may be left out where there is only one. The first row is a header where the column is named in it or
    /// its cell is no number.
    pub(super) fn open(
        path: &Path,
        column: Option<&str>,
        delimiter: Option<u8>,
    ) -> Result<Self, InputError> {
        let mut this = Self {
            path: path.into(),
            reader: reader(path, delimiter)?,
            index: 0,
            header: None,
            cells: usize::MAX,
            row: None,
            spare: ByteRecord::new(),
        };
        this.advance()?;
        if let Some(first_row) = &this.row {
            this.cells = first_row.len();
            (this.index, this.header) = find_column(path, first_row, column)?;
        } else {
            return Err(InputError::NoRows(path.into()));
        }
        if this.header.is_some() {
            this.advance()?;
        }
        Ok(this)
    }

    pub(super) fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// The next values: as many as asked for, or all that are left.
    pub(super) fn read<T: FileNumber>(&mut self, most: usize) -> Result<Vec<T>, InputError> {
        let mut numbers = Vec::new();
        while numbers.len() < most
            && let Some(number) = self.next()?
        {
            numbers
                .try_reserve(1)
                .map_err(|_| InputError::TooLarge(self.path.clone()))?;
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn next<T: FileNumber>(&mut self) -> Result<Option<T>, InputError> {
        let Some(row) = &self.row else {
            return Ok(None);
        };
        let path = || self.path.clone();
        let line = || {
            let position = row.position();
            position.map_or(0, |position| line_of(&self.path, position))
        };
        // Nothing more than delimiters at the end is no other cell.
        if (self.cells..row.len()).any(|place| !row[place].trim_ascii().is_empty()) {
            return Err(InputError::LongRow {
                path: path(),
                line: line(),
                cells: row.len(),
                first: self.cells,
            });
        }
        let cell = row.get(self.index).ok_or_else(|| InputError::ShortRow {
            path: path(),
            line: line(),
            cells: row.len(),
            index: self.index,
        })?;
        // The reader could trim, but it would copy every row for that.
        let cell = cell.trim_ascii();
        if cell.is_empty() {
            return Err(InputError::EmptyCell {
                path: path(),
                line: line(),
            });
        }
        let text = String::from_utf8_lossy(cell);
        let number = parse_cell(&text).ok_or_else(|| InputError::BadCell {
            path: path(),
            line: line(),
            text: text.into_owned(),
            element_type: T::ELEMENT_TYPE,
        })?;
        self.advance()?;
        Ok(Some(number))
    }

    /// Reads the next row.
    fn advance(&mut self) -> Result<(), InputError> {
        if !self.read_spare()? {
            let position = self.row.as_ref().and_then(ByteRecord::position);
            return Err(InputError::OpenQuote {
                path: self.path.clone(),
                line: position.map_or(1, |position| line_of(&self.path, position)),
            });
        }
        let next = &mut self.spare;
        if next.len() != 1 || next[0] != *END.trim_ascii() {
            mem::swap(self.row.get_or_insert_default(), next);
            return Ok(());
        }
        self.row = None;
        if self.read_spare()? {
            return Err(InputError::NoText {
                path: self.path.clone(),
                what: OTHER_BYTES,
            });
        }
        Ok(())
    }

    /// Reads the next row into the memory that is spare; the last one is [`END`]. Whether there is one.
    fn read_spare(&mut self) -> Result<bool, InputError> {
        let read = self.reader.read_byte_record(&mut self.spare);
        read.map_err(|error| InputError::unreadable(&self.path, error.into()))
    }
}

/// The number in a cell; `None` also if it is beyond the type, which Rust would read as an infinity.
fn parse_cell<T: FileNumber>(text: &str) -> Option<T> {
    let number: T = text.parse().ok()?;
    let has_digits = text.contains(|character: char| character.is_ascii_digit());
    let is_beyond_type = number.is_infinite() && has_digits;
    (!is_beyond_type).then_some(number)
}

fn reader(path: &Path, delimiter: Option<u8>) -> Result<Reader<Box<dyn Read + Send>>, InputError> {
    let unreadable = |source| InputError::unreadable(path, source);
    let mut text = open(path).map_err(unreadable)?;
    let mut start = Vec::new();
    let beginning = &mut text.by_ref().take(LOOKED_AT);
    beginning.read_to_end(&mut start).map_err(unreadable)?;
    let what = match &start[..] {
        [0x1f, 0x8b, ..] => {
            Some("compressed by gzip; give it by a name that ends in .gz, or unpack it")
        }
        [b'P', b'K', 3 | 5, 4 | 6, ..] => {
            Some("an archive; give it by a name that ends in .npz, or unpack it")
        }
        start if first_line(start).contains(&0) => Some(OTHER_BYTES),
        _ => None,
    };
    if let Some(what) = what {
        return Err(InputError::NoText {
            path: path.into(),
            what,
        });
    }
    let is_tsv = Name::of(path).extension.as_deref() == Some("tsv");
    // The first row may or may not be a header, and a row may be short: both are ours to judge.
    Ok(ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' }))
        .from_reader(Box::new(Cursor::new(start).chain(text).chain(END))))
}

fn first_line(text: &[u8]) -> &[u8] {
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.next().unwrap_or_default()
}

/// The column's number from 0, and its cell in the first row where that is a header.
fn find_column(
    path: &Path,
    first_row: &ByteRecord,
    column: Option<&str>,
) -> Result<(usize, Option<String>), InputError> {
    let cells: Vec<String> = first_row
        .iter()
        .map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned())
        .collect();
    let header = |index: usize| {
        let is_number = cells[index].parse::<f64>().is_ok();
        (!is_number).then(|| cells[index].clone())
    };
    let Some(column) = column else {
        return if cells.len() == 1 {
            Ok((0, header(0)))
        } else {
            Err(InputError::ColumnNotChosen {
                path: path.into(),
                columns: cells,
            })
        };
    };
    // A name that is a number could also be a value of a first row that is no header, so the column's number goes first.
    let named = cells.iter().position(|cell| cell == column);
    let last_named = cells.iter().rposition(|cell| cell == column);
    let numbered = column.parse().ok().filter(|&index| index < cells.len());
    if let (Some(first), Some(last)) = (named, last_named)
        && first != last
        && header(first).is_some()
    {
        return Err(InputError::SameName {
            path: path.into(),
            column: column.to_owned(),
            first,
            last,
        });
    }
    match (named, numbered) {
        (Some(index), _) if header(index).is_some() => Ok((index, header(index))),
        (_, Some(index)) => Ok((index, header(index))),
        (Some(index), None) => Ok((index, Some(column.to_owned()))),
        (None, None) => Err(InputError::NoSuchColumn {
            path: path.into(),
            column: column.to_owned(),
            columns: cells,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::{Values, with_number_type};
    use super::*;
    use warpfold_course::element::ElementType::{self, F32, F64, I32, U32, U64};

    /// The numbers of a column in their order, and the cell above them.
    struct Input {
        values: Values,
        header: Option<String>,
    }

    fn read_csv(
        contents: &str,
        element_type: ElementType,
        column: Option<&str>,
    ) -> Result<Values, String> {
        read_input(contents, element_type, column)
            .map(|input| input.values)
            .map_err(|error| error.to_string())
    }

    fn read_input(
        contents: &str,
        element_type: ElementType,
        column: Option<&str>,
    ) -> Result<Input, InputError> {
        let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        std::fs::write(file.path(), contents).unwrap();
        let path = file.path();
        let mut reader = CsvReader::open(path, column, None)?;
        let values =
            with_number_type!(element_type, T => reader.read::<T>(usize::MAX).map(T::into_values));
        Ok(Input {
            values: values.expect("it is a type of files")?,
            header: reader.header().map(str::to_owned),
        })
    }

    #[track_caller]
    fn header_of(contents: &str, column: Option<&str>) -> Option<String> {
        read_input(contents, I32, column).unwrap().header
    }

    #[test]
    fn what_was_taken_for_a_header_is_told() {
        assert_eq!(header_of(FLOWS, Some("1")).as_deref(), Some("flow"));
        assert_eq!(header_of("1\n2\n", None), None);
        assert_eq!(header_of("1O0\n2\n", None).as_deref(), Some("1O0"));
    }

    const FLOWS: &str = "year,flow\n1871, 1120\n1872, 1160\n";

    #[test]
    fn a_column_goes_by_name_or_number() {
        let flows = Ok(Values::I32(vec![1120, 1160]));
        assert_eq!(read_csv(FLOWS, I32, Some("flow")), flows);
        assert_eq!(read_csv(FLOWS, I32, Some("1")), flows);
        assert_eq!(
            read_csv(FLOWS, U64, Some("1")),
            Ok(Values::U64(vec![1120, 1160]))
        );
    }

    #[test]
    fn a_number_in_the_first_row_is_a_name_only_where_it_is_no_column_number() {
        assert_eq!(
            read_csv("1,0\n2,5\n", I32, Some("1")),
            Ok(Values::I32(vec![0, 5]))
        );
        assert_eq!(
            read_csv("1990,1991\n2,5\n", I32, Some("1991")),
            Ok(Values::I32(vec![5]))
        );
    }

    #[test]
    fn the_only_column_needs_no_name_and_no_header() {
        assert_eq!(
            read_csv("1\n2\n-3", I32, None),
            Ok(Values::I32(vec![1, 2, -3]))
        );
        assert_eq!(
            read_csv("flow\r\n\"1\"\r\n", I32, None),
            Ok(Values::I32(vec![1]))
        );
        assert_eq!(
            read_csv("\u{feff}flow\n1\n", I32, Some("flow")),
            Ok(Values::I32(vec![1]))
        );
        assert_eq!(read_csv("flow\n", I32, None), Ok(Values::I32(vec![])));
        for column in [None, Some("flow")] {
            let message = read_csv("", I32, column).unwrap_err();
            assert!(message.contains("is empty"), "{message}");
        }
    }

    #[test]
    fn a_cell_is_read_as_what_is_asked_for() {
        assert_eq!(
            read_csv("1\n2.5\n1e3\n", F64, None),
            Ok(Values::F64(vec![1.0, 2.5, 1000.0]))
        );
        assert_eq!(
            read_csv("1\n2\n", F32, None),
            Ok(Values::F32(vec![1.0, 2.0]))
        );
    }

    #[test]
    fn infinities_and_nan_are_values_where_they_are_spelled_out() {
        let read = read_csv("a\n1.5\ninf\n-Infinity\nNaN\n", F32, None).unwrap();
        let Values::F32(values) = read else {
            panic!("{read:?} is not f32");
        };
        assert_eq!(values[..3], [1.5, f32::INFINITY, f32::NEG_INFINITY]);
        assert!(values[3].is_nan());
    }

    #[test]
    fn what_ends_a_row_or_the_text_is_no_cell() {
        let values = Ok(Values::I32(vec![1, 3]));
        for contents in [
            "a,b\n1,2,\n3,4,,\n",
            "a,b\n1,2\n3,\"4\n\"",
            "a,b\n1,2\n3,4\n\n\n",
            "a,b\r1,2\r3,4\r",
        ] {
            assert_eq!(read_csv(contents, I32, Some("a")), values, "{contents:?}");
        }
    }

    #[test]
    fn long_cells_are_not_shown_whole() {
        let long = format!("a\n{}\n", "ä".repeat(1000));
        let message = read_csv(&long, I32, None).unwrap_err();
        assert!(
            message.contains(&format!("'{}…'", "ä".repeat(80))),
            "{message}"
        );
        let wide = "a,".repeat(1000) + "a\n";
        let message = read_csv(&wide, I32, None).unwrap_err();
        assert!(
            message.contains("has 1001 columns (a, a, ") && message.len() < 300,
            "{message}"
        );
    }

    #[test]
    fn bad_cells_are_named_with_their_line() {
        for (contents, element_type, column, culprit) in [
            (
                "1\ntwo\n",
                I32,
                None,
                "line 2: 'two' is not a value of type i32",
            ),
            (
                "a\n1.5\nx\n",
                F64,
                None,
                "line 3: 'x' is not a value of type f64",
            ),
            (
                "1\n3000000000\n",
                I32,
                None,
                "line 2: '3000000000' is not a value of type i32",
            ),
            (
                "a\n1.5\n-1e39\n",
                F32,
                None,
                "line 3: '-1e39' is not a value of type f32",
            ),
            (
                "1\n-2\n",
                U32,
                None,
                "line 2: '-2' is not a value of type u32",
            ),
            (
                "a,b\n1,2\n3,\n",
                I32,
                Some("b"),
                "line 3: the cell is empty",
            ),
            (
                "a,b\n1,2\n3\n",
                I32,
                Some("b"),
                "line 3: the row has 1 cells and the column is number 1",
            ),
            (
                "a,b\n1,2\n",
                I32,
                None,
                "has 2 columns (a, b); choose one with --column",
            ),
            (
                "a,b\n1,2\n",
                I32,
                Some("c"),
                "has no column 'c'; its first row is: a, b",
            ),
            ("a,b\n1,2\n", I32, Some("2"), "has no column '2'"),
            (
                "a\n21,5\n19,75\n",
                F64,
                None,
                "line 2: the row has 2 cells and the first row has 1; if its numbers have decimal commas",
            ),
            (
                "a,b\n1,2\n3,4,5\n",
                I32,
                Some("b"),
                "line 3: the row has 3 cells and the first row has 2",
            ),
            (
                "a,b\n1,10\n2,\"oops\n3,30\n4,40\n",
                I32,
                Some("a"),
                "line 3: a quote that begins in this row is never closed",
            ),
            ("\"a\n1\n", I32, None, "line 1: a quote that begins"),
            ("a\0b\n1\n", I32, None, "is no text but bytes"),
            ("PK\u{3}\u{4}\n1\n", I32, None, "is no text but an archive"),
            (
                "a,b,a\n1,2,3\n",
                I32,
                Some("a"),
                "columns 0 and 2 are both named 'a'",
            ),
            ("a,b\n1,2\n", I32, Some("-1"), "has no column '-1'"),
        ] {
            let message = read_csv(contents, element_type, column).unwrap_err();
            assert!(message.contains(culprit), "{culprit}: {message}");
        }
    }
}
