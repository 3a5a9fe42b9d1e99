//! Counting the emulator's instructions with valgrind's callgrind.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use super::baseline::Row;
use super::error::BenchCheckError;
use super::work::Work;
use crate::failure::{FailedStep, io};

/// The program that works, and the function of it around each piece of work, as callgrind names it.
const PROGRAM: &str = "emulator-work";
const COUNTED: &str = "emulator_work::counted";
/// The kernels that it runs.
const PTX: &str = "kernels/ptx/kernels.sm_90.ptx";

/// Builds the program, runs it and counts.
pub fn count(repository: &Path) -> Result<Vec<Row>, BenchCheckError> {
    let program = build(repository)?;
    let folder = TempDir::new().map_err(io("make a temporary folder"))?;
    let counts = folder.path().join("counts");
    let command_line = format!("valgrind --tool=callgrind {}", program.display());
    println!("counting: {command_line}");
    let start = Instant::now();
    let output = Command::new("valgrind")
        .args(["-q", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        // Counts inside of the function, and writes a file and begins at 0 each time it is left.
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--dump-after={COUNTED}"))
        .arg(program)
        .arg(repository.join(PTX))
        .stderr(Stdio::inherit())
        .output()
        .map_err(io(format!("run `{command_line}`")))?;
    if !output.status.success() {
        return Err(BenchCheckError::Step(FailedStep {
            command: command_line,
            elapsed: start.elapsed(),
        }));
    }
    println!("counted in {:.1} s", start.elapsed().as_secs_f64());
    let no_counts = |what: String| BenchCheckError::NoCounts { what };
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = (1..).zip(text.lines()).map(|(number, line)| {
        let work: Work = serde_json::from_str(line)
            .map_err(|error| no_counts(format!("{PROGRAM} says `{line}`: {error}")))?;
        let file = counts.with_extension(number.to_string());
        let of_work = fs::read_to_string(&file)
            .ok()
            .and_then(|text| instructions(&text));
        Ok(Row {
            count: of_work
                .ok_or_else(|| no_counts(format!("it has none of `{}` in {COUNTED}", work.name)))?,
            counted: "instructions".to_owned(),
            name: work.name,
            units: work.units,
            unit: work.unit,
        })
    });
    rows.collect()
}

/// The sum in a file of callgrind (Callgrind Format Specification, "summary").
fn instructions(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let sum = lines.find_map(|line| line.strip_prefix("summary:"))?;
    sum.trim().parse().ok().filter(|&count| count > 0)
}

/// Whether there is a valgrind.
pub fn check_installed() -> Result<(), BenchCheckError> {
    let answer = Command::new("valgrind").arg("--version").output();
    match answer {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(BenchCheckError::NoValgrind),
        Err(error) => Err(io("run `valgrind --version`")(error).into()),
        Ok(_) => Ok(()),
    }
}

/// The program, built as the product is.
fn build(repository: &Path) -> Result<PathBuf, BenchCheckError> {
    let arguments = [
        "build",
        "--quiet",
        "--release",
        "--package=xtask",
        "--bin",
        PROGRAM,
        "--message-format=json-render-diagnostics",
    ];
    let start = Instant::now();
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .current_dir(repository)
        .stderr(Stdio::inherit())
        .output()
        .map_err(io("run cargo"))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    executable
        .filter(|_| output.status.success())
        .ok_or_else(|| {
            BenchCheckError::Step(FailedStep {
                command: format!("cargo {}", arguments.join(" ")),
                elapsed: start.elapsed(),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_file_is_read() {
        let text = "events: Ir\nsummary: 6005\n\nfn=(1) counted\n12 6005\n\ntotals: 6005\n";
        assert_eq!(instructions(text), Some(6005));
        assert_eq!(instructions("events: Ir\nsummary: 0\n"), None);
        assert_eq!(instructions(""), None);
    }
}
