//! Times our kernels and everybody else's, interleaved, on one input in one process tree, and writes a record of it.
//!
//! `cargo xtask peers` builds what it needs, runs it, and shows the record. A repetition launches each contender once, so that
//! whatever the machine does meanwhile, it does to all. Every sum is compared with the CPU's, before the timing and after it.

mod answer;
mod arena;
mod clock;
mod comparison;
mod contender;
mod element;
mod error;
mod groups;
mod groups_record;
mod library;
mod machine;
mod ours;
mod process;
mod record;
mod rounds;
mod shapes;
mod shapes_record;
mod sums;

use clap::{Parser, ValueEnum};
use comparison::Comparison;
use error::PeersError;
use library::Library;
use process::Process;
use record::{Finds, Maker, Record};
use rounds::leave_out;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::{Command as System, ExitCode};
use std::rc::Rc;
use std::str::FromStr;
use warpfold::device::DeviceChoice;
use warpfold::{Device, Error};
use warpfold_course::size::parse_count;
use warpfold_kernels::catalogue::{BLOCK_SIZES, PtxText};
use warpfold_ptx::header::Header;

/// torch and CuPy.
const PYTHON_PEERS: &str = include_str!("../python_peers.py");
/// What cannot be had without these programs.
const OF_LIBRARY: &str = "CUDA C++, CUB and Thrust";
const OF_PYTHON: &str = "torch and CuPy";
const OF_CUBECL: &str = "CubeCL";

/// Times our kernels and everybody else's; `cargo xtask peers` prepares and shows what this measures.
#[derive(Parser)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    sums: Option<Sums>,
}

/// What to time instead of sums of whole arrays.
#[derive(clap::Subcommand)]
enum Command {
    /// Reductions of every shape.
    Shapes(shapes::Options),
    /// One sum of all GPUs.
    Groups(groups::Options),
}

/// What of sums to time.
#[derive(clap::Args)]
struct Sums {
    /// Numbers of elements.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = parse_some,
        default_value = "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28,2^30"
    )]
    sizes: Vec<usize>,
    /// What is added up.
    #[arg(long, value_delimiter = ',', default_value = "i32,f32")]
    types: Vec<Type>,
    /// Timed launches of each contender; beyond 2^24 elements fewer.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// What the launches find: the L2 cache as a launch before has left it, or overwritten, or the former and an idle GPU.
    #[arg(long, value_delimiter = ',', default_value = "warm,cold,idle")]
    finds: Vec<FindsOption>,
    /// Threads of a block, for the steps of the ladder: 64, 128, 256, 512 or 1024.
    #[arg(long, default_value_t = 512, value_parser = parse_block)]
    block: u32,
    /// What peers/reduce.cu was compiled to.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The Python that has torch and CuPy.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// What peers/cubecl was compiled to.
    #[arg(long, value_name = "FILE")]
    cubecl: Option<PathBuf>,
    /// Where the record goes.
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
}

/// The types that there are contenders for.
#[derive(Clone, Copy, ValueEnum)]
enum Type {
    I32,
    I64,
    F32,
    F64,
}

/// [`Finds`], by its name in a record.
#[derive(Clone, Copy)]
struct FindsOption(Finds);

impl FromStr for FindsOption {
    type Err = serde::de::value::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Finds::deserialize(name.into_deserializer()).map(Self)
    }
}

/// A number of elements that there is something to be made of.
fn parse_some(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        0 => Err("there is nothing to be added up; take at least one".to_owned()),
        n => Ok(n),
    }
}

/// A number of threads that the steps of the ladder are built for.
fn parse_block(text: &str) -> Result<u32, String> {
    let block = text.parse().ok();
    block
        .filter(|block| BLOCK_SIZES.contains(block))
        .ok_or_else(|| "use 64, 128, 256, 512 or 1024".to_owned())
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match (&options.command, &options.sums) {
        (Some(Command::Shapes(options)), _) => shapes::run(options),
        (Some(Command::Groups(options)), _) => groups::run(options),
        (None, Some(sums)) => run(sums),
        // The parser wants one of them.
        (None, None) => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_status().into()
        }
    }
}

fn run(options: &Sums) -> Result<(), PeersError> {
    let version = warpfold_driver::available().map_err(PeersError::NoGpu)?;
    let device = Device::open(&DeviceChoice::Gpu(0))?;
    let mut record = Record {
        date: machine::date(),
        device: device.describe(),
        driver: machine::driver(&version.to_string()),
        datasheet_gigabytes_per_second: machine::datasheet(&device),
        compilers: Vec::new(),
        block: options.block,
        measurements: Vec::new(),
        notes: Vec::new(),
        left_out: Vec::new(),
    };
    let ptx = device.ptx(PtxText::Kernels).map_err(Error::from)?;
    let header = Header::parse(&ptx);
    record
        .compilers
        .extend(header.map(|header| header.compiler));
    let comparison = Comparison {
        machine: device,
        library: library(options, &mut record)?,
        processes: processes(options, &mut record),
        finds: options
            .finds
            .iter()
            .map(|&FindsOption(finds)| finds)
            .collect(),
        repeat: options.repeat as usize,
        block: options.block,
    };
    for &element_type in &options.types {
        for &n in &options.sizes {
            match element_type {
                Type::I32 => comparison.compare::<i32>(n, &mut record)?,
                Type::I64 => comparison.compare::<i64>(n, &mut record)?,
                Type::F32 => comparison.compare::<f32>(n, &mut record)?,
                Type::F64 => comparison.compare::<f64>(n, &mut record)?,
            }
            // After each size, so that a run that is cut short keeps what it has measured.
            machine::write(&options.json, &record)?;
        }
    }
    Ok(())
}

/// The contenders in C++.
fn library(options: &Sums, record: &mut Record) -> Result<Option<Rc<Library>>, PeersError> {
    let Some(path) = &options.library else {
        leave_out(record, OF_LIBRARY, None, "they take nvcc to build");
        return Ok(None);
    };
    let library = Library::open(path)?;
    record.compilers.push(library.compiler());
    record.left_out.extend(library.left_out());
    Ok(Some(library))
}

/// The contenders in processes of their own.
fn processes(options: &Sums, record: &mut Record) -> Vec<Rc<RefCell<Process>>> {
    let mut python = System::new(&options.python);
    python.args(["-c", PYTHON_PEERS]);
    let mut commands = vec![(OF_PYTHON, Maker::Python, python)];
    match &options.cubecl {
        Some(program) => commands.push((OF_CUBECL, Maker::Rust, System::new(program))),
        None => leave_out(record, OF_CUBECL, None, "peers/cubecl was not built"),
    }
    let mut processes = Vec::new();
    for (name, maker, command) in commands {
        match Process::start(name, maker, command) {
            Ok(process) => {
                record.compilers.extend(process.versions.iter().cloned());
                record.notes.extend(process.notes.iter().cloned());
                record.left_out.extend(process.left_out.iter().cloned());
                processes.push(Rc::new(RefCell::new(process)));
            }
            Err(error) => leave_out(record, name, None, &error.to_string()),
        }
    }
    processes
}
