//! `cargo xtask cross`: builds the product for every system that it is for, and runs it where this machine can.
//!
//! Where rustup has installed the standard library of a target (`rustup target add`), that one is used. Otherwise it is built from its source,
//! which the device compiler comes with, so that no other toolchain is needed; that takes most of the time. A linker or a runner that is
//! missing is said so, and its row counts as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::builder::PossibleValuesParser;
use comfy_table::Table;
use cuda_builder::{CudaBuilder, CudaBuilderError, DeviceCompiler};

use crate::ci::PACKAGES;
use crate::failure::{BAD_USE, Failure, IoError, io, lines};

/// Which systems.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo xtask cross --only aarch64-unknown-linux-gnu")]
pub struct Options {
    /// Only this target; may be given several times.
    #[arg(long, value_name = "TARGET", value_parser = PossibleValuesParser::new(triples()))]
    only: Vec<String>,
    /// Also run tests of the emulator where programs run; they take long to compile for each target.
    #[arg(long)]
    tests: bool,
}

/// A system that the product is for.
struct Target {
    triple: &'static str,
    package: &'static str,
    /// What links programs for it here.
    linker: Option<&'static str>,
    /// What runs them here, with its first arguments; any one of them will do.
    runners: &'static [&'static [&'static str]],
}

const CLI: &str = "warpfold-cli";

const fn compiled(triple: &'static str, package: &'static str) -> Target {
    Target {
        triple,
        package,
        linker: None,
        runners: &[],
    }
}

const TARGETS: [Target; 9] = [
    Target {
        triple: "aarch64-unknown-linux-gnu",
        package: CLI,
        linker: Some("aarch64-linux-gnu-gcc"),
        runners: &[&["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]],
    },
    Target {
        triple: "i686-unknown-linux-gnu",
        package: CLI,
        linker: Some("i686-linux-gnu-gcc"),
        runners: &[&["qemu-i386", "-L", "/usr/i686-linux-gnu"]],
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        package: CLI,
        linker: Some("x86_64-w64-mingw32-gcc"),
        runners: &[&["wine64"], &["wine"], &["/usr/lib/wine/wine64"]],
    },
    // Only Microsoft and Apple have what links programs for their systems.
    compiled("x86_64-pc-windows-msvc", CLI),
    compiled("aarch64-apple-darwin", CLI),
    compiled("x86_64-apple-darwin", CLI),
    // What a browser gets: no files, no threads, no clock.
    compiled("wasm32-unknown-unknown", "warpfold-course"),
    compiled("wasm32-unknown-unknown", "warpfold"),
    compiled("wasm32-unknown-unknown", "warpfold-emulator"),
];

/// Each system once, though several packages may be for it.
fn triples() -> Vec<&'static str> {
    let mut triples: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
    triples.dedup();
    triples
}

/// Tests of the emulator that run on each system that programs run for here: arithmetic, memory, control, clusters, and what is told of
/// mistakes.
const TESTS: [&str; 3] = ["arithmetic", "execution", "text"];

/// Little is run here, and much is compiled.
const QUICKLY: [&str; 3] = [
    "profile.dev.debug=false",
    "profile.dev.package.warpfold-emulator.opt-level=1",
    "profile.dev.package.warpfold-emulator.codegen-units=16",
];

/// What is run, and whether what it prints is the same on every system.
const RUNS: [(&[&str], bool); 3] = [
    (&["ladder", "-n", "2^10", "--device", "emulator"], false),
    (&["check", "unroll_warps8"], true),
    (&["trace", "interleaved", "-n", "16", "--block", "8"], true),
];

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub enum CrossError {
    /// There is no compiler with the source of the standard library.
    #[error(transparent)]
    Compiler(#[from] CudaBuilderError),
    /// A program cannot be started.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Something does not build, or does otherwise than on this machine.
    #[error("{}", lines(.0))]
    Findings(Vec<String>),
}

impl Failure for CrossError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Findings(_) => 1,
            Self::Compiler(_) | Self::Io(_) => BAD_USE,
        }
    }
}

/// Where the standard library of a target comes from.
enum Library {
    Installed,
    /// From its source, by a compiler that has it.
    Built(DeviceCompiler),
}

impl Library {
    /// The installed one, if there is one.
    fn of(target: &Target, repository: &Path) -> Result<Self, CrossError> {
        let output = Command::new("rustc")
            .args(["--print", "target-libdir", "--target", target.triple])
            .current_dir(repository)
            .output()
            .map_err(io("run rustc"))?;
        let folder = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && Path::new(folder.trim()).is_dir() {
            return Ok(Self::Installed);
        }
        let kernels = CudaBuilder::new(repository.join("kernels"));
        Ok(Self::Built(kernels.find_device_compiler()?))
    }

    /// Where what is compiled with it goes. With the installed one, build scripts and macros are those of the tests.
    fn folder(&self, repository: &Path) -> PathBuf {
        match self {
            Self::Installed => repository.join("target"),
            Self::Built(_) => repository.join("target/cross"),
        }
    }
}

/// Builds and runs, and prints a table of what came of it.
///
/// # Errors
/// There is no compiler, or something does not build or run.
pub fn run(repository: &Path, options: &Options) -> Result<(), CrossError> {
    let chosen = TARGETS.iter().filter(|target| {
        options.only.is_empty() || options.only.iter().any(|triple| triple == target.triple)
    });
    let mut table = Table::new();
    table.set_header([
        "target",
        "package",
        "compiled",
        "linked",
        "ran",
        "tests passed",
    ]);
    let (mut findings, mut skipped) = (Vec::new(), 0);
    let mut expected = None;
    for target in chosen {
        let library = Library::of(target, repository)?;
        let whence = match library {
            Library::Installed => "installed",
            Library::Built(_) => "built from its source",
        };
        println!(
            "{}: {}, with a standard library {whence}",
            target.triple, target.package
        );
        let linker = target.linker.filter(|linker| is_there(linker));
        let compiled = target.build(repository, &library, linker)?;
        let runner = target.runners.iter().find(|runner| is_there(runner[0]));
        let (linked, ran, passed) = match (target.linker, linker, runner) {
            (None, ..) => ("".to_owned(), "".to_owned(), "".to_owned()),
            (Some(name), None, _) => (
                format!("skipped: no {name}"),
                "skipped".to_owned(),
                "skipped".to_owned(),
            ),
            (_, _, None) => (
                word(compiled).to_owned(),
                format!("skipped: no {}", target.runners[0][0]),
                "skipped".to_owned(),
            ),
            (_, _, Some(_)) if !compiled => ("no".to_owned(), "no".to_owned(), "no".to_owned()),
            (_, Some(linker), Some(runner)) => {
                if expected.is_none() {
                    expected = Some(native(repository)?);
                }
                let expected = expected.as_deref().unwrap_or_default();
                let wrong = target.wrong(&library.folder(repository), runner, expected)?;
                let right = wrong.is_empty();
                findings.extend(wrong);
                let passed = if options.tests {
                    let passed = target.test(repository, &library, linker, runner)?;
                    if !passed {
                        findings.push(format!(
                            "tests of the emulator fail for {}; its output is above",
                            target.triple
                        ));
                    }
                    word(passed)
                } else {
                    "not asked for"
                };
                ("yes".to_owned(), word(right).to_owned(), passed.to_owned())
            }
        };
        skipped += u32::from(linked.starts_with("skipped") || ran.starts_with("skipped"));
        if !compiled {
            findings.push(format!(
                "{} does not build for {}",
                target.package, target.triple
            ));
        }
        table.add_row([
            target.triple,
            target.package,
            word(compiled),
            &linked,
            &ran,
            &passed,
        ]);
    }
    println!("{table}\n{skipped} rows with a part that was skipped");
    if findings.is_empty() {
        Ok(())
    } else {
        Err(CrossError::Findings(findings))
    }
}

fn word(is_right: bool) -> &'static str {
    if is_right { "yes" } else { "no" }
}

/// Whether a program of this name can be started.
fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

impl Target {
    /// Compiles the package, and links it where there is a linker.
    fn build(
        &self,
        repository: &Path,
        library: &Library,
        linker: Option<&str>,
    ) -> Result<bool, IoError> {
        let action = if linker.is_some() { "build" } else { "check" };
        let mut cargo = self.cargo(repository, library, linker, action);
        cargo.args(["--package", self.package]);
        let status = cargo.status().map_err(io("run cargo"))?;
        if let (true, Some(linker), true) = (
            status.success(),
            linker,
            self.triple.ends_with("windows-gnu"),
        ) {
            self.stand_in_for_random_numbers(&library.folder(repository), linker)?;
        }
        Ok(status.success())
    }

    /// Whether tests pass there.
    fn test(
        &self,
        repository: &Path,
        library: &Library,
        linker: &str,
        runner: &[&str],
    ) -> Result<bool, IoError> {
        let mut cargo = self.cargo(repository, library, Some(linker), "test");
        cargo.args(["--package", "warpfold-emulator-tests"]);
        for test in TESTS {
            cargo.args(["--test", test]);
        }
        let folder = library.folder(repository).join(self.triple).join("debug");
        let status = cargo
            .env(self.variable("RUNNER"), runner.join(" "))
            .env("WINEDEBUG", "-all")
            // Where the library is that stands in for one of Windows.
            .env("WINEPATH", folder)
            .status()
            .map_err(io("run cargo"))?;
        Ok(status.success())
    }

    /// cargo for this system, with a standard library of its own.
    fn cargo(
        &self,
        repository: &Path,
        library: &Library,
        linker: Option<&str>,
        action: &str,
    ) -> Command {
        let mut cargo = Command::new("cargo");
        cargo
            .args([action, "--quiet", "--target", self.triple])
            .args(QUICKLY.iter().flat_map(|setting| ["--config", setting]))
            .env("CARGO_TARGET_DIR", library.folder(repository))
            // Nobody else has what `.cargo/config.toml` sets here.
            .env("CUDA_LIBRARY_PATH", "")
            .current_dir(repository);
        if let Library::Built(compiler) = library {
            compiler.apply(&mut cargo);
            cargo
                .arg("-Zbuild-std=std,panic_abort")
                .env_remove("RUSTUP_TOOLCHAIN");
        }
        if let Some(linker) = linker {
            cargo.env(self.variable("LINKER"), linker);
        }
        cargo
    }

    /// The variable by which cargo is told this of the system.
    fn variable(&self, what: &str) -> String {
        let name = self.triple.to_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{name}_{what}")
    }

    /// Rust's standard library takes random numbers from a library that Windows has had since version 7, and Wine only since 9: puts one
    /// beside the program that asks the older function.
    fn stand_in_for_random_numbers(&self, folder: &Path, linker: &str) -> Result<(), IoError> {
        const SOURCE: &str = "#include <windows.h>\n\
            BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);\n\
            __declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes)\n\
            { return SystemFunction036(data, (ULONG)bytes); }\n";
        let folder = folder.join(self.triple).join("debug");
        let source = folder.join("bcryptprimitives.c");
        fs::write(&source, SOURCE).map_err(io(format!("write {}", source.display())))?;
        Command::new(linker)
            .args(["-shared", "-o"])
            .arg(folder.join("bcryptprimitives.dll"))
            .arg(&source)
            .arg("-ladvapi32")
            .status()
            .map_err(io(format!("run {linker}")))?;
        Ok(())
    }

    /// What it does otherwise than this machine's own program.
    fn wrong(
        &self,
        folder: &Path,
        runner: &[&str],
        expected: &[Ran],
    ) -> Result<Vec<String>, IoError> {
        let extension = if self.triple.contains("windows") {
            ".exe"
        } else {
            ""
        };
        let program = folder
            .join(self.triple)
            .join(format!("debug/warpfold{extension}"));
        let mut wrong = Vec::new();
        for (ran, expected) in all_runs(runner, &program)?.iter().zip(expected) {
            if ran.status != expected.status {
                wrong.push(format!(
                    "`warpfold {}` for {} ends with {:?}, and here with {:?}: {}",
                    ran.arguments, self.triple, ran.status, expected.status, ran.errors
                ));
            } else if ran.is_the_same_everywhere && ran.output != expected.output {
                wrong.push(format!(
                    "`warpfold {}` for {} prints something else than here",
                    ran.arguments, self.triple
                ));
            }
        }
        Ok(wrong)
    }
}

/// A run of the program.
struct Ran {
    arguments: String,
    is_the_same_everywhere: bool,
    status: Option<i32>,
    output: Vec<u8>,
    errors: String,
}

/// This machine's own program, as the tests of the command line have compiled it.
fn native(repository: &Path) -> Result<Vec<Ran>, IoError> {
    Command::new("cargo")
        .args(["test", "--quiet", "--no-run", "--test", "cli"])
        .args(PACKAGES)
        .env("CARGO_TARGET_DIR", repository.join("target"))
        .current_dir(repository)
        .status()
        .map_err(io("run cargo"))?;
    let name = format!("target/debug/warpfold{}", std::env::consts::EXE_SUFFIX);
    all_runs(&[], &repository.join(name))
}

fn all_runs(runner: &[&str], program: &Path) -> Result<Vec<Ran>, IoError> {
    RUNS.iter()
        .map(|(arguments, is_the_same_everywhere)| {
            let mut command = match runner {
                [] => Command::new(program),
                [first, rest @ ..] => {
                    let mut command = Command::new(first);
                    command.args(rest).arg(program);
                    command
                }
            };
            let output = command
                .args(*arguments)
                .env("NO_COLOR", "1")
                .env("WINEDEBUG", "-all")
                .output()
                .map_err(io(format!("run {}", program.display())))?;
            Ok(Ran {
                arguments: arguments.join(" "),
                is_the_same_everywhere: *is_the_same_everywhere,
                status: output.status.code(),
                output: output.stdout,
                errors: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            })
        })
        .collect()
}
