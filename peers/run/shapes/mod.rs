//! Times reductions of every shape by everybody, in turn, on the same values in one process tree, and writes a record of it.
//!
//! Every contender's results are compared with the CPU's before it is timed and after it. Whatever fails leaves one contender out, with
//! the reason.

mod asked;
mod ceiling;
mod contender;
mod library;
mod ours;
mod problem;
mod python;
mod results;
mod spread;
mod summary;
mod turns;
mod values;

use crate::clock::Clock;
use crate::error::PeersError;
use crate::machine;
use crate::process::Process;
use crate::record::Maker;
use crate::shapes_record::{Group, Missing, ShapesRecord};
use clap::ValueEnum;
use library::Library;
use problem::Problem;
use results::Words;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{env, fs, mem};
use turns::{Table, leave_out};
use values::Inputs;
use warpfold::device::DeviceChoice;
use warpfold::{Device, Error};
use warpfold_kernels::catalogue::PtxText;
use warpfold_ptx::header::Header;

/// What is in a process of its own that is not Python's.
const CUBECL: &str = "CubeCL";

/// What to measure.
#[derive(clap::Args)]
pub struct Options {
    /// Only these groups.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Group>,
    /// Timed launches of each contender; of one that takes more than 50 ms it is one.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How many values there are: 2 to the power of this.
    #[arg(long, default_value_t = 28, value_parser = clap::value_parser!(u32).range(13..=28))]
    bits: u32,
    /// After this many seconds nothing new is begun.
    #[arg(long, default_value_t = 900)]
    seconds: u64,
    /// What the files of peers/shapes were compiled to, each given by its own option.
    #[arg(long = "library", value_name = "FILE")]
    libraries: Vec<PathBuf>,
    /// The Python that has torch, CuPy, Triton or JAX.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// What peers/cubecl was compiled to.
    #[arg(long, value_name = "FILE")]
    cubecl: Option<PathBuf>,
    /// Where the record goes.
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
    /// Measure what the record there has not yet, since the seconds of a run before were over.
    #[arg(long = "continue")]
    continues: bool,
}

/// Measures and writes.
///
/// # Errors
/// There is no GPU, it fails for good, one of our own calls is wrong, or the record cannot be written.
pub fn run(options: &Options) -> Result<(), PeersError> {
    let begun = Instant::now();
    let version = warpfold_driver::available().map_err(PeersError::NoGpu)?;
    let device = Device::open(&DeviceChoice::Gpu(0))?;
    let mut record = ShapesRecord {
        date: machine::date(),
        device: device.describe(),
        driver: machine::driver(&version.to_string()),
        made_by: made_by(options),
        compilers: Vec::new(),
        points: Vec::new(),
        notes: Vec::new(),
        left_out: Vec::new(),
    };
    let ptx = device.ptx(PtxText::Kernels).map_err(Error::from)?;
    let header = Header::parse(&ptx);
    record
        .compilers
        .extend(header.map(|header| header.compiler));

    let groups = match &options.only[..] {
        [] => Group::value_variants(),
        only => only,
    };
    let has_small_types = groups.contains(&Group::Types) || groups.contains(&Group::TypeColumns);
    let inputs = Inputs::new(&device, options.bits, has_small_types)?;
    let python = python::Files::new()?;
    let mut table = Table {
        device: &device,
        clock: Clock::new(&device)?,
        words: Words::new(&device)?,
        inputs: &inputs,
        libraries: libraries(options, &mut record),
        processes: processes(options, &python, &inputs, &mut record),
        repeat: options.repeat as usize,
        beside: None,
    };
    let mut problems = problem::all(groups, options.bits);
    if options.continues {
        continue_record(&options.json, &mut record, &mut problems)?;
    }
    let deadline = begun + Duration::from_secs(options.seconds);
    for problem in problems {
        if Instant::now() > deadline {
            let reason = format!("the {} seconds were over", options.seconds);
            leave_out(&mut record, "everybody", Some(&problem), &reason);
            continue;
        }
        table.measure(&problem, &mut record)?;
        let seconds = begun.elapsed().as_secs();
        eprintln!("{seconds} s: {problem}");
        // After each, so that a run that is cut short keeps what it has measured.
        machine::write(&options.json, &record)?;
    }
    machine::write(&options.json, &record)?;
    println!("{}", summary::text(&record));
    match turns::wrong_of_ours(&record) {
        None => Ok(()),
        Some(missing) => Err(PeersError::Contender {
            name: missing.name.clone(),
            n: 1 << options.bits,
            message: missing.reason.clone(),
        }),
    }
}

/// Puts what a run before has measured into this record, and leaves the other problems. The run before must have been by the same program, on a GPU
/// of the same kind, with the same libraries. Why somebody did not take part in the problems that are left does not count any more.
fn continue_record(
    path: &Path,
    now: &mut ShapesRecord,
    problems: &mut Vec<Problem>,
) -> Result<(), PeersError> {
    let refused = |reason: String| PeersError::Before {
        path: path.to_owned(),
        reason,
    };
    let text = fs::read(path).map_err(|error| refused(error.to_string()))?;
    let before: ShapesRecord =
        serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
    let who = |record: &ShapesRecord| {
        let own = [&record.device, &record.driver, &record.made_by].map(String::clone);
        [&own[..], &record.compilers].concat().join("; ")
    };
    if who(&before) != who(now) {
        let (before, now) = (who(&before), who(now));
        return Err(refused(format!("it is of {before}, and this is {now}")));
    }
    problems.retain(|problem| !before.points.iter().any(|point| problem.is_at(point)));
    let is_over = |missing: &Missing| {
        let is_at = |problem: &Problem| missing.at == Some(problem.to_string());
        !problems.iter().any(is_at)
    };
    let left_out = mem::take(&mut now.left_out).into_iter();
    let left_out = left_out.filter(|missing| !before.left_out.contains(missing));
    let left_out: Vec<Missing> = left_out.collect();
    *now = before;
    now.left_out.retain(is_over);
    now.left_out.extend(left_out);
    Ok(())
}

/// A digest of this program, which has the kernels in it, and what of the options changes a time.
fn made_by(options: &Options) -> String {
    let program = env::current_exe().and_then(fs::read);
    let mut hasher = DefaultHasher::new();
    hasher.write(&program.unwrap_or_default());
    let (digest, bits, repeat) = (hasher.finish(), options.bits, options.repeat);
    format!("program {digest:016x}, 2^{bits} values, {repeat} launches")
}

/// The contenders in C++.
fn libraries(options: &Options, record: &mut ShapesRecord) -> Vec<Rc<Library>> {
    let mut libraries = Vec::new();
    for path in &options.libraries {
        match Library::open(path) {
            Ok(library) => {
                let compiler = library.compiler();
                if !record.compilers.contains(&compiler) {
                    record.compilers.push(compiler);
                }
                record.notes.extend(library.note());
                libraries.push(library);
            }
            Err(error) => {
                let name = path.display().to_string();
                leave_out(record, &name, None, &error.to_string());
            }
        }
    }
    if options.libraries.is_empty() {
        leave_out(record, "CUB and Thrust", None, "they take nvcc to build");
    }
    libraries
}

/// The contenders in processes of their own, one for each library, so that one that breaks takes no other with it.
fn processes(
    options: &Options,
    python: &python::Files,
    inputs: &Inputs,
    record: &mut ShapesRecord,
) -> Vec<Rc<RefCell<Process>>> {
    let mut started = Vec::from(python.start(&options.python));
    match &options.cubecl {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg("shapes");
            started.push((CUBECL, Process::start(CUBECL, Maker::Rust, command)));
        }
        None => leave_out(record, CUBECL, None, "peers/cubecl was not built"),
    }
    let mut processes = Vec::new();
    for (name, started) in started {
        match started.and_then(|process| welcome(process, inputs, record)) {
            Ok(process) => processes.extend(process),
            Err(error) => leave_out(record, name, None, &error.reason()),
        }
    }
    processes
}

/// Puts on record what a process has said of itself, and shares the values with it, unless it has not found its library.
fn welcome(
    process: Process,
    inputs: &Inputs,
    record: &mut ShapesRecord,
) -> Result<Option<Rc<RefCell<Process>>>, PeersError> {
    record.compilers.extend(process.versions.iter().cloned());
    record.notes.extend(process.notes.iter().cloned());
    let left_out = process.left_out.iter().map(|one| Missing {
        name: one.name.clone(),
        at: None,
        reason: one.reason.clone(),
    });
    record.left_out.extend(left_out);
    if !process.left_out.is_empty() {
        return Ok(None);
    }
    let process = Rc::new(RefCell::new(process));
    asked::share(&process, inputs)?;
    Ok(Some(process))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes_record::Point;
    use problem::ProblemShape;

    const BITS: u32 = 13;

    fn record_of(problems: &[Problem]) -> ShapesRecord {
        let point = |problem: &Problem| {
            let ProblemShape::Matrix(matrix, _) = problem.shape else {
                unreachable!("a problem of rows has a matrix");
            };
            Point {
                group: problem.group,
                operator: problem.operator.name().to_owned(),
                element_type: problem.element.name().to_owned(),
                rows: matrix.rows,
                columns: matrix.columns,
                spread: None,
                bytes_read: 0,
                bytes_written: 0,
                times: Vec::new(),
            }
        };
        ShapesRecord {
            date: "yesterday".to_owned(),
            device: "a GPU".to_owned(),
            driver: "1".to_owned(),
            made_by: "a program".to_owned(),
            compilers: vec!["a compiler".to_owned()],
            points: problems.iter().map(point).collect(),
            notes: Vec::new(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_run_goes_on_where_another_has_ended() {
        let all = problem::all(&[Group::Rows], BITS);
        let (done, left) = all.split_at(10);
        let missing = |at: Option<&Problem>, reason: &str| Missing {
            name: "somebody".to_owned(),
            at: at.map(Problem::to_string),
            reason: reason.to_owned(),
        };
        let mut before = record_of(done);
        let everywhere = missing(None, "it is not there");
        let before_only = missing(done.first(), "it is wrong");
        before.left_out = vec![
            everywhere.clone(),
            before_only.clone(),
            missing(left.first(), "the time was over"),
        ];
        let file = tempfile::NamedTempFile::new().expect("there is room");
        machine::write(file.path(), &before).expect("there is room");

        let mut now = record_of(&[]);
        now.date = "today".to_owned();
        now.left_out = vec![everywhere.clone()];
        let mut problems = all.clone();
        continue_record(file.path(), &mut now, &mut problems).expect("they are of the same");
        assert_eq!(problems, left);
        assert_eq!(now.points, before.points);
        assert_eq!(now.left_out, [everywhere, before_only]);
        assert_eq!(now.date, "yesterday");

        now.compilers.push("another".to_owned());
        let refused = continue_record(file.path(), &mut now, &mut problems);
        assert!(matches!(refused, Err(PeersError::Before { .. })));
    }

    /// Everything that is measured, but for other people's libraries, on the emulator, which has no times.
    #[test]
    fn our_calls_are_right_at_every_shape() {
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let inputs = Inputs::new(&device, BITS, true).expect("they fit");
        let mut record = ShapesRecord {
            date: String::new(),
            device: device.describe(),
            driver: String::new(),
            made_by: String::new(),
            compilers: Vec::new(),
            points: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
        };
        let mut table = Table {
            device: &device,
            clock: Clock::new(&device).expect("the kernels are PTX"),
            words: Words::new(&device).expect("the kernels are PTX"),
            inputs: &inputs,
            libraries: Vec::new(),
            processes: Vec::new(),
            repeat: 1,
            beside: None,
        };
        // Of the shapes of matrices some: the calls are the same.
        let problems: Vec<Problem> = problem::all(Group::value_variants(), BITS)
            .into_iter()
            .enumerate()
            .filter(|(place, problem)| {
                !matches!(problem.group, Group::Rows | Group::Columns) || place / 6 % 2 == 0
            })
            .map(|(_, problem)| problem)
            .collect();
        for problem in &problems {
            table
                .measure(problem, &mut record)
                .unwrap_or_else(|error| panic!("{problem}: {error}"));
        }
        assert_eq!(record.left_out, []);
        assert_eq!(record.points.len(), problems.len());
        for point in &record.points {
            let makers: Vec<Maker> = point.times.iter().map(|time| time.maker).collect();
            assert_eq!(makers, [Maker::Ceiling, Maker::Warpfold], "{point:?}");
        }
    }
}
