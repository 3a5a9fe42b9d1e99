//! `cargo xtask peers`: builds what the kernels are compared with, runs the comparison, and shows it; `cargo xtask peers shapes` does so
//! with reductions of every shape, and `cargo xtask peers groups` with one sum of several GPUs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use warpfold_driver::Unavailable;

use crate::failure::{BAD_USE, Failure, IoError, io};
use crate::results::{self, ResultsError, long, shapes};

/// What to compare; what is left out is up to the comparison.
#[derive(clap::Args)]
#[command(
    after_help = "Example: cargo xtask peers --sizes 2^20,2^24,2^28 --types i32,f64 --json peers/results/h200.json"
)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// Numbers of elements [default: 2^10, 2^12 and so on to 2^30].
    #[arg(long)]
    sizes: Option<String>,
    /// What is added up, of i32, i64, f32 and f64 [default: i32,f32].
    #[arg(long)]
    types: Option<String>,
    /// Timed launches of each contender; beyond 2^24 elements fewer [default: 101].
    #[arg(long)]
    repeat: Option<u32>,
    /// What the launches find: the L2 cache as a launch before has left it, or overwritten, or the former and an idle GPU [default:
    /// warm,cold,idle].
    #[arg(long)]
    finds: Option<String>,
    /// Threads of a block, for the steps of the ladder [default: 512].
    #[arg(long)]
    block: Option<u32>,
    /// The Python that has torch and CuPy [default: python3].
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,
    /// CUB and Thrust from this folder, which has `cub` and `thrust` in it, instead of those that nvcc comes with.
    #[arg(long, value_name = "FOLDER")]
    cccl: Option<PathBuf>,
    /// Where the record goes.
    #[arg(long, value_name = "FILE", default_value = "target/peers/record.json")]
    json: PathBuf,
}

/// What is compared instead of sums of whole arrays.
#[derive(clap::Subcommand)]
enum Subject {
    /// Reductions of every shape: rows, columns, segments, small types and arrays, scans, and by key.
    Shapes(OfShapes),
    /// One sum of all GPUs of this computer, beside NCCL after CUB.
    Groups(OfGroups),
}

/// What of sums by several GPUs to compare; what is left out is up to the comparison.
#[derive(clap::Args)]
#[command(
    after_help = "NCCL's header and library are looked for where nvcc looks; CPATH and LIBRARY_PATH add folders.\nExample: cargo xtask peers groups --bits 10,20,31 --json peers/results/groups.json"
)]
struct OfGroups {
    /// Numbers of values in all: 2 to the powers of these.
    #[arg(long)]
    bits: Option<String>,
    /// Timed launches of each contender [default: 101].
    #[arg(long)]
    repeat: Option<u32>,
    /// Where the record goes.
    #[arg(long, value_name = "FILE", default_value = "target/peers/groups.json")]
    json: PathBuf,
}

/// What of them to compare; what is left out is up to the comparison.
#[derive(clap::Args)]
#[command(
    after_help = "Example: cargo xtask peers shapes --only rows,segments --json peers/results/shapes.json"
)]
struct OfShapes {
    /// Only these, of rows, columns, odd-columns, odd-rows, types, type-columns, segments, graphs, scans and keys.
    #[arg(long)]
    only: Option<String>,
    /// Timed launches of each contender [default: 7].
    #[arg(long)]
    repeat: Option<u32>,
    /// After this many seconds nothing new is begun [default: 900].
    #[arg(long)]
    seconds: Option<u64>,
    /// Measure what the record at --json has not yet, since the seconds of a run before were over.
    #[arg(long = "continue")]
    continues: bool,
    /// The Python that has torch, CuPy, Triton or JAX [default: python3].
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,
    /// CUB and Thrust from this folder, which has `cub` and `thrust` in it, instead of those that nvcc comes with.
    #[arg(long, value_name = "FOLDER")]
    cccl: Option<PathBuf>,
    /// Where the record goes.
    #[arg(long, value_name = "FILE", default_value = "target/peers/shapes.json")]
    json: PathBuf,
}

impl OfShapes {
    /// What the comparison is told.
    fn arguments(&self) -> impl Iterator<Item = String> {
        given([
            ("--only", self.only.clone()),
            ("--repeat", self.repeat.map(|number| number.to_string())),
            ("--seconds", self.seconds.map(|number| number.to_string())),
            ("--python", self.python.clone()),
        ])
    }
}

/// Options with their values, those that have one.
fn given<const N: usize>(
    options: [(&'static str, Option<String>); N],
) -> impl Iterator<Item = String> {
    options
        .into_iter()
        .filter_map(|(name, value)| Some([name.to_owned(), value?]))
        .flatten()
}

impl Options {
    /// What the comparison is told.
    fn arguments(&self) -> impl Iterator<Item = String> {
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        given([
            ("--sizes", self.sizes.clone()),
            ("--types", self.types.clone()),
            ("--repeat", number(self.repeat)),
            ("--finds", self.finds.clone()),
            ("--block", number(self.block)),
            ("--python", self.python.clone()),
        ])
    }
}

/// Why peers were not compared.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// There is nothing to time on.
    #[error("peers are timed on a GPU, and there is none to use: {0}")]
    NoGpu(#[from] Unavailable),
    /// The comparison failed, and has said why.
    #[error("the comparison with peers was not finished: see above")]
    NotFinished {
        /// Its exit status.
        status: u8,
    },
    /// What it has kept cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for PeersError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::NotFinished { status } => *status,
            Self::NoGpu(_) | Self::Results(_) | Self::Io(_) => BAD_USE,
        }
    }
}

/// Builds, runs and shows.
///
/// # Errors
/// There is no GPU, a contender of ours is wrong, or something does not build or cannot be written.
pub fn run(repository: &Path, options: &Options) -> Result<(), PeersError> {
    warpfold_driver::available()?;
    let folder = repository.join("target/peers");
    fs::create_dir_all(&folder).map_err(io(format!("create {}", folder.display())))?;
    match &options.subject {
        Some(Subject::Shapes(options)) => return run_shapes(repository, &folder, options),
        Some(Subject::Groups(options)) => return run_groups(repository, &folder, options),
        None => {}
    }
    let json = absolute(&options.json)?;
    let library = build_library(
        &repository.join("peers/reduce.cu"),
        &folder.join("libpeers.so"),
        options.cccl.as_deref(),
    );
    let cubecl = build_cubecl(&repository.join("peers/cubecl"));

    let mut command = comparison(repository);
    command.args(options.arguments()).arg("--json").arg(&json);
    for (option, what, built) in [
        ("--library", "CUDA C++, CUB and Thrust", library),
        ("--cubecl", "CubeCL", cubecl),
    ] {
        match built {
            Ok(path) => {
                command.arg(option).arg(path);
            }
            Err(reason) => println!("left out: {what}: {reason}"),
        }
    }
    finish(&mut command)?;
    let record = results::read(&json)?;
    println!("{}", long::text(&record));
    println!("kept in {}", json.display());
    Ok(())
}

/// The same for reductions of every shape.
fn run_shapes(repository: &Path, folder: &Path, options: &OfShapes) -> Result<(), PeersError> {
    let json = absolute(&options.json)?;
    let sources = repository.join("peers/shapes");
    // Each takes half a minute, and CubeCL some minutes the first time.
    let (built, cubecl) = thread::scope(|scope| {
        let cubecl = scope.spawn(|| build_cubecl(&repository.join("peers/cubecl")));
        let threads = SHAPES.map(|name| {
            let source = sources.join(name).with_extension("cu");
            let library = folder.join(format!("lib{name}.so"));
            let cccl = options.cccl.as_deref();
            scope.spawn(move || build_library(&source, &library, cccl))
        });
        (threads.map(joined), joined(cubecl))
    });
    let mut command = comparison(repository);
    command
        .arg("shapes")
        .args(options.arguments())
        .arg("--json")
        .arg(&json);
    if options.continues {
        command.arg("--continue");
    }
    for (name, built) in SHAPES.into_iter().zip(built) {
        match built {
            Ok(path) => {
                command.arg("--library").arg(path);
            }
            Err(reason) => println!("left out: {name} in CUDA C++: {reason}"),
        }
    }
    match cubecl {
        Ok(path) => {
            command.arg("--cubecl").arg(path);
        }
        Err(reason) => println!("left out: CubeCL: {reason}"),
    }
    finish(&mut command)?;
    for line in shapes::verdict(&results::read_shapes(&json)?) {
        println!("{line}");
    }
    println!("kept in {}", json.display());
    Ok(())
}

/// What a thread has built.
fn joined(thread: ScopedJoinHandle<'_, Result<PathBuf, String>>) -> Result<PathBuf, String> {
    thread
        .join()
        .unwrap_or_else(|_| Err("its thread was stopped".to_owned()))
}

/// The same for sums by several GPUs.
fn run_groups(repository: &Path, folder: &Path, options: &OfGroups) -> Result<(), PeersError> {
    let json = absolute(&options.json)?;
    let source = repository.join("peers/group.cu");
    let mut command = comparison(repository);
    command.arg("groups").arg("--json").arg(&json);
    command.args(given([
        ("--bits", options.bits.clone()),
        ("--repeat", options.repeat.map(|number| number.to_string())),
    ]));
    match build(&source, &folder.join("libgroup.so"), &["-lnccl".into()]) {
        Ok(path) => {
            command.arg("--library").arg(path);
        }
        Err(reason) => println!("left out: NCCL after CUB: {reason}"),
    }
    finish(&mut command)?;
    println!("kept in {}", json.display());
    Ok(())
}

/// The files of peers/shapes, each of which becomes a library.
const SHAPES: [&str; 6] = ["arrays", "rows", "segments", "scans", "bf16", "i8"];

fn absolute(path: &Path) -> Result<PathBuf, PeersError> {
    let folder = env::current_dir().map_err(io("find the current folder"))?;
    Ok(folder.join(path))
}

/// The program that compares.
fn comparison(repository: &Path) -> Command {
    let mut command = Command::new(cargo());
    command
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "warpfold-peers",
            "--",
        ])
        .current_dir(repository);
    command
}

/// Runs it to its end.
fn finish(command: &mut Command) -> Result<(), PeersError> {
    let status = command.status().map_err(io("run cargo"))?;
    if status.success() {
        return Ok(());
    }
    // 101 is cargo's own, where the comparison does not build.
    let status = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1);
    Err(PeersError::NotFinished { status })
}

/// Compiles the contenders in C++ for this machine's GPU, or says why not.
fn build_library(source: &Path, library: &Path, cccl: Option<&Path>) -> Result<PathBuf, String> {
    let include = cccl.map(|folder| ["-I".into(), folder.as_os_str().to_owned()]);
    let include: Vec<OsString> = include.into_iter().flatten().collect();
    build(source, library, &include)
}

/// Compiles a shared library for this machine's GPU.
fn build(source: &Path, library: &Path, more: &[OsString]) -> Result<PathBuf, String> {
    let nvcc = nvcc().ok_or("there is no nvcc, in the PATH or in CUDA_HOME")?;
    let status = Command::new(&nvcc)
        .args([
            "-O3",
            "-std=c++17",
            "-arch=native",
            "-shared",
            "-Xcompiler",
            // Newer versions of CUB have another way to choose a policy beside that which all have.
            "-fPIC,-Wno-deprecated-declarations",
        ])
        .arg(source)
        .args(more)
        .arg("-o")
        .arg(library)
        .status();
    match status {
        Ok(status) if status.success() => Ok(library.to_owned()),
        Ok(_) => Err(format!(
            "{} does not compile {}",
            nvcc.display(),
            source.display()
        )),
        Err(error) => Err(format!("{} does not run: {error}", nvcc.display())),
    }
}

/// Compiles the contenders of CubeCL, or says why not.
fn build_cubecl(folder: &Path) -> Result<PathBuf, String> {
    let status = Command::new(cargo())
        .args(["build", "--release", "--locked"])
        .current_dir(folder)
        .status();
    match status {
        Ok(status) if status.success() => Ok(folder.join("target/release/cubecl-peer")),
        Ok(_) => Err("cargo does not build peers/cubecl".to_owned()),
        Err(error) => Err(format!("cargo does not run: {error}")),
    }
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// CUDA's compiler, if there is one.
fn nvcc() -> Option<PathBuf> {
    let of_home = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os);
    let folders = of_home.map(|home| Path::new(&home).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = [PathBuf::from("/usr/local/cuda/bin")];
    folders
        .chain(env::split_paths(&path).collect::<Vec<_>>())
        .chain(usual)
        .map(|folder| folder.join("nvcc"))
        .find(|file| file.is_file())
}
