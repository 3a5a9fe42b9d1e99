//! What may be wrong with a file of numbers.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use warpfold_course::element::ElementType;
use warpfold_kernels::catalogue::ElementType as FileType;

/// What is wrong with an input file.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The file cannot be read from some place on.
    #[error("cannot read {path} at byte {offset}: {source}")]
    UnreadableAt {
        /// The file.
        path: PathBuf,
        /// The place of the first byte that is missing.
        offset: u64,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// An extension that does not tell the format.
    #[error(
        "cannot tell what {0} holds; name it .npy or .csv, or give the --type of its raw values"
    )]
    UnknownFormat(PathBuf),
    /// Raw values without a type.
    #[error("{0} holds raw values; give their --type, one of {names}", names = FileType::NAMES)]
    NoType(PathBuf),
    /// A raw file that ends within a value.
    #[error(
        "{path} holds {bytes} bytes, which is no whole number of {element_type} values of {value_bytes} bytes"
    )]
    PartialValue {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The type of its values.
        element_type: String,
        /// The size of one.
        value_bytes: usize,
    },
    /// More values than there is memory for.
    #[error("there is not enough memory for that much of {0} at once; ask for less with --chunk")]
    TooLarge(PathBuf),
    /// A `.npz` file that breaks the format.
    #[error("{path} is not a whole .npz file: {reason}")]
    BrokenNpz {
        /// The file.
        path: PathBuf,
        /// What is broken.
        reason: String,
    },
    /// A `.npz` file with several arrays or none, or without the one asked for.
    #[error("{path} has {} arrays ({}); choose one by its name with --column", names.len(), names.join(", "))]
    ArrayNotChosen {
        /// The file.
        path: PathBuf,
        /// The names.
        names: Vec<String>,
    },
    /// A column asked of a file that has none.
    #[error(
        "{0} has no columns to choose from; --column is for .csv files, other tables and .npz files"
    )]
    ColumnOfOther(PathBuf),
    /// A `.npy` file that breaks the format.
    #[error("{path} is not a whole .npy file: {reason}")]
    BrokenNpy {
        /// The file.
        path: PathBuf,
        /// What is broken.
        reason: String,
    },
    /// A `.npy` array of another type than was asked for.
    #[error("{path} holds {found} values, not {asked}; leave --type out to take the file's own")]
    OtherType {
        /// The file.
        path: PathBuf,
        /// The file's type.
        found: String,
        /// The type asked for.
        asked: String,
    },
    /// A `.csv` file with several columns, none of them chosen.
    #[error("{path} has {} columns ({}); choose one with --column", columns.len(), listed(columns))]
    ColumnNotChosen {
        /// The file.
        path: PathBuf,
        /// The cells of its first row.
        columns: Vec<String>,
    },
    /// A table without a single row.
    #[error("{0} is empty: it has neither a header nor a value")]
    NoRows(PathBuf),
    /// A name that several columns have.
    #[error(
        "{path}: columns {first} and {last} are both named '{column}'; choose one by its number with --column"
    )]
    SameName {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// The number of the first of them, from 0.
        first: usize,
        /// The number of the last.
        last: usize,
    },
    /// An array of a type that the CPU does not reduce either.
    #[error(
        "{path} holds values of NumPy type {descriptor}; save numbers or truth values with array.astype(…), or one field of a structured array"
    )]
    NoNumbers {
        /// The file.
        path: PathBuf,
        /// NumPy's name of the type.
        descriptor: String,
    },
    /// A type that cells of a table are not read as.
    #[error("{path} is a table, which is not read as {asked}; use one of {names}", names = FileType::NAMES)]
    TypeOfTable {
        /// The file.
        path: PathBuf,
        /// The type asked for.
        asked: String,
    },
    /// A column that is not there.
    #[error(
        "{path} has no column '{column}'; its first row is: {}",
        listed(columns)
    )]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The cells of its first row.
        columns: Vec<String>,
    },
    /// A Parquet file where Parquet is not built in.
    #[error(
        "{0} is a Parquet file, which this build does not read; build one that does: cargo install --path cli --features parquet"
    )]
    NoParquet(PathBuf),
    /// A Parquet file that breaks the format.
    #[error("{path} is not a whole .parquet file: {reason}")]
    BrokenParquet {
        /// The file.
        path: PathBuf,
        /// What is broken.
        reason: String,
    },
    /// A column that a Parquet file does not have.
    #[error("{path} has no column '{column}'; its columns are: {}", columns.join(", "))]
    NoSuchName {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The names of all.
        columns: Vec<String>,
    },
    /// A column of a Parquet file whose values are not reduced.
    #[error(
        "{path}: column '{column}' holds {what}; choose a column of numbers or truth values with --column"
    )]
    NoNumbersInColumn {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: String,
        /// What it holds.
        what: String,
    },
    /// A row of a Parquet file without a value.
    #[error(
        "{path}, column '{column}', row {row} (from 0): the value is null; remove the row or give it a value"
    )]
    NullInColumn {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: String,
        /// The row's number, from 0.
        row: u64,
    },
    /// A row that ends before the column.
    #[error(
        "{path}, line {line}: the row has {cells} cells and the column is number {index} (from 0)"
    )]
    ShortRow {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Cells in the row.
        cells: usize,
        /// The column's number, from 0.
        index: usize,
    },
    /// A row with more cells than the first one.
    #[error(
        "{path}, line {line}: the row has {cells} cells and the first row has {first}; if its numbers have decimal commas, write points, or give another --delimiter"
    )]
    LongRow {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Cells in the row.
        cells: usize,
        /// Cells in the first row.
        first: usize,
    },
    /// A quote that goes on to the end.
    #[error("{path}, line {line}: a quote that begins in this row is never closed; close it")]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// What is no table of text.
    #[error("{path} is no text but {what}")]
    NoText {
        /// The file.
        path: PathBuf,
        /// What it seems to be, and what to do.
        what: &'static str,
    },
    /// A cell without a value.
    #[error("{path}, line {line}: the cell is empty; remove the row or give it a value")]
    EmptyCell {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// A cell that is no number of the type.
    #[error(
        "{path}, line {line}: '{}' is not a value of type {element_type}",
        shortened(text)
    )]
    BadCell {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The cell.
        text: String,
        /// The type it should have.
        element_type: ElementType,
    },
}

impl InputError {
    pub(super) fn unreadable(path: &Path, source: std::io::Error) -> Self {
        Self::Unreadable {
            path: path.into(),
            source,
        }
    }
}

/// The first cells of a row.
fn listed(cells: &[String]) -> String {
    const MOST: usize = 20;
    let more = if cells.len() > MOST { ", …" } else { "" };
    let first: Vec<_> = cells
        .iter()
        .take(MOST)
        .map(|cell| shortened(cell))
        .collect();
    first.join(", ") + more
}

/// A cell, of which a long one is not shown whole.
fn shortened(cell: &str) -> Cow<'_, str> {
    const MOST: usize = 80;
    match cell.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &cell[..end]).into(),
        None => cell.into(),
    }
}
