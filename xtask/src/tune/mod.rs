//! `cargo xtask tune`: measures how rows and columns are reduced fastest on this machine's GPU, and makes the library's table of it.

mod error;
mod measurements;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::io;
use crate::files::write;
pub use error::TuneError;
use measurements::{Kind, Measurements};
use table::Device;

/// What to measure with.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo xtask tune --keep target/tune")]
pub struct Options {
    /// Where the measurements are kept.
    #[arg(long, value_name = "FOLDER", default_value = "target/tune")]
    keep: PathBuf,
    /// Measure nothing: make the table of what is in that folder.
    #[arg(long)]
    from_kept: bool,
}

/// Where the tables are, and what they give up against the fastest launch of each operator at each shape.
const TABLES: &str = "host/src/reduce/measured";
const EVIDENCE: &str = "peers/results";

/// The operators and types that stand for the others: those of each kind of work, for each size of value.
const SUBJECTS: [(&str, &str); 22] = [
    ("sum", "i8"),
    ("max", "i8"),
    ("argmax", "i8"),
    ("mean", "i8"),
    ("sum", "bf16"),
    ("max", "bf16"),
    ("argmax", "bf16"),
    ("variance", "bf16"),
    ("sum", "f32"),
    ("max", "f32"),
    ("argmax", "f32"),
    ("mean", "f32"),
    ("variance", "f32"),
    ("logsumexp", "f32"),
    ("sum", "f64"),
    ("max", "f64"),
    ("argmax", "f64"),
    ("variance", "f64"),
    ("dot", "i8"),
    ("dot", "bf16"),
    ("dot", "f32"),
    ("dot", "f64"),
];

/// What is measured of an operator, by the names that `time_reductions` has for it, and the bytes of the input: of pairs there are no rows.
fn modes(operator: &str) -> &'static [(&'static str, &'static str, Kind)] {
    const ALL: [(&str, &str, Kind); 4] = [
        ("single", "1073741824", Kind::Single),
        ("every", "1073741824", Kind::Rows),
        ("odd", "268435456", Kind::OddRows),
        ("columns", "1073741824", Kind::Columns),
    ];
    match operator {
        "dot" => &ALL[..1],
        _ => &ALL,
    }
}

/// Measures, and writes the table.
///
/// # Errors
/// There is no GPU, a kernel is wrong, or what is kept is not complete.
pub fn run(repository: &Path, options: &Options) -> Result<(), TuneError> {
    let folder = repository.join(&options.keep);
    if !options.from_kept {
        warpfold_driver::available()?;
        fs::create_dir_all(&folder).map_err(io(format!("create {}", folder.display())))?;
        for (operator, element) in SUBJECTS {
            for (mode, bytes, _) in modes(operator) {
                let text = measure(repository, operator, element, [bytes, mode])?;
                write(&folder.join(name_of(operator, element, mode)), &text)?;
                println!("{operator} of {element}, {mode}: measured");
            }
        }
    }
    let mut measurements = Measurements::default();
    for (operator, element) in SUBJECTS {
        for &(mode, _, kind) in modes(operator) {
            let path = folder.join(name_of(operator, element, mode));
            let file = path.display().to_string();
            let text = fs::read_to_string(&path).map_err(io(format!("read {file}")))?;
            measurements.read(&file, &text, kind)?;
        }
    }
    let missing = |what| TuneError::Missing {
        folder: folder.display().to_string(),
        what,
    };
    let (text, evidence) = table::of(&measurements).map_err(missing)?;
    let module = (Device::of(&measurements.device).map(|device| device.module()))
        .ok_or_else(|| missing("a GPU".to_owned()))?;
    let table = format!("{TABLES}/{module}.rs");
    let proof = format!("{EVIDENCE}/{module}.launches.csv");
    write(&repository.join(&table), &text)?;
    write(&repository.join(&proof), &evidence)?;
    write(
        &repository.join(TABLES).join("mod.rs"),
        &list(&repository.join(TABLES))?,
    )?;
    println!("{table} and {proof} show {}", folder.display());
    Ok(())
}

/// The source that lists the tables in this folder.
fn list(folder: &Path) -> Result<String, TuneError> {
    let reading = || io(format!("read {}", folder.display()));
    let mut modules = Vec::new();
    for entry in fs::read_dir(folder).map_err(reading())? {
        let path = entry.map_err(reading())?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        modules.extend(stem.filter(|&stem| stem != "mod").map(str::to_owned));
    }
    modules.sort();
    let declared: String = (modules.iter())
        .map(|module| format!("mod {module};\n"))
        .collect();
    let tables: Vec<String> = (modules.iter())
        .map(|module| format!("{module}::TUNED"))
        .collect();
    Ok(format!(
        "//! What was measured, a file for each GPU, written by `cargo xtask tune`.\n\n{declared}\nuse crate::reduce::choice::Tuned;\n\n\
         /// What was measured, by GPUs.\npub const TUNED: &[Tuned] = &[{}];\n",
        tables.join(", ")
    ))
}

fn name_of(operator: &str, element: &str, mode: &str) -> String {
    format!("{operator}.{element}.{mode}.txt")
}

fn measure(
    repository: &Path,
    operator: &'static str,
    element: &'static str,
    bytes_and_mode: [&str; 2],
) -> Result<String, TuneError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "warpfold-peers",
            "--bin",
            "time_reductions",
            "--",
        ])
        .args([operator, element])
        .args(bytes_and_mode)
        .current_dir(repository)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(io("run cargo"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(TuneError::NotMeasured { operator, element })
    }
}
