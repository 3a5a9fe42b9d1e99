//! One text of PTX: what it is made from, and how.

use std::fs;
use std::path::Path;

use cuda_builder::{CudaBuilder, DebugInfo, DeviceCompiler, NvvmArch};
use warpfold_kernels::catalogue::PtxText;
use warpfold_ptx::header::Header;

use super::compare::Finding;
use super::entries;
use super::error::BuildPtxError;
use super::generated::Generated;
use super::refusal::unless_expected;
use crate::failure::io;

/// A text of PTX that is to be made.
#[derive(Clone)]
pub(super) struct Job {
    /// Where it is kept, relative to the repository.
    pub file: String,
    /// The folder of the crate.
    pub package: &'static str,
    /// The feature that makes cargo compile the kernels of this module and no others, where the crate has several.
    pub module: Option<&'static str>,
    pub arch: NvvmArch,
    pub debug: DebugInfo,
    /// The version of PTX, where it is not the usual one of the architecture.
    pub ptx_version: Option<u32>,
    pub source_hash: String,
    /// Whether lines that hold a comment alone are left out.
    pub is_bare: bool,
    /// Whose entries it has to have.
    pub entries: Option<Entries>,
}

/// What a text's entries are compared with.
#[derive(Clone, Copy)]
pub(super) enum Entries {
    Lessons(PtxText),
    Exhibits,
}

impl Job {
    /// The text as it is kept, and what is wrong with it.
    pub fn run(
        &self,
        repository: &Path,
        compiler: &DeviceCompiler,
        worker: usize,
    ) -> Result<(Generated, Vec<Finding>), BuildPtxError> {
        // Builds in one folder wait for one another.
        let target = repository.join("target");
        let folder = match worker {
            0 => target,
            _ => target.join(format!("build-ptx-{worker}")),
        };
        let kernels = CudaBuilder::new(repository.join(self.package))
            .build_args(&self.arguments())
            .arch(self.arch)
            .debug(self.debug)
            .ptx_version(self.ptx_version)
            .target_folder(folder);
        let mut ptx = build(kernels, compiler)?;
        if self.is_bare {
            ptx = without_comments(&ptx);
        }
        let header = Header {
            generator: "cargo xtask build-ptx".into(),
            compiler: compiler.version().to_string(),
            target: format!("nvptx64-nvidia-cuda {}", self.arch.target_cpu()),
            source_hash: self.source_hash.clone(),
        };
        let generated = Generated {
            file: self.file.clone(),
            text: format!("{header}{ptx}"),
        };
        Ok((generated, self.compare_entries(&ptx)))
    }

    /// What is wrong with the kernels that a text has.
    pub fn compare_entries(&self, ptx: &str) -> Vec<Finding> {
        match self.entries {
            Some(Entries::Lessons(module)) => {
                entries::compare(&self.file, ptx, module, self.arch.capability_value())
            }
            Some(Entries::Exhibits) => entries::compare_exhibits(&self.file, ptx),
            None => Vec::new(),
        }
    }

    /// What decides the text, besides what makes all texts: two jobs of one recipe give the same.
    pub fn recipe(&self) -> String {
        format!(
            "{} {} {:?} {:?} {:?} {} {}",
            self.package,
            self.arch.target_cpu(),
            self.arguments(),
            self.debug,
            self.ptx_version,
            self.is_bare,
            self.source_hash
        )
    }

    /// Arguments for cargo.
    fn arguments(&self) -> Vec<&'static str> {
        match self.module {
            Some(module) => vec!["--no-default-features", "--features", module],
            None => Vec::new(),
        }
    }
}

fn build(kernels: CudaBuilder, compiler: &DeviceCompiler) -> Result<String, BuildPtxError> {
    let built = kernels.device_compiler(compiler.clone()).build();
    let path = unless_expected(built, |path| path)?;
    Ok(fs::read_to_string(&path).map_err(io(format!("read {}", path.display())))?)
}

/// The text without lines that hold a compiler's comment alone, a fifth of what has much inline assembly. What is written for newer GPUs
/// stays, which has no space after the slashes.
fn without_comments(ptx: &str) -> String {
    let is_comment = |line: &str| {
        let comment = line.trim_start().strip_prefix("//");
        comment.is_some_and(|text| text.is_empty() || text.starts_with(char::is_whitespace))
    };
    ptx.split_inclusive('\n')
        .filter(|line| !is_comment(line))
        .collect()
}
