//! The same by several processes, each of which a launcher has started: a rank reduces its part, and rank 0 shows the result.

use super::arguments::{Arguments, Place as Where};
use super::files;
use super::operators::{Shown, refuse_nothing, refuse_other_order};
use crate::device;
use crate::failure::Failure;
use crate::output::Output;
use crate::show;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;
use warpfold::DeviceChoice;
use warpfold::ranks::{Place, RankError, Ranks};
use warpfold::sum::Mode;
use warpfold_dynamic::{TypeName, reduce_on_ranks};
use warpfold_input::InputError;
use warpfold_input::array::Array;
use warpfold_input::found::{Found, Place as Lies};
use warpfold_input::is_table;

/// What stands for the rank's number in the name of a file.
const RANK: &str = "{rank}";

/// What the command writes as JSON, on rank 0.
#[derive(Serialize)]
struct Report<'a> {
    files: Vec<String>,
    element_type: &'static str,
    n: u64,
    bytes: u64,
    ranks: u32,
    /// What has started them.
    launcher: String,
    /// By what they have met.
    by: String,
    /// Rank 0's.
    device: String,
    results: BTreeMap<&'static str, &'a Shown>,
    elapsed_ms: f64,
}

/// Reduces the files together with the other ranks.
pub(super) fn run(arguments: &Arguments, place: &Place, output: &Output) -> Result<(), Failure> {
    let choice = refuse_what_is_for_one(arguments, place)?;
    let device = arguments.kernels.on(choice)?;
    // Before the files are read: the others then hear at once of a rank whose files cannot be.
    let joined = Ranks::join(&device, place, arguments.ranks.options());
    let ranks = joined.map_err(|error| match error {
        RankError::NeverCame { .. } => Failure::Input(format!(
            "{error}, or give --ranks off for one process alone"
        )),
        error => error.into(),
    })?;
    let start = Instant::now();
    let is_own = arguments.files.iter().any(|path| is_of_rank(path));
    let given: Vec<PathBuf> = arguments
        .files
        .iter()
        .map(|path| of_rank(path, ranks.rank()))
        .collect();
    let paths = files::expand(&given)?;
    let (element_type, values) = read(arguments, &paths, |n| match is_own {
        true => 0..n,
        false => ranks.part(n),
    })?;
    let operators = &arguments.operators;
    let (results, n) = reduce_on_ranks(
        &ranks,
        element_type,
        operators,
        Mode::Deterministic,
        values.bytes(),
    )?;
    refuse_nothing(arguments, &paths[0], n as usize)?;
    if ranks.rank() > 0 {
        return Ok(());
    }
    let shown: Vec<Shown> = results.into_iter().map(Shown::one).collect();
    let names = operators.iter().map(|operator| operator.name());
    let report = Report {
        files: paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        element_type: element_type.name(),
        n,
        bytes: n * element_type.bytes() as u64,
        ranks: ranks.size(),
        launcher: place.launcher().to_string(),
        by: ranks.describe(),
        device: device.describe(),
        results: names.zip(&shown).collect(),
        elapsed_ms: start.elapsed().as_secs_f64() * 1e3,
    };
    output.print(format!(
        "{} ranks by {}, rank 0 on {}",
        report.ranks, report.by, report.device
    ))?;
    let (first, others) = (&report.files[0], report.files.len() - 1);
    let files = match (others, is_own) {
        (_, true) => format!("{first} and those of the other ranks"),
        (0, false) => first.clone(),
        (_, false) => format!("{first} and {others} other files"),
    };
    output.print(format!(
        "{files}: {} × {} ({})\n",
        show::count(n),
        report.element_type,
        show::bytes(report.bytes)
    ))?;
    for (operator, results) in operators.iter().zip(&shown) {
        output.print(format!("{operator} = {results}"))?;
    }
    output.print(format!(
        "{} · {} GB/s with reading",
        show::milliseconds(report.elapsed_ms),
        show::significant(report.bytes as f64 / (report.elapsed_ms * 1e6))
    ))?;
    output.write_json(&report)
}

/// The device of this rank, where the arguments have a meaning for ranks.
fn refuse_what_is_for_one(arguments: &Arguments, place: &Place) -> Result<DeviceChoice, Failure> {
    let refuse = |what: &str| {
        Err(Failure::Input(format!(
            "this process is rank {} of {} that make one result, each on one device; leave {what} out, or give --ranks off",
            place.rank(),
            place.size()
        )))
    };
    if arguments.axis.is_some() {
        refuse("--axis")
    } else if arguments.chunk.is_some() {
        refuse("--chunk")
    } else if arguments.compare_read {
        refuse("--compare-read")
    } else if arguments.files.iter().any(|path| path.as_os_str() == "-") {
        refuse("-")
    } else {
        match arguments.place {
            Where::On(device::Place::One(DeviceChoice::Auto)) => Ok(place.device_choice()),
            Where::On(device::Place::One(choice)) => Ok(choice),
            Where::Cpu | Where::On(device::Place::Several(_) | device::Place::AllGpus) => {
                refuse("--device")
            }
        }
    }
}

/// Whether each rank has its own file of this name.
fn is_of_rank(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.contains(RANK))
}

/// The name of a rank's own file.
fn of_rank(path: &Path, rank: u32) -> PathBuf {
    match path.to_str() {
        Some(name) => name.replace(RANK, &rank.to_string()).into(),
        None => path.to_owned(),
    }
}

/// Some of the values of all files.
enum Values {
    /// All in one file.
    Mapped(Array, Range<usize>),
    Read(Vec<u8>),
}

impl Values {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(array, range) => &array.values()[range.clone()],
            Self::Read(bytes) => bytes,
        }
    }
}

/// The type of the values of all files, one after another, and of the values this rank's part.
fn read(
    arguments: &Arguments,
    paths: &[PathBuf],
    part: impl FnOnce(u64) -> Range<u64>,
) -> Result<(TypeName, Values), Failure> {
    let mut arrays = Vec::new();
    let mut tables = Vec::new();
    let mut element_type = None;
    for path in paths {
        let (found, source) = if arguments.delimiter.is_some() || is_table(path) {
            let (element_type, values) = read_table(arguments, path)?;
            tables.push(values);
            (element_type, Err(tables.len() - 1))
        } else {
            let column = arguments.column.as_deref();
            let array =
                Array::open(path, arguments.element_type, column).map_err(Failure::input)?;
            let is_reordered = array.is_fortran && array.shape.len() > 1;
            refuse_other_order(arguments, path, is_reordered)?;
            (array.element_type, Ok(array))
        };
        if *element_type.get_or_insert(found) != found {
            return Err(Failure::input(InputError::OtherType {
                path: path.into(),
                found: found.to_string(),
                asked: format!(
                    "{} like {}",
                    element_type.unwrap_or(found),
                    paths[0].display()
                ),
            }));
        }
        arrays.push(source);
    }
    let element_type = element_type.unwrap_or_else(|| arguments.type_of_tables());
    let length = |source: &Result<Array, usize>| match source {
        Ok(array) => array.values().len(),
        Err(table) => tables[*table].len(),
    };
    let all: usize = arrays.iter().map(length).sum();
    let each = element_type.bytes();
    let part = part((all / each) as u64);
    let part = part.start as usize * each..part.end as usize * each;
    if let [Ok(_)] = arrays[..]
        && let Some(Ok(array)) = arrays.pop()
    {
        return Ok((element_type, Values::Mapped(array, part)));
    }
    let mut values = Vec::with_capacity(part.len());
    let mut before = 0;
    for source in &arrays {
        let bytes = match source {
            Ok(array) => array.values(),
            Err(table) => &tables[*table],
        };
        let end = before + bytes.len();
        let (from, to) = (part.start.clamp(before, end), part.end.clamp(before, end));
        values.extend_from_slice(&bytes[from - before..to - before]);
        before = end;
    }
    Ok((element_type, Values::Read(values)))
}

/// All values of a table's column, and their type.
fn read_table(arguments: &Arguments, path: &Path) -> Result<(TypeName, Vec<u8>), Failure> {
    const STEP: usize = 1 << 20;
    let found = Found::open(path, arguments.asked()).map_err(Failure::input)?;
    let mut all = Vec::new();
    if let Lies::Stream(mut values) = found.place {
        loop {
            let before = all.len();
            all.resize(before + STEP, 0);
            let read = values.fill(&mut all[before..]).map_err(Failure::input)?;
            all.truncate(before + read);
            if read < STEP {
                break;
            }
        }
    }
    Ok((found.element_type, all))
}
