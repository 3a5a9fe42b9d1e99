//! What a lesson has measured, as a table.

use super::timeline::Timeline;
use serde::Serialize;
use serde_json::{Map, Value};

/// A column of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its heading.
    pub title: &'static str,
}

/// One figure of a report. `None` is what the device does not show, which no table has room for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number of things.
    Count(u64),
    /// A number of things that only a GPU shows.
    GpuCount(Option<u64>),
    /// A time in milliseconds.
    Milliseconds(Option<f64>),
    /// A time in microseconds.
    Microseconds(Option<f64>),
    /// Some other number.
    Number(Option<f64>),
    /// How many times as fast as what it is compared with.
    Ratio(Option<f64>),
    /// Whether the sum is that of the CPU, where there is one.
    Right(Option<bool>),
}

/// What came of a lesson.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What was run, one line each.
    pub facts: Vec<String>,
    /// The columns of the table.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
    /// What ran when, where a GPU shows that.
    pub timelines: Vec<Timeline>,
    /// A picture, as SVG.
    pub picture: Option<String>,
}

impl Cell {
    /// Whether there is something to show.
    pub fn is_shown(&self) -> bool {
        !matches!(
            self,
            Self::GpuCount(None)
                | Self::Milliseconds(None)
                | Self::Microseconds(None)
                | Self::Number(None)
                | Self::Ratio(None)
                | Self::Right(None)
        )
    }
}

impl Report {
    /// An empty table of these columns: name in JSON and heading.
    pub(super) fn new(columns: &[(&'static str, &'static str)]) -> Self {
        Self {
            columns: columns
                .iter()
                .map(|&(key, title)| Column { key, title })
                .collect(),
            ..Self::default()
        }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Adds a line on what was run.
    pub(super) fn fact(&mut self, fact: impl Into<String>) {
        self.facts.push(fact.into());
    }

    /// Whether every sum is that of the CPU.
    pub fn is_right(&self) -> bool {
        !self
            .rows
            .iter()
            .flatten()
            .any(|cell| *cell == Cell::Right(Some(false)))
    }

    /// The rows as objects, with `null` for what the device does not show.
    pub fn rows_as_json(&self) -> Vec<Map<String, Value>> {
        let object = |row: &Vec<Cell>| {
            self.columns
                .iter()
                .zip(row)
                .map(|(column, cell)| {
                    // Numbers, words and truth values all have a JSON form; a number that is none has `null`.
                    let value = serde_json::to_value(cell).unwrap_or(Value::Null);
                    (column.key.to_owned(), value)
                })
                .collect()
        };
        self.rows.iter().map(object).collect()
    }
}

impl From<&str> for Cell {
    fn from(words: &str) -> Self {
        Self::Text(words.to_owned())
    }
}
