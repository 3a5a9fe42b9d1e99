//! `cargo xtask ci`: what has to pass before a change lands.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::failure::{BAD_USE, FailedStep, Failure, IoError, io};

/// Why a change must not land.
#[derive(Debug, thiserror::Error)]
pub enum CiError {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] FailedStep),
    /// A step could not be started.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Failure for CiError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Step(_) => 1,
            Self::Io(_) => BAD_USE,
        }
    }
}

/// One command line of cargo.
struct Step {
    arguments: &'static [&'static str],
    /// A variable to set, and its value.
    variable: Option<(&'static str, &'static str)>,
}

/// The packages with tests: all but the Python library, which has them in Python, and the comparisons. Cargo compiles a crate again for each set
/// of packages that asks for other features of what it stands on, so what is compiled as tests besides the product's own names this set.
pub const PACKAGES: [&str; 5] = [
    "--workspace",
    "--exclude",
    "warpfold-python",
    "--exclude",
    "warpfold-peers",
];

/// The tests first: they say most. Those of the product, as the README has it, and those of these chores.
const TESTS: [Step; 2] = [
    step(&["test"]),
    step(&[
        "test",
        PACKAGES[0],
        PACKAGES[1],
        PACKAGES[2],
        PACKAGES[3],
        PACKAGES[4],
        "--bin",
        "xtask",
        "--test",
        "command_line",
        "--test",
        "dependent",
        "--test",
        "new_crate",
        "--test",
        "readmes",
        "--test",
        "rust_cuda",
    ]),
];

const CHECKS: [Step; 6] = [
    step(&["fmt", "--all", "--check"]),
    step(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]),
    Step {
        arguments: &["doc", "--workspace", "--no-deps", "--all-features"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
    step(&["xtask", "architecture", "--check"]),
    step(&["xtask", "build-ptx", "--check"]),
    // Every operator over every type; a part of it is among the tests.
    step(&["xtask", "matrix"]),
];

const fn step(arguments: &'static [&'static str]) -> Step {
    Step {
        arguments,
        variable: None,
    }
}

/// Runs the steps in order, without `cargo test` if that is to be left out, each announced by its command line and followed by its time.
///
/// # Errors
/// The first step that fails.
pub fn run(repository: &Path, skip_tests: bool) -> Result<(), CiError> {
    let start = Instant::now();
    let tests = &TESTS[usize::from(skip_tests)..];
    for step in tests.iter().chain(&CHECKS) {
        step.run(repository)?;
    }
    println!(
        "all {} steps passed in {:.1} s",
        tests.len() + CHECKS.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

impl Step {
    /// The command line, as one would type it.
    fn command_line(&self) -> String {
        let variable = self
            .variable
            .map(|(name, value)| format!("{name}=\"{value}\" "));
        format!(
            "{}cargo {}",
            variable.unwrap_or_default(),
            self.arguments.join(" ")
        )
    }

    fn run(&self, repository: &Path) -> Result<(), CiError> {
        let command_line = self.command_line();
        println!("$ {command_line}");
        let start = Instant::now();
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(self.arguments)
            .envs(self.variable)
            .current_dir(repository)
            .status()
            .map_err(io(format!("run `{command_line}`")))?;
        let elapsed = start.elapsed();
        if !status.success() {
            return Err(CiError::Step(FailedStep {
                command: command_line,
                elapsed,
            }));
        }
        println!("  passed in {:.1} s", elapsed.as_secs_f64());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_announced_as_it_would_be_typed() {
        assert_eq!(
            CHECKS[2].command_line(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps --all-features"
        );
        assert_eq!(TESTS[0].command_line(), "cargo test");
    }

    #[test]
    fn no_test_of_the_chores_is_left_out() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let files = std::fs::read_dir(folder).expect("the tests are there");
        let paths = files.map(|file| file.expect("it can be read").path());
        let tests = paths.filter(|path| path.extension().is_some_and(|it| it == "rs"));
        let mut names: Vec<String> = tests
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        let mut named = TESTS[1].arguments.split(|argument| *argument == "--test");
        named.next();
        assert_eq!(named.collect::<Vec<_>>().concat(), names);
    }
}
