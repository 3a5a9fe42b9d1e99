//! `cargo xtask wheel`: the command line and the Python library as wheels, each tried in an environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::failure::{BAD_USE, FailedStep, Failure, IoError, io};

/// Which wheels, and where they go.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo xtask wheel --only python --out dist")]
pub struct Options {
    /// The folder that gets the wheels.
    #[arg(long, value_name = "FOLDER", default_value = "target/wheels")]
    out: PathBuf,
    /// Build only this one.
    #[arg(long, value_enum)]
    only: Option<Wheel>,
}

/// A wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Wheel {
    /// The command line, as the package `warpfold-cli`.
    Cli,
    /// The library for arrays of NumPy, torch, CuPy and JAX, as the package `warpfold`.
    Python,
}

impl Wheel {
    /// The manifest of its crate.
    fn manifest(self) -> &'static str {
        match self {
            Self::Cli => "cli/Cargo.toml",
            Self::Python => "python/Cargo.toml",
        }
    }
}

/// Why there is no wheel, or none that works.
#[derive(Debug, thiserror::Error)]
pub enum WheelError {
    /// This machine lacks a tool.
    #[error("a wheel is not built without {tool}, which is not on this machine: run `{install}`")]
    Missing {
        /// What lacks.
        tool: &'static str,
        /// What would bring it.
        install: &'static str,
    },
    /// A program that was started failed.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// The build has left none or several.
    #[error("maturin has left {0} wheels and not one in {1}: see its output above")]
    NotOne(usize, String),
    /// The installed program does otherwise than it should.
    #[error(
        "`warpfold {arguments}`, installed from the wheel, prints `{printed}`, which has no `{expected}`"
    )]
    Prints {
        /// What it was given.
        arguments: String,
        /// What it wrote.
        printed: String,
        /// What should be in that.
        expected: &'static str,
    },
    /// A file or program of the system failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for WheelError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Step(_) | Self::NotOne(..) | Self::Prints { .. } => 1,
            Self::Missing { .. } | Self::Io(_) => BAD_USE,
        }
    }
}

/// The programs that a wheel is made and tried with, how each says that it is there, and what brings it. For Linux, zig links with the
/// oldest system library that the wheel promises to start with.
const TOOLS: [(&str, &[&str], &str); 3] = [
    ("maturin", &["maturin", "--version"], "pip install maturin"),
    (
        "zig",
        &["python3", "-m", "ziglang", "version"],
        "pip install ziglang",
    ),
    (
        "Python's venv",
        &["python3", "-c", "import ensurepip, venv"],
        "apt-get install python3-venv",
    ),
];

/// What is tried, and what it has to print.
const TRIALS: [(&[&str], &str); 2] = [
    (&["--version"], env!("CARGO_PKG_VERSION")),
    (
        &[
            "reduce", "nile.csv", "--column", "volume", "--device", "emulator",
        ],
        "91935",
    ),
];

/// Builds the wheels, installs each in a fresh environment, and tries it there: the command line by running it, the library by its tests.
///
/// # Errors
/// A tool is missing, one does not build, or does not do what it should.
pub fn run(repository: &Path, options: &Options) -> Result<(), WheelError> {
    for (tool, command, install) in TOOLS {
        let answer = program(command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !answer.is_ok_and(|status| status.success()) {
            return Err(WheelError::Missing { tool, install });
        }
    }
    for wheel in [Wheel::Cli, Wheel::Python] {
        if options.only.is_none_or(|only| only == wheel) {
            make(repository, wheel, &options.out)?;
        }
    }
    Ok(())
}

/// The system's library that unwinds stacks. When an interpreter exits, glibc ends its other threads by unwinding them with this library. A
/// wheel that has an unwinder of zig's own linked into it crashes then.
fn unwinder() -> Result<String, WheelError> {
    let mut cc = Command::new("cc");
    let output = cc
        .arg("-print-file-name=libgcc_s.so.1")
        .output()
        .map_err(io("run cc"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn make(repository: &Path, wheel: Wheel, out: &Path) -> Result<(), WheelError> {
    let folder = tempfile::tempdir().map_err(io("create a temporary folder"))?;
    let built = folder.path().join("built");
    let mut maturin = program(&["maturin", "build", "--release", "--locked", "--out"]);
    maturin
        .arg(&built)
        .arg("--manifest-path")
        .arg(repository.join(wheel.manifest()));
    if cfg!(target_os = "linux") {
        maturin.args(["--zig", "--compatibility", "manylinux2014"]);
        maturin.env("RUSTFLAGS", format!("-C link-arg={}", unwinder()?));
    }
    // Elsewhere than in the repository, whose configuration of cargo nobody else has.
    step(maturin.current_dir(folder.path()))?;
    let file = only_file_in(&built)?;

    let environment = folder.path().join("environment");
    step(program(&["python3", "-m", "venv"]).arg(&environment))?;
    let programs = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let pip = || {
        let mut pip = Command::new(programs.join("pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]);
        pip
    };
    step(pip().arg("--no-index").arg(&file))?;
    let tried = match wheel {
        Wheel::Cli => {
            let data = repository.join("tests/data/nile.csv");
            fs::copy(&data, folder.path().join("nile.csv"))
                .map_err(io(format!("copy {}", data.display())))?;
            for (arguments, expected) in TRIALS {
                let program = programs.join("warpfold");
                try_out(&program, arguments, expected, folder.path())?;
            }
            "installs and runs"
        }
        Wheel::Python => {
            step(pip().args(["numpy", "ml_dtypes", "pytest"]))?;
            let mut pytest = Command::new(programs.join("python"));
            pytest
                .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
                .arg(repository.join("python/tests"))
                .env("PYTHONDONTWRITEBYTECODE", "1");
            step(pytest.current_dir(folder.path()))?;
            "installs and passes its tests"
        }
    };

    let out = repository.join(out);
    fs::create_dir_all(&out).map_err(io(format!("create {}", out.display())))?;
    let name = file.file_name().unwrap_or_default();
    let (kept, temporary) = (out.join(name), out.join(name).with_extension("tmp"));
    fs::copy(&file, &temporary)
        .and_then(|_| fs::rename(&temporary, &kept))
        .map_err(io(format!("write {}", kept.display())))?;
    let bytes = fs::metadata(&kept)
        .map_err(io(format!("read {}", kept.display())))?
        .len();
    println!(
        "{}: {:.1} MiB, {tried}",
        kept.display(),
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(())
}

fn program(command: &[&str]) -> Command {
    let mut program = Command::new(command[0]);
    program.args(&command[1..]).stdin(Stdio::null());
    program
}

/// Runs a program that has to succeed.
fn step(command: &mut Command) -> Result<(), WheelError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let status = command.status().map_err(io(format!("run {name}")))?;
    if status.success() {
        return Ok(());
    }
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy());
    let words: Vec<_> = [name.as_str().into()]
        .into_iter()
        .chain(arguments)
        .collect();
    Err(WheelError::Step(FailedStep {
        command: words.join(" "),
        elapsed: start.elapsed(),
    }))
}

fn only_file_in(folder: &Path) -> Result<PathBuf, WheelError> {
    let failed = || io(format!("read {}", folder.display()));
    let files: Result<Vec<_>, _> = fs::read_dir(folder).map_err(failed())?.collect();
    match files.map_err(failed())?.as_slice() {
        [file] => Ok(file.path()),
        files => Err(WheelError::NotOne(
            files.len(),
            folder.display().to_string(),
        )),
    }
}

/// Runs the installed program, as a machine without a GPU would.
fn try_out(
    warpfold: &Path,
    arguments: &[&str],
    expected: &'static str,
    folder: &Path,
) -> Result<(), WheelError> {
    let output = Command::new(warpfold)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(io(format!("run {}", warpfold.display())))?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && printed.replace(',', "").contains(expected) {
        return Ok(());
    }
    Err(WheelError::Prints {
        arguments: arguments.join(" "),
        printed,
        expected,
    })
}
