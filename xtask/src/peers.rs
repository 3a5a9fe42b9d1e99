//! `cargo xtask peers`: builds what the kernels are compared with, runs the comparison, and shows it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpfold_driver::Unavailable;

use crate::failure::{BAD_USE, Failure, IoError, io};
use crate::results::{self, ResultsError, long};

/// What to compare; what is left out is up to the comparison.
#[derive(clap::Args)]
#[command(
    after_help = "Example: cargo xtask peers --sizes 2^20,2^24,2^28 --types i32,f64 --json peers/results/h200.json"
)]
pub struct Options {
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

impl Options {
    /// What the comparison is told.
    fn arguments(&self) -> impl Iterator<Item = String> {
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let options = [
            ("--sizes", self.sizes.clone()),
            ("--types", self.types.clone()),
            ("--repeat", number(self.repeat)),
            ("--finds", self.finds.clone()),
            ("--block", number(self.block)),
            ("--python", self.python.clone()),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_owned(), value?]));
        given.flatten()
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
    let json = env::current_dir()
        .map_err(io("find the current folder"))?
        .join(&options.json);
    let library = build_library(
        &repository.join("peers/reduce.cu"),
        &folder.join("libpeers.so"),
        options.cccl.as_deref(),
    );
    let cubecl = build_cubecl(&repository.join("peers/cubecl"));

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
        .args(options.arguments())
        .arg("--json")
        .arg(&json)
        .current_dir(repository);
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
    let status = command.status().map_err(io("run cargo"))?;
    if !status.success() {
        // 101 is cargo's own, where the comparison does not build.
        let status = status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1);
        return Err(PeersError::NotFinished { status });
    }
    let record = results::read(&json)?;
    println!("{}", long::text(&record));
    println!("kept in {}", json.display());
    Ok(())
}

/// Compiles the contenders in C++ for this machine's GPU, or says why not.
fn build_library(source: &Path, library: &Path, cccl: Option<&Path>) -> Result<PathBuf, String> {
    let nvcc = nvcc().ok_or("there is no nvcc, in the PATH or in CUDA_HOME")?;
    let include = cccl.map(|folder| [OsStr::new("-I"), folder.as_os_str()]);
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
        .args(include.into_iter().flatten())
        .arg(source)
        .arg("-o")
        .arg(library)
        .status();
    match status {
        Ok(status) if status.success() => Ok(library.to_owned()),
        Ok(_) => Err(format!(
            "{} does not compile peers/reduce.cu",
            nvcc.display()
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
