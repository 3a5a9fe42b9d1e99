//! `cargo xtask peers`: builds what the kernels are compared with, runs the comparison, and shows it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::XtaskError;
use crate::results::{self, long};

/// What to compare.
#[derive(clap::Args)]
#[command(
    after_help = "Example: cargo xtask peers --sizes 2^20,2^24,2^28 --repeat 31 --json peers/results/h200.json"
)]
pub struct Options {
    /// Numbers of elements.
    #[arg(long, default_value = "2^16,2^20,2^22,2^24,2^26,2^28")]
    sizes: String,
    /// Timed launches of each contender.
    #[arg(long, default_value_t = 15)]
    repeat: u32,
    /// Only launches that find in the L2 cache what the launch before has left.
    #[arg(long, conflicts_with = "cold")]
    warm: bool,
    /// Only launches that find nothing of use in the L2 cache.
    #[arg(long)]
    cold: bool,
    /// Threads of a block, for the steps of the ladder.
    #[arg(long, default_value_t = 512)]
    block: u32,
    /// The Python that has torch and CuPy.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,
    /// Where the record goes.
    #[arg(long, value_name = "FILE", default_value = "target/peers/record.json")]
    json: PathBuf,
}

/// Builds, runs and shows.
///
/// # Errors
/// There is no GPU, a contender is wrong, or something does not build or cannot be written.
pub fn run(repository: &Path, options: &Options) -> Result<(), XtaskError> {
    warpfold_driver::available()?;
    let folder = repository.join("target/peers");
    fs::create_dir_all(&folder).map_err(XtaskError::io(format!("create {}", folder.display())))?;
    let json = env::current_dir()
        .map_err(XtaskError::io("find the current folder"))?
        .join(&options.json);
    let library = build(
        &repository.join("peers/reduce.cu"),
        &folder.join("libpeers.so"),
    );

    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "warpfold",
            "--example",
            "peers",
            "--",
        ])
        .args(["--sizes", &options.sizes, "--python", &options.python])
        .args([
            "--repeat",
            &options.repeat.to_string(),
            "--block",
            &options.block.to_string(),
        ])
        .args(options.warm.then_some("--warm"))
        .args(options.cold.then_some("--cold"))
        .arg("--json")
        .arg(&json)
        .current_dir(repository);
    match library {
        Ok(library) => {
            command.arg("--library").arg(library);
        }
        Err(reason) => println!("CUDA C++, CUB and Thrust are left out: {reason}."),
    }
    let status = command.status().map_err(XtaskError::io("run cargo"))?;
    if !status.success() {
        // 101 is cargo's own, where the comparison does not build.
        let status = status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1);
        return Err(XtaskError::Peers { status });
    }
    let record = results::read(&json)?;
    println!("{}", long::text(&record));
    println!("kept in {}", json.display());
    Ok(())
}

/// Compiles the contenders in C++ for this machine's GPU, or says why not.
fn build(source: &Path, library: &Path) -> Result<PathBuf, String> {
    let nvcc = nvcc().ok_or("there is no nvcc, in the PATH or in CUDA_HOME")?;
    let status = Command::new(&nvcc)
        .args([
            "-O3",
            "-std=c++17",
            "-arch=native",
            "-shared",
            "-Xcompiler",
            "-fPIC",
        ])
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
