//! Compiles the kernels to PTX with rust-cuda: `warpfold-rust-cuda-builder --arch compute_80 --module kernels --copy-to
//! kernels.ptx`.
//!
//! Run it from the folder `rust-cuda/`, because `cuda_builder` looks for its code generator in the `target` folder of the
//! current one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use cuda_builder::{CudaBuilder, NvvmArch};

#[derive(Parser)]
#[command(about = "Compiles the kernels to PTX with rust-cuda")]
struct Arguments {
    /// The virtual architecture to compile for
    #[arg(long)]
    arch: Arch,
    /// The kernels to compile: the feature of their crate that names them
    #[arg(long)]
    module: String,
    /// The file that gets the PTX
    #[arg(long, value_name = "FILE")]
    copy_to: PathBuf,
}

/// The architectures that the kernels are built for.
#[derive(Clone, Copy, ValueEnum)]
enum Arch {
    #[value(name = "compute_70")]
    Compute70,
    #[value(name = "compute_80")]
    Compute80,
    #[value(name = "compute_90")]
    Compute90,
}

impl From<Arch> for NvvmArch {
    fn from(arch: Arch) -> Self {
        match arch {
            Arch::Compute70 => Self::Compute70,
            Arch::Compute80 => Self::Compute80,
            Arch::Compute90 => Self::Compute90,
        }
    }
}

fn main() -> ExitCode {
    match build(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compiles the kernels and puts the PTX where it was asked for.
fn build(arguments: &Arguments) -> Result<(), String> {
    let file = std::path::absolute(&arguments.copy_to)
        .map_err(|error| format!("cannot find {}: {error}", arguments.copy_to.display()))?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    CudaBuilder::new(kernels)
        .arch(arguments.arch.into())
        .build_args(&["--features", &arguments.module])
        // rustc's own backend never contracts a product and a sum into one rounding; the two are to be compared.
        .fma_contraction(false)
        .copy_to(file)
        .build()
        .map(|_| ())
        .map_err(|error| error.to_string())
}
