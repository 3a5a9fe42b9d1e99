//! `cargo xtask compare-codegen`: what two compilers made of the same kernels, entry by entry.

mod compiled;
mod error;
mod kinds;
mod runs;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{NvvmArch, ptx};
use tempfile::TempDir;
use warpfold_kernels::catalogue::{Entries, Lesson, PtxText, Variant, lessons};

use crate::build_ptx::{entries, unless_expected};
use crate::failure::io;
use compiled::Compiled;
pub use error::CompareError;
use kinds::Kinds;
use runs::Workload;
use warpfold_ptx::header::Header;

/// What to compare.
#[derive(clap::Args)]
#[command(
    after_help = "Example: cargo xtask compare-codegen --right target/ptx-rust-cuda --sm 90 -n 2^26 --device gpu"
)]
pub struct Options {
    /// The folder with the PTX of one compiler.
    #[arg(long, value_name = "DIR", default_value = "kernels/ptx")]
    left: PathBuf,
    /// The folder with the PTX of the other.
    #[arg(long, value_name = "DIR", default_value = "target/ptx-rust-cuda")]
    right: PathBuf,
    /// The module of kernels: kernels, nested, operators or recent.
    #[arg(long, default_value = "kernels", value_parser = parse_module)]
    module: PtxText,
    /// The architecture, as a compute capability without the dot.
    #[arg(long, value_name = "SM", default_value = "80")]
    sm: NvvmArch,
    #[command(flatten)]
    workload: Workload,
}

/// Prints the comparison.
///
/// # Errors
/// A file that is not there or lacks kernels, or kernels that do not run.
pub fn run(repository: &Path, options: &Options) -> Result<(), CompareError> {
    let sides =
        [&options.left, &options.right].map(|folder| Side::read(repository, folder, options));
    let [left, right] = sides;
    let (left, right) = (left?, right?);
    println!("L: {}\nR: {}", left.describe(), right.describe());
    println!("{}", options.workload.describe());
    let left = left.compiled(repository, options)?;
    let right = right.compiled(repository, options)?;
    println!("\n{}", table::text(&left, &right));
    Ok(())
}

/// One PTX file of the two.
struct Side {
    /// As it is named in messages.
    file: String,
    path: PathBuf,
    text: String,
}

impl Side {
    fn read(repository: &Path, folder: &Path, options: &Options) -> Result<Self, CompareError> {
        let (module, arch) = (options.module, options.sm);
        let name = format!("{}.{}.ptx", module.name(), arch.target_cpu());
        let file = folder.join(&name).display().to_string();
        // A relative folder is meant as the command's own documentation means it: from the root of the repository.
        let path = repository.join(folder).join(name);
        if !path.exists() {
            return Err(CompareError::NothingToCompare(file));
        }
        let text = fs::read_to_string(&path).map_err(io(format!("read {file}")))?;
        let findings = entries::compare(&file, &text, module, arch.capability_value());
        if findings.is_empty() {
            Ok(Self { file, path, text })
        } else {
            Err(CompareError::Findings(findings))
        }
    }

    /// The file, and the compiler that made it if it says so.
    fn describe(&self) -> String {
        let compiler = Header::parse(&self.text).map(|header| format!(", {}", header.compiler));
        format!("{}{}", self.file, compiler.unwrap_or_default())
    }

    /// Looks at each kernel and runs it.
    fn compiled(
        &self,
        repository: &Path,
        options: &Options,
    ) -> Result<Vec<Compiled>, CompareError> {
        let operations = ptx::operations(&self.text);
        let registers = unless_expected(ptx::registers(&self.path, options.sm), |_| None)?;
        let alone = self.alone()?;
        let least_sm = options.sm.capability_value();
        let lessons = lessons()
            .filter(|lesson| lesson.module == options.module && lesson.least_sm <= least_sm);
        let mut compiled = Vec::new();
        for (lesson, variant, entry) in lessons.flat_map(launches) {
            let of_entry = operations.iter().find(|(name, _)| name == entry);
            let registers = registers
                .iter()
                .flat_map(|assembled| &assembled.registers)
                .find(|(name, _)| name == entry);
            compiled.push(Compiled {
                entry,
                kinds: of_entry
                    .map(|(_, found)| Kinds::count(found))
                    .unwrap_or_default(),
                registers: registers.map(|&(_, count)| count),
                figures: options
                    .workload
                    .run(repository, lesson, variant, alone.path())?,
            });
        }
        Ok(compiled)
    }

    /// A folder with this file alone, so that no device takes the PTX for another architecture.
    fn alone(&self) -> Result<TempDir, CompareError> {
        let failed = || io(format!("copy {}", self.file));
        let folder = tempfile::tempdir().map_err(failed())?;
        let name = self.path.file_name().unwrap_or_default();
        fs::write(folder.path().join(name), &self.text).map_err(failed())?;
        Ok(folder)
    }
}

/// The block size for kernels that take any.
const ANY_BLOCK: u32 = 512;

/// Each entry of a lesson with what it is launched with.
fn launches(lesson: &'static Lesson) -> Vec<(&'static Lesson, Variant, &'static str)> {
    let usual = lesson.usual(ANY_BLOCK);
    let variants: Vec<Variant> = match lesson.entries {
        Entries::AnyBlock(_) => vec![usual],
        Entries::PerBlock(_) => lesson
            .variants()
            .filter(|variant| variant.parameter == usual.parameter)
            .collect(),
        Entries::PerParameter(_) => lesson.variants_of(ANY_BLOCK).collect(),
    };
    variants
        .into_iter()
        .filter_map(|variant| Some((lesson, variant, lesson.entry(variant)?)))
        .collect()
}

fn parse_module(name: &str) -> Result<PtxText, String> {
    let module = PtxText::ALL
        .into_iter()
        .find(|module| module.name() == name);
    module.ok_or_else(|| "it is kernels, nested, operators or recent".to_owned())
}
