//! Several files, one after another, which may be larger than memory together. While the cores reduce some pieces of them, others are read.

use super::arguments::Arguments;
use super::input::array::Array;
use super::input::{InputError, is_table};
use super::operators::{Shown, read_table, refuse_nothing, refuse_other_order};
use crate::failure::Failure;
use crate::output::Output;
use crate::show;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpfold_dynamic::{Named, Reduction, TypeName};

/// Bytes of a piece, which is a whole number of values of every type.
const PIECE: u64 = 8 << 20;
/// The most pieces that are read at once. Twice as many are in memory.
const MOST_AT_ONCE: usize = 32;

/// What the command writes as JSON.
#[derive(Serialize)]
struct Report<'a> {
    files: Vec<String>,
    element_type: &'static str,
    n: u64,
    bytes: u64,
    device: String,
    /// The result of each operator over all files.
    results: BTreeMap<&'static str, &'a Shown>,
    elapsed_ms: f64,
    /// How long pieces were read, and reduced, both at the same time.
    reading_ms: f64,
    reducing_ms: f64,
    /// How long reading alone took afterwards, if that was asked for.
    read_alone_ms: Option<f64>,
}

/// The files that the arguments name: a pattern stands for those that match it, in the order of their names.
pub(super) fn expand(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for path in given {
        let pattern = path.to_str();
        let pattern = pattern.filter(|text| text.contains(['*', '?', '[']) && !path.exists());
        let Some(pattern) = pattern else {
            paths.push(path.clone());
            continue;
        };
        let wrong = |reason: &dyn std::fmt::Display| {
            Failure::Input(format!("cannot look for files like {pattern}: {reason}"))
        };
        let before = paths.len();
        for found in glob::glob(pattern).map_err(|error| wrong(&error))? {
            paths.push(found.map_err(|error| wrong(&error))?);
        }
        if paths.len() == before {
            return Err(Failure::Input(format!("no file is named like {pattern}")));
        }
    }
    Ok(paths)
}

/// Reduces the files on the cores.
pub(super) fn run(
    arguments: &Arguments,
    paths: &[PathBuf],
    output: &Output,
) -> Result<(), Failure> {
    refuse_what_is_for_one(arguments, paths)?;
    let start = Instant::now();
    let mut pass = Pass::new(arguments, paths)?;
    pass.files(true)?;
    refuse_nothing(arguments, &paths[0], pass.n() as usize)?;
    let results = pass.reduction.finish();
    let elapsed = start.elapsed();
    let read_alone = if arguments.compare_read {
        let start = Instant::now();
        let mut again = Pass::new(arguments, paths)?;
        again.files(false)?;
        Some(start.elapsed())
    } else {
        None
    };
    let shown: Vec<Shown> = results.into_iter().map(Shown::one).collect();
    let names = arguments.operators.iter().map(|operator| operator.name());
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let report = Report {
        files: paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        element_type: pass.element_type.name(),
        n: pass.n(),
        bytes: pass.bytes,
        device: format!("cpu: {} threads", rayon::current_num_threads()),
        results: names.zip(&shown).collect(),
        elapsed_ms: milliseconds(elapsed),
        reading_ms: milliseconds(pass.reading),
        reducing_ms: milliseconds(pass.reducing),
        read_alone_ms: read_alone.map(milliseconds),
    };
    print(&report, &arguments.operators, &shown, output)?;
    output.write_json(&report)
}

fn print(
    report: &Report<'_>,
    operators: &[Named],
    shown: &[Shown],
    output: &Output,
) -> Result<(), Failure> {
    output.print(&report.device)?;
    output.print(format!(
        "{} files, from {} to {}: {} × {} ({})\n",
        report.files.len(),
        report.files[0],
        report.files[report.files.len() - 1],
        show::count(report.n),
        report.element_type,
        show::bytes(report.bytes)
    ))?;
    for (operator, results) in operators.iter().zip(shown) {
        output.print(format!("{operator} = {results}"))?;
    }
    let speed = |milliseconds: f64| show::significant(report.bytes as f64 / (milliseconds * 1e6));
    let limit = if report.reading_ms >= report.reducing_ms {
        "reading is the limit"
    } else {
        "the cores are the limit"
    };
    output.print(format!(
        "{} · {} GB/s · reading {}, reducing {} beside it: {limit}",
        show::milliseconds(report.elapsed_ms),
        speed(report.elapsed_ms),
        show::milliseconds(report.reading_ms),
        show::milliseconds(report.reducing_ms)
    ))?;
    if let Some(alone) = report.read_alone_ms {
        output.print(format!(
            "read again without reducing, from the system's cache where they fit: {} · {} GB/s, of which the reduction came to {:.0} %",
            show::milliseconds(alone),
            speed(alone),
            100.0 * alone / report.elapsed_ms
        ))?;
    }
    Ok(())
}

/// Refuses arguments that several files have no meaning for.
fn refuse_what_is_for_one(arguments: &Arguments, paths: &[PathBuf]) -> Result<(), Failure> {
    let refuse = |what: &str| {
        Err(Failure::Input(format!(
            "{} files are reduced to one result on the cores; leave {what} out, or give one file",
            paths.len()
        )))
    };
    if arguments.axis.is_some() {
        refuse("--axis")
    } else if arguments.chunk.is_some() {
        refuse("--chunk")
    } else if arguments.asks_for_device() {
        refuse("--device")
    } else if paths.iter().any(|path| path.as_os_str() == "-") {
        refuse("-")
    } else {
        Ok(())
    }
}

/// A part of a file, or values that had to be read whole.
struct Piece<'a> {
    path: &'a Path,
    start: u64,
    bytes: u64,
}

/// Once through all files.
struct Pass<'a> {
    arguments: &'a Arguments,
    paths: &'a [PathBuf],
    element_type: TypeName,
    reduction: Reduction,
    /// Bytes of values so far.
    bytes: u64,
    reading: Duration,
    reducing: Duration,
}

/// Room for a piece, at an address for any type.
type Room = Vec<u64>;

impl<'a> Pass<'a> {
    fn new(arguments: &'a Arguments, paths: &'a [PathBuf]) -> Result<Self, Failure> {
        let first = &paths[0];
        let element_type = if is_table(first) {
            arguments.type_of_tables()
        } else {
            open(arguments, first)?.element_type
        };
        Ok(Self {
            arguments,
            paths,
            element_type,
            reduction: Reduction::new(element_type, &arguments.operators),
            bytes: 0,
            reading: Duration::ZERO,
            reducing: Duration::ZERO,
        })
    }

    /// How many values so far.
    fn n(&self) -> u64 {
        self.bytes / self.element_type.bytes() as u64
    }

    /// Goes through all files; reduces them, or only reads them.
    fn files(&mut self, reduces: bool) -> Result<(), Failure> {
        let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} files, {eta} left");
        let progress =
            ProgressBar::new(self.paths.len() as u64).with_style(style.map_err(Failure::input)?);
        for path in self.paths {
            self.file(path, reduces)
                .map_err(|failure| self.with_what_is_done(failure))?;
            progress.inc(1);
        }
        progress.finish_and_clear();
        Ok(())
    }

    /// A failure, with the results of the values before it.
    fn with_what_is_done(&self, failure: Failure) -> Failure {
        let Failure::Input(sentence) = failure else {
            return failure;
        };
        if self.bytes == 0 {
            return Failure::Input(sentence);
        }
        let results: Vec<String> = (self.arguments.operators.iter())
            .zip(self.reduction.finish())
            .map(|(operator, results)| format!("{operator} = {}", Shown::one(results)))
            .collect();
        Failure::Input(format!(
            "{sentence}; of the {} values before: {}",
            show::count(self.n()),
            results.join(", ")
        ))
    }

    fn file(&mut self, path: &Path, reduces: bool) -> Result<(), Failure> {
        if is_table(path) {
            let start = Instant::now();
            let mut reducing = Duration::ZERO;
            let (reduction, bytes) = (&mut self.reduction, &mut self.bytes);
            read_table(self.arguments, path, |values| {
                let start = Instant::now();
                if reduces {
                    reduction.take(values);
                }
                reducing += start.elapsed();
                *bytes += values.len() as u64;
            })?;
            self.reading += start.elapsed() - reducing;
            self.reducing += reducing;
            return Ok(());
        }
        let start = Instant::now();
        let array = open(self.arguments, path)?;
        refuse_other_order(self.arguments, path, &array)?;
        if array.element_type != self.element_type {
            return Err(Failure::input(InputError::OtherType {
                path: path.into(),
                found: array.element_type.to_string(),
                asked: format!("{} like {}", self.element_type, self.paths[0].display()),
            }));
        }
        let bytes = array.values().len() as u64;
        let Some(first) = array.place_in_file() else {
            self.reading += start.elapsed();
            let start = Instant::now();
            if reduces {
                self.reduction.take(array.values());
            }
            self.reducing += start.elapsed();
            self.bytes += bytes;
            return Ok(());
        };
        // What is mapped would be a fault where the file shrinks meanwhile.
        drop(array);
        self.pieces(path, first, bytes, reduces)
    }

    /// Reads the pieces of a file's values, several at once, while those before them are reduced.
    fn pieces(
        &mut self,
        path: &Path,
        first: u64,
        bytes: u64,
        reduces: bool,
    ) -> Result<(), Failure> {
        let piece = |number: usize| {
            let before = number as u64 * PIECE;
            Piece {
                path,
                start: first + before,
                bytes: PIECE.min(bytes - before),
            }
        };
        let count = bytes.div_ceil(PIECE) as usize;
        let at_once = (2 * rayon::current_num_threads()).min(MOST_AT_ONCE);
        let mut read: Vec<(Piece<'_>, Room)> = Vec::new();
        let mut rooms: Vec<Room> = Vec::new();
        let mut next = 0;
        loop {
            let end = count.min(next + at_once);
            rooms.resize_with(end - next, Vec::new);
            let reduction = &mut self.reduction;
            let ((reading, further), reducing) = rayon::join(
                || {
                    let start = Instant::now();
                    let rooms = std::mem::take(&mut rooms).into_par_iter();
                    let further: Result<Vec<_>, InputError> = (next..end)
                        .into_par_iter()
                        .zip(rooms)
                        .map(|(number, room)| piece(number).read(room))
                        .collect();
                    (start.elapsed(), further)
                },
                || {
                    let start = Instant::now();
                    for (piece, room) in read.iter().filter(|_| reduces) {
                        let values: &[u8] = bytemuck::cast_slice(room);
                        reduction.take(&values[..piece.bytes as usize]);
                    }
                    start.elapsed()
                },
            );
            self.reading += reading;
            self.reducing += reducing;
            self.bytes += read.iter().map(|(piece, _)| piece.bytes).sum::<u64>();
            rooms = read.drain(..).map(|(_, room)| room).collect();
            read = further.map_err(Failure::input)?;
            if read.is_empty() {
                return Ok(());
            }
            next = end;
        }
    }
}

impl Piece<'_> {
    fn read(self, mut room: Room) -> Result<(Self, Room), InputError> {
        let words = self.bytes.div_ceil(size_of::<u64>() as u64) as usize;
        if room.len() < words {
            room.resize(words, 0);
        }
        let result = || -> io::Result<()> {
            let mut file = File::open(self.path)?;
            file.seek(SeekFrom::Start(self.start))?;
            file.read_exact(&mut bytemuck::cast_slice_mut(&mut room)[..self.bytes as usize])
        }();
        match result {
            Ok(()) => Ok((self, room)),
            Err(source) => Err(InputError::Unreadable {
                path: self.path.into(),
                source: match source.kind() {
                    io::ErrorKind::UnexpectedEof => io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "it has become shorter meanwhile",
                    ),
                    _ => source,
                },
            }),
        }
    }
}

fn open(arguments: &Arguments, path: &Path) -> Result<Array, Failure> {
    Array::open(path, arguments.element_type, arguments.column.as_deref()).map_err(Failure::input)
}
