//! `cargo xtask registers`: how many registers NVIDIA's assembler gives each kernel on each GPU, written down in `kernels/ptx/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cuda_builder::{CudaBuilderError, NvvmArch, ptx};
use warpfold_emulator::Multiprocessor;
use warpfold_kernels::catalogue;
use warpfold_ptx::registers::{self, Registers};

use crate::build_ptx::exit_status_of;
use crate::failure::{BAD_USE, Failure, IoError, io};
use crate::files;

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum RegistersError {
    /// Something about a file.
    #[error(transparent)]
    Io(#[from] IoError),
    /// No assembler, or an old or a new one.
    #[error(
        "{file} cannot be assembled for sm_{sm}: it takes a `ptxas` that knows every GPU from sm_70 to sm_120, as those of CUDA 12.8 and 12.9 do \
         (one is in the Python package nvidia-cuda-nvcc-cu12); put it on the PATH"
    )]
    NoAssembler {
        /// The PTX file.
        file: String,
        /// The compute capability.
        sm: u32,
    },
    /// The assembler refuses the PTX.
    #[error(transparent)]
    Refused(#[from] CudaBuilderError),
    /// A text that is not written as compilers do.
    #[error("{file}: the kernel `{entry}`, which the assembler names, is not found in the text")]
    NoKernel {
        /// The PTX file.
        file: String,
        /// The kernel.
        entry: String,
    },
}

impl Failure for RegistersError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Refused(error) => exit_status_of(error),
            Self::Io(_) | Self::NoAssembler { .. } | Self::NoKernel { .. } => BAD_USE,
        }
    }
}

/// Assembles each text of each module for each GPU that gets it, and writes the record.
///
/// # Errors
/// There is no `ptxas` that knows all these GPUs, or a text is refused.
pub fn run(repository: &Path) -> Result<(), RegistersError> {
    let mut kernels: BTreeMap<(String, u64), Registers> = BTreeMap::new();
    let mut assembler = String::new();
    // Kernels that launch kernels have their registers only once they are linked.
    let modules = catalogue::PtxText::ALL
        .into_iter()
        .filter(|&module| module != catalogue::PtxText::Nested);
    for module in modules {
        for Multiprocessor { sm, .. } in Multiprocessor::ALL {
            let file = format!("kernels/ptx/{}.sm_{}.ptx", module.name(), text_for(sm));
            let path = repository.join(&file);
            let text = fs::read_to_string(&path).map_err(io(format!("read {file}")))?;
            let no_assembler = || RegistersError::NoAssembler {
                file: file.clone(),
                sm,
            };
            let arch: NvvmArch = sm.to_string().parse().map_err(|_| no_assembler())?;
            let assembled = ptx::registers(&path, arch)?
                .filter(|assembled| assembled.gpu == arch.target_cpu())
                .ok_or_else(no_assembler)?;
            println!("{file} for sm_{sm}: {} kernels", assembled.registers.len());
            assembler = format!("ptxas {}", assembled.version);
            for (entry, count) in assembled.registers {
                let Some(text) = registers::text_of(&text, &entry) else {
                    return Err(RegistersError::NoKernel { file, entry });
                };
                let digest = registers::digest(text);
                let kernel = kernels
                    .entry((entry.clone(), digest))
                    .or_insert_with(|| Registers {
                        entry,
                        digest,
                        counts: Vec::new(),
                    });
                kernel.counts.push((sm, count));
            }
        }
    }
    let kernels: Vec<Registers> = kernels.into_values().collect();
    let path = repository.join("kernels/ptx").join(registers::FILE);
    files::write(&path, &registers::write(&assembler, &kernels))?;
    println!("{}: written", path.display());
    Ok(())
}

/// The compute capability of the text that a GPU gets.
fn text_for(sm: u32) -> u32 {
    let texts = [90, 80, 70];
    texts.into_iter().find(|&text| text <= sm).unwrap_or(70)
}
