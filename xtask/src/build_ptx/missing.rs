//! What a machine may lack to build with rust-cuda.

pub const LEAST_CUDA: u32 = 12;
pub const LLVM: &str = "7";

/// Something that the machine lacks, with what was found instead and how to get it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The nightly, or rustup itself.
    #[error(
        "the Rust toolchain {toolchain} ({found}): run `rustup toolchain install {toolchain} --profile minimal --component {}`",
        .components.join(",")
    )]
    Toolchain {
        /// Its name.
        toolchain: String,
        /// What rustup says.
        found: String,
        /// The components that it must have.
        components: Vec<String>,
    },
    /// Components of the nightly.
    #[error(
        "the component{} {} of {toolchain}: run `rustup component add --toolchain {toolchain} {}`",
        if .components.len() == 1 { "" } else { "s" },
        .components.join(" and "),
        .components.join(" ")
    )]
    Components {
        /// The toolchain.
        toolchain: String,
        /// Those that are not installed.
        components: Vec<String>,
    },
    /// The CUDA toolkit.
    #[error(
        "CUDA {LEAST_CUDA}, or with --sm 80,90 a later one, with libNVVM ({}): install NVIDIA's CUDA toolkit and let CUDA_HOME name its folder",
        .looked_at.join("; ")
    )]
    Cuda {
        /// Each folder that was looked at, and what is wrong with it.
        looked_at: Vec<String>,
    },
    /// LLVM 7.
    #[error(
        "LLVM {LLVM} ({}): build llvm-7.1.0 with the targets X86 and NVPTX and let LLVM_CONFIG name its bin/llvm-config",
        .looked_at.join("; ")
    )]
    Llvm {
        /// Each program that was tried, and what it said.
        looked_at: Vec<String>,
    },
}
