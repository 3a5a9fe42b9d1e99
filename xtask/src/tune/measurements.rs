//! What `peers/run/time_reductions` has printed.

use std::collections::BTreeMap;
use std::fmt;

use super::error::TuneError;

/// An operator over a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// How much work it is for each value: `Little`, `Place`, `Much` or `Pairs`.
    pub work: String,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Its name.
    pub name: String,
}

/// What is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Rows.
    Rows,
    /// Rows whose bytes are no power of two.
    OddRows,
    /// One row alone, or the pairs of two.
    Single,
    /// Columns.
    Columns,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Rows => "rows",
            Self::OddRows => "odd rows",
            Self::Single => "single",
            Self::Columns => "columns",
        })
    }
}

/// What a time is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// What is reduced.
    pub kind: Kind,
    /// The bytes of all rows, as a power of two, of which less than a row may be missing.
    pub all_bytes: u32,
    /// The bytes of a row, as a power of two.
    pub row_bytes: u32,
    /// The operator and the type.
    pub subject: Subject,
}

/// What was measured on one GPU.
#[derive(Debug, Default)]
pub struct Measurements {
    /// The GPU, as it is printed; empty before the first file.
    pub device: String,
    /// Milliseconds by choices, as they are printed.
    pub times: BTreeMap<Case, BTreeMap<String, f64>>,
}

impl Measurements {
    /// Takes what was printed for an operator and a type.
    ///
    /// # Errors
    /// A line is no measurement, or one of another GPU.
    pub fn read(&mut self, file: &str, text: &str, kind: Kind) -> Result<(), TuneError> {
        let mut subject = None;
        let mut lines = text.lines();
        let device = lines.next().unwrap_or_default();
        if self.device.is_empty() {
            device.clone_into(&mut self.device);
        }
        if self.device != device {
            return Err(TuneError::Devices {
                file: file.to_owned(),
                device: device.to_owned(),
                others: self.device.clone(),
            });
        }
        for (number, line) in (1..).zip(lines) {
            let parsed = match &subject {
                // What is measured, and the heads of the columns.
                None => {
                    subject = subject_of(line);
                    subject.as_ref().map(|_| None)
                }
                Some(_) if number == 2 => continue,
                Some(subject) => time_of(line, subject).map(Some),
            };
            let bad_line = || TuneError::Line {
                file: file.to_owned(),
                line: number + 1,
                text: line.to_owned(),
            };
            if let Some(Timed {
                all_bytes,
                row_bytes,
                choice,
                ms,
            }) = parsed.ok_or_else(bad_line)?
            {
                let subject = subject.clone().ok_or_else(bad_line)?;
                let case = Case {
                    kind,
                    all_bytes,
                    row_bytes,
                    subject,
                };
                self.times.entry(case).or_default().insert(choice, ms);
            }
        }
        Ok(())
    }
}

/// `argmax of f32: Much work for 4 bytes`
fn subject_of(line: &str) -> Option<Subject> {
    let (name, rest) = line.split_once(": ")?;
    let (work, rest) = rest.split_once(" work for ")?;
    let bytes = rest.strip_suffix(" bytes")?;
    Some(Subject {
        work: work.to_owned(),
        value_bytes: bytes.parse().ok()?,
        name: name.to_owned(),
    })
}

/// A line with a time.
struct Timed {
    all_bytes: u32,
    row_bytes: u32,
    choice: String,
    ms: f64,
}

/// `4096 65536 Whole{block:256} 4096 256 0.24962 4301 0.964 chosen`
fn time_of(line: &str, subject: &Subject) -> Option<Timed> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [rows, columns, choice, _blocks, _block, ms, ..] = words.as_slice() else {
        return None;
    };
    let (rows, columns): (usize, usize) = (rows.parse().ok()?, columns.parse().ok()?);
    let bytes = columns.checked_mul(subject.value_bytes)?;
    Some(Timed {
        // Less than a row may be missing to a power of two.
        all_bytes: (bytes.checked_mul(rows)?.checked_add(bytes)? - 1).checked_ilog2()?,
        row_bytes: bytes.checked_ilog2()?,
        choice: (*choice).to_owned(),
        ms: ms.parse().ok()?,
    })
}
