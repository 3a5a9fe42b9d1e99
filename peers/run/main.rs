//! Times our kernels and everybody else's, interleaved, on one input in one process tree, and writes a record of it.
//!
//! `cargo xtask peers` builds what it needs, runs it, and shows the record. A repetition launches each contender once, so that
//! whatever the machine does meanwhile, it does to all. Every sum is compared with the CPU's, before the timing and after it.

mod answer;
mod arena;
mod comparison;
mod contender;
mod element;
mod error;
mod library;
mod ours;
mod process;
mod record;
mod rounds;
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
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::str::FromStr;
use std::time::SystemTime;
use warpfold::device::{Device, DeviceChoice};
use warpfold::machine::{Machine, MachineError};
use warpfold::ptx::PtxSet;
use warpfold_course::size::parse_count;
use warpfold_kernels::catalogue::{BLOCK_SIZES, Module};
use warpfold_ptx::header::Header;

/// torch and CuPy.
const PYTHON_PEERS: &str = include_str!("../python_peers.py");
/// What cannot be had without these programs.
const OF_LIBRARY: &str = "CUDA C++, CUB and Thrust";
const OF_PYTHON: &str = "torch and CuPy";
const OF_CUBECL: &str = "CubeCL";

/// Times our kernels and everybody else's; `cargo xtask peers` prepares and shows what this measures.
#[derive(Parser)]
struct Options {
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
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_status().into()
        }
    }
}

fn run(options: &Options) -> Result<(), PeersError> {
    let version = warpfold_driver::available().map_err(PeersError::NoGpu)?;
    let device = Device::open(&DeviceChoice::Gpu(0))?;
    let mut record = Record {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        device: device.describe(),
        driver: driver(&version.to_string()),
        datasheet_gigabytes_per_second: datasheet(&device),
        compilers: Vec::new(),
        block: options.block,
        measurements: Vec::new(),
        notes: Vec::new(),
        left_out: Vec::new(),
    };
    let machine = Machine::new(device, PtxSet::embedded());
    let ptx = machine.ptx(Module::Kernels).map_err(MachineError::from)?;
    let header = Header::parse(ptx);
    record
        .compilers
        .extend(header.map(|header| header.compiler));
    let comparison = Comparison {
        machine,
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
            write(&options.json, &record)?;
        }
    }
    Ok(())
}

/// The contenders in C++.
fn library(options: &Options, record: &mut Record) -> Result<Option<Rc<Library>>, PeersError> {
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
fn processes(options: &Options, record: &mut Record) -> Vec<Rc<RefCell<Process>>> {
    let mut python = Command::new(&options.python);
    python.args(["-c", PYTHON_PEERS]);
    let mut commands = vec![(OF_PYTHON, Maker::Python, python)];
    match &options.cubecl {
        Some(program) => commands.push((OF_CUBECL, Maker::Rust, Command::new(program))),
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

/// The driver's own version, where `nvidia-smi` tells it, and that of CUDA.
fn driver(cuda: &str) -> String {
    let asked = Command::new("nvidia-smi")
        .args([
            "--query-gpu=driver_version",
            "--format=csv,noheader",
            "--id=0",
        ])
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            format!(
                "{} (CUDA {cuda})",
                String::from_utf8_lossy(&output.stdout).trim()
            )
        }
        _ => format!("CUDA {cuda}"),
    }
}

fn datasheet(device: &Device) -> Option<f64> {
    match device {
        Device::Gpu(gpu) => {
            let bytes_per_second = gpu.information().memory_bytes_per_second?;
            Some(bytes_per_second as f64 / 1e9)
        }
        Device::Emulator(_) => None,
    }
}

/// Writes the record under a temporary name, and renames it.
fn write(path: &Path, record: &Record) -> Result<(), PeersError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let failed = |source| PeersError::Write {
        path: path.to_owned(),
        source,
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of an ordinary new file; the process's mask takes its share away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    serde_json::to_writer_pretty(&mut file, record).map_err(|error| failed(error.into()))?;
    writeln!(file).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
