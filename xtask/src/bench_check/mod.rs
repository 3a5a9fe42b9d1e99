//! `cargo xtask bench-check`: what the emulator and the kernels' PTX cost, counted and compared with a saved baseline.
//!
//! Times of a machine that does other things as well differ by more than a regression does; the instructions that valgrind's
//! callgrind counts repeat to a few thousandths. What is compared is the count for each unit of work, such as a warp instruction, so
//! that a kernel may change without the emulator being blamed.

mod baseline;
mod callgrind;
mod compare;
mod error;
mod finding;
mod ptx;
mod table;
mod work;

use std::path::Path;

use baseline::{Baseline, Compiler};
use compare::{Comparison, Verdict};
pub use error::BenchCheckError;

/// Where the baseline is.
const BASELINE: &str = "benches/baseline.json";

/// What to do with the counts.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 where nothing costs more than 5 % more than in benches/baseline.json, 1 where something does, or where \
                  the two do not have the same rows, 2 where nothing can be counted.\nHow long a build of the PTX takes is said by `cargo xtask build-ptx`."
)]
pub struct Options {
    /// Write the counts to benches/baseline.json, whatever they are
    #[arg(long)]
    bless: bool,
}

/// Counts, shows and compares.
///
/// # Errors
/// Something costs too much more than in the baseline, or only one of the two has it; there is no baseline; valgrind is missing; or something does not build.
pub fn run(repository: &Path, options: &Options) -> Result<(), BenchCheckError> {
    let path = repository.join(BASELINE);
    // Before a minute of counting: what would make it useless.
    let baseline = match options.bless {
        true => None,
        false => Some(Baseline::read(&path)?),
    };
    callgrind::check_installed()?;
    let compiler = Compiler::of(repository)?;
    let mut rows = callgrind::count(repository)?;
    rows.extend(ptx::count(repository)?);
    let Some(baseline) = baseline else {
        let baseline = Baseline { compiler, rows };
        baseline.write(&path)?;
        println!("{}", table::text(&Comparison::of(&baseline.rows, &[])));
        println!("{BASELINE} has these counts now");
        return Ok(());
    };
    let comparison = Comparison::of(&rows, &baseline.rows);
    println!("{}", table::text(&comparison));
    for note in notes(&comparison, &compiler, &baseline.compiler) {
        println!("{note}");
    }
    let findings = comparison.findings();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(BenchCheckError::Counts(findings))
    }
}

/// What there is to say below the table, a sentence each.
fn notes(comparison: &Comparison<'_>, compiler: &Compiler, of_baseline: &Compiler) -> Vec<String> {
    let mut notes = Vec::new();
    if compiler != of_baseline {
        notes.push(format!(
            "The baseline was counted with {of_baseline}, and this is {compiler}: some of the change may be the compiler's."
        ));
    }
    if let Some(names) = comparison.names(Verdict::Better) {
        notes.push(format!(
            "Over 5 % lower than in the baseline: {names}; `cargo xtask bench-check --bless` keeps it so."
        ));
    }
    notes
}
