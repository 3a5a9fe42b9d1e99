//! Compiles the kernels to PTX.

use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch};
use std::path::Path;

fn main() {
    let out_dir = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    let built = CudaBuilder::new("kernels")
        // The oldest GPUs that the PTX is for.
        .arch(NvvmArch::Compute70)
        // What goes wrong in a kernel then has a line of its source.
        .debug(DebugInfo::LineTables)
        .copy_to(Path::new(&out_dir).join("kernels.ptx"))
        .build();
    if let Err(error) = built {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
