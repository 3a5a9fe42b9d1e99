//! NVIDIA's assembler as a second opinion, where a machine has it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::arch::NvvmArch;
use crate::error::CudaBuilderError;

/// *Addition to rust-cuda's API:* lets NVIDIA's assembler judge a PTX file. Does nothing where there is no `ptxas`, or one
/// that knows no GPU that could run the PTX.
///
/// # Errors
/// [`CudaBuilderError::PtxasFailed`] with the assembler's messages.
pub fn assemble(ptx: &Path, arch: NvvmArch) -> Result<(), CudaBuilderError> {
    run(ptx, arch).map(|_| ())
}

/// *Addition to rust-cuda's API:* what NVIDIA's assembler says of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assembled {
    /// The version of the assembler: `12.9.86`.
    pub version: String,
    /// The GPU that it assembled for: that of the architecture or, if it no longer knows this one, the next: `sm_75`.
    pub gpu: String,
    /// The name of each kernel, and the registers of each of its threads.
    pub registers: Vec<(String, u32)>,
}

/// *Addition to rust-cuda's API:* lets NVIDIA's assembler compile a PTX file for an architecture, which may be a later one than
/// that of the PTX. `None` where there is no `ptxas`, or one that knows no GPU that could run the PTX.
///
/// # Errors
/// [`CudaBuilderError::PtxasFailed`] with the assembler's messages.
pub fn registers(ptx: &Path, arch: NvvmArch) -> Result<Option<Assembled>, CudaBuilderError> {
    let Some((gpu, report)) = run(ptx, arch)? else {
        return Ok(None);
    };
    let version = match find() {
        Some(ptxas) => output(Command::new(&ptxas).arg("--version"), &ptxas)?.stdout,
        None => Vec::new(),
    };
    Ok(Some(Assembled {
        version: version_in(&String::from_utf8_lossy(&version)),
        gpu,
        registers: registers_in(&report),
    }))
}

/// Assembles the PTX, throws the result away, and returns the GPU that it was assembled for, and what the assembler reports about it.
fn run(ptx: &Path, arch: NvvmArch) -> Result<Option<(String, String)>, CudaBuilderError> {
    let Some(ptxas) = find() else {
        return Ok(None);
    };
    let help = output(Command::new(&ptxas).arg("--help"), &ptxas)?;
    let Some(gpu) = gpu_for(arch, &String::from_utf8_lossy(&help.stdout)) else {
        return Ok(None);
    };
    // Functions of the device library stay undefined until the driver links them: compile, do not link.
    let assembling = output(
        Command::new(&ptxas)
            .args(["--compile-only", "--verbose", "--gpu-name", &gpu])
            .arg(ptx)
            .args(["--output-file", "/dev/null"]),
        &ptxas,
    )?;
    let report = String::from_utf8_lossy(&assembling.stderr)
        .trim()
        .to_owned();
    if assembling.status.success() {
        return Ok(Some((gpu, report)));
    }
    Err(CudaBuilderError::PtxasFailed {
        ptxas,
        path: ptx.to_owned(),
        message: report,
    })
}

fn output(command: &mut Command, ptxas: &Path) -> Result<Output, CudaBuilderError> {
    command
        .output()
        .map_err(CudaBuilderError::io(format!("run {}", ptxas.display())))
}

/// `12.9.86` in `Cuda compilation tools, release 12.9, V12.9.86`.
fn version_in(text: &str) -> String {
    let mut words = text.split_whitespace();
    let version = words.find_map(|word| {
        let version = word.strip_prefix('V')?;
        version
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(version)
    });
    version.unwrap_or("of unknown version").to_owned()
}

/// The kernels of a report, each with the number in the first `Used N registers` after its name.
fn registers_in(report: &str) -> Vec<(String, u32)> {
    let mut kernel = None;
    let mut registers = Vec::new();
    for line in report.lines() {
        if let Some((_, name)) = line.split_once("Compiling entry function '") {
            kernel = name.split('\'').next();
        } else if let Some((_, used)) = line.split_once("Used ")
            && let Some(count) = used.split(' ').next().and_then(|count| count.parse().ok())
            && let Some(kernel) = kernel.take()
        {
            registers.push((kernel.to_owned(), count));
        }
    }
    registers
}

/// `ptxas` on the `PATH`, else in the CUDA toolkit that a variable names, else where CUDA installs itself.
fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")])
        .map(|toolkit| toolkit.join("bin"));
    env::split_paths(&path)
        .chain(toolkits)
        .map(|folder| folder.join("ptxas"))
        .find(|program| program.is_file())
}

/// The GPU to assemble for, from those quoted in `ptxas --help`: the architecture itself or, because PTX without a suffix
/// runs on every later GPU, the next one that this `ptxas` still knows.
fn gpu_for(arch: NvvmArch, help: &str) -> Option<String> {
    let known = || help.split('\'').filter(|word| word.starts_with("sm_"));
    let exact = arch.target_cpu();
    if known().any(|gpu| gpu == exact) {
        return Some(exact);
    }
    if exact.ends_with(['a', 'f']) {
        return None;
    }
    known()
        .filter_map(|gpu| gpu.strip_prefix("sm_")?.parse().ok())
        .filter(|&number: &u32| number > arch.capability_value())
        .min()
        .map(|number| format!("sm_{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Allowed values: 'compute_75','compute_80','lto_75',\n 'sm_100','sm_100a',\n 'sm_75','sm_80','sm_90','sm_90a'.";

    #[test]
    fn registers_are_read_from_the_report() {
        let report = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'unroll8' for 'sm_80'
ptxas info    : Function properties for unroll8
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 376 bytes cmem[0]
ptxas info    : Compiling entry function 'empty' for 'sm_80'
ptxas info    : Used 2 registers";
        assert_eq!(
            registers_in(report),
            [("unroll8".to_owned(), 18), ("empty".to_owned(), 2)]
        );
        assert_eq!(registers_in("ptxas info    : Used 2 registers"), []);
    }

    #[test]
    fn the_version_is_the_last_word_of_its_line() {
        let text = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCopyright (c) 2005-2025 NVIDIA Corporation\nBuilt on Tue_May_27_02:20:46_PDT_2025\n\
                    Cuda compilation tools, release 12.9, V12.9.86\nBuild cuda_12.9.r12.9/compiler.36037853_0\n";
        assert_eq!(version_in(text), "12.9.86");
        assert_eq!(version_in(""), "of unknown version");
    }

    #[test]
    fn the_architecture_itself_comes_first() {
        assert_eq!(gpu_for(NvvmArch::Compute80, HELP).unwrap(), "sm_80");
        assert_eq!(gpu_for(NvvmArch::Compute90a, HELP).unwrap(), "sm_90a");
    }

    #[test]
    fn an_architecture_that_ptxas_has_dropped_is_assembled_for_the_next() {
        assert_eq!(gpu_for(NvvmArch::Compute70, HELP).unwrap(), "sm_75");
    }

    #[test]
    fn what_no_known_gpu_runs_is_not_assembled() {
        assert_eq!(gpu_for(NvvmArch::Compute120, HELP), None);
        assert_eq!(gpu_for(NvvmArch::Compute100f, HELP), None);
        assert_eq!(gpu_for(NvvmArch::Compute70, ""), None);
    }
}
