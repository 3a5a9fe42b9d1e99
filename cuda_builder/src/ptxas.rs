//! NVIDIA's assembler as a second opinion, where a machine has it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{CudaBuilderError, NvvmArch};

/// Assembles the PTX and throws the result away. Does nothing where there is no `ptxas`, or one that knows no GPU that
/// could run the PTX.
///
/// # Errors
/// [`CudaBuilderError::PtxasFailed`] with the assembler's messages.
pub(crate) fn assemble(ptx: &Path, arch: NvvmArch) -> Result<(), CudaBuilderError> {
    let Some(ptxas) = find() else {
        return Ok(());
    };
    let run = |arguments: &mut Command| {
        arguments
            .output()
            .map_err(CudaBuilderError::io(format!("run {}", ptxas.display())))
    };
    let help = run(Command::new(&ptxas).arg("--help"))?;
    let Some(gpu) = gpu_for(arch, &String::from_utf8_lossy(&help.stdout)) else {
        return Ok(());
    };
    // Functions of the device library stay undefined until the driver links them: compile, do not link.
    let assembling = run(Command::new(&ptxas)
        .args(["--compile-only", "--gpu-name", &gpu])
        .arg(ptx)
        .args(["--output-file", "/dev/null"]))?;
    if assembling.status.success() {
        return Ok(());
    }
    Err(CudaBuilderError::PtxasFailed {
        ptxas,
        path: ptx.to_owned(),
        message: String::from_utf8_lossy(&assembling.stderr)
            .trim()
            .to_owned(),
    })
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
