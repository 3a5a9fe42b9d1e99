//! `cargo xtask build-ptx`: the kernels, compiled for each architecture.

mod compare;
pub mod entries;
mod error;
mod generated;
mod missing;
mod refusal;
mod rust_cuda;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::ValueEnum;
use cuda_builder::{CudaBuilder, DebugInfo, DeviceCompiler, NvvmArch};
use tempfile::NamedTempFile;

use warpfold_kernels::catalogue::Module;

use crate::failure::io;
pub use compare::Finding;
use compare::{Verdict, compare};
pub use error::{BuildPtxError, exit_status_of};
use generated::Generated;
pub use refusal::unless_expected;
use warpfold_ptx::header::Header;
use warpfold_ptx::sources::{hash_examples, hash_exhibits, hash_reductions, hash_sources};

/// What to build.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask build-ptx --sm 80,90 --check\n  cargo xtask build-ptx --codegen rust-cuda"
)]
pub struct Options {
    /// The architectures, as compute capabilities without the dot.
    #[arg(
        long,
        value_name = "SM",
        value_delimiter = ',',
        default_value = "70,80,90"
    )]
    sm: Vec<NvvmArch>,
    /// What compiles the kernels: rustc's own backend, into kernels/ptx/, or rust-cuda, into target/ptx-rust-cuda/.
    #[arg(long, value_enum, default_value_t = Codegen::Rustc)]
    codegen: Codegen,
    /// Build only these modules: the names of files in the folders of PTX, up to the first dot.
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    only: Vec<String>,
    /// Write nothing; fail if kernels/ptx/ is not what a rebuild gives.
    #[arg(long)]
    check: bool,
}

impl Options {
    fn has(&self, module: &str, arch: NvvmArch) -> bool {
        self.sm.contains(&arch)
            && (self.only.is_empty() || self.only.iter().any(|only| only == module))
    }
}

/// The two ways from Rust to PTX.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Codegen {
    /// rustc's own NVPTX backend, through the cuda_builder of this repository.
    Rustc,
    /// rust-cuda's code generator over LLVM 7 and libNVVM, through the workspace in rust-cuda/.
    RustCuda,
}

/// The wrong kernels are built for one architecture: what is wrong with them is not in the architecture.
const EXHIBITS_ARCH: NvvmArch = NvvmArch::Compute80;

/// The modules of the device library's example kernels and the architectures they are built for: one without and one with reductions of
/// a warp by one instruction. All operators are built once, because there are so many of them.
const EXAMPLES: [(&str, &[NvvmArch]); 3] = [
    ("parts", &[NvvmArch::Compute70, NvvmArch::Compute80]),
    ("every", &[NvvmArch::Compute80]),
    ("shapes", &[NvvmArch::Compute70]),
];

/// The library's reductions are built for one architecture: no instruction of a later one makes them faster. The memory decides.
const REDUCTIONS_ARCH: NvvmArch = NvvmArch::Compute70;

macro_rules! names {
    ($($name:ident: $value:ty;)*) => {
        /// The modules of the reductions: one for each type.
        const ELEMENTS: &[&str] = &[$(stringify!($name)),*];
    };
}

warpfold_device::for_each_element!(names);

/// Builds, and then writes all files or none, or compares them.
pub fn run(repository: &Path, options: &Options) -> Result<(), BuildPtxError> {
    let start = Instant::now();
    match options.codegen {
        Codegen::Rustc => run_rustc(repository, options)?,
        Codegen::RustCuda if options.check => return Err(BuildPtxError::NothingToCheck),
        Codegen::RustCuda => {
            write(repository, &rust_cuda::build(repository, &options.sm)?)?;
        }
    }
    println!("done in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn run_rustc(repository: &Path, options: &Options) -> Result<(), BuildPtxError> {
    let compiler = CudaBuilder::new(repository.join("kernels")).find_device_compiler()?;
    println!("compiler: {}", compiler.version());
    let source_hash = hash_sources(repository).map_err(io("read the sources of the kernels"))?;
    let mut generated = Vec::new();
    let mut findings = Vec::new();
    let mut add = |file: String, arch: NvvmArch, ptx: String, source_hash: String| {
        let header = Header {
            generator: "cargo xtask build-ptx".into(),
            compiler: compiler.version().to_string(),
            target: format!("nvptx64-nvidia-cuda {}", arch.target_cpu()),
            source_hash,
        };
        generated.push(Generated {
            file,
            text: format!("{header}{ptx}"),
        });
    };
    for module in Module::ALL {
        let archs = options.sm.iter();
        for &arch in archs.filter(|&&arch| options.has(module.name(), arch)) {
            let kernels = CudaBuilder::new(repository.join("kernels"))
                .build_args(&features(module.name()))
                .ptx_version(module.ptx_version(arch.capability_value()))
                .debug(DebugInfo::LineDirectives)
                .arch(arch);
            let ptx = build(kernels, &compiler)?;
            let file = ptx_file(KERNELS, module.name(), arch);
            findings.extend(entries::compare(
                &file,
                &ptx,
                module,
                arch.capability_value(),
            ));
            add(file, arch, ptx, source_hash.clone());
        }
    }
    if options.has("exhibits", EXHIBITS_ARCH) {
        let arch = EXHIBITS_ARCH;
        let exhibits = CudaBuilder::new(repository.join("kernels/exhibits"))
            .arch(arch)
            .debug(DebugInfo::LineDirectives);
        let ptx = build(exhibits, &compiler)?;
        let file = ptx_file(KERNELS, "exhibits", arch);
        findings.extend(entries::compare_exhibits(&file, &ptx));
        let source_hash =
            hash_exhibits(repository).map_err(io("read the sources of the exhibits"))?;
        add(file, arch, ptx, source_hash);
    }
    let source_hash =
        hash_examples(repository).map_err(io("read the sources of the example kernels"))?;
    for (module, archs) in EXAMPLES {
        for &arch in archs.iter().filter(|&&arch| options.has(module, arch)) {
            let kernels = CudaBuilder::new(repository.join("device/example-kernels"))
                .build_args(&features(module))
                .arch(arch);
            let ptx = build(kernels, &compiler)?;
            let file = ptx_file("device/example-kernels/ptx", module, arch);
            add(file, arch, ptx, source_hash.clone());
        }
    }
    let source_hash =
        hash_reductions(repository).map_err(io("read the sources of the reductions"))?;
    for module in ELEMENTS {
        if options.has(module, REDUCTIONS_ARCH) {
            let kernels = CudaBuilder::new(repository.join("reductions"))
                .build_args(&features(module))
                .arch(REDUCTIONS_ARCH);
            let ptx = without_comments(&build(kernels, &compiler)?);
            let file = ptx_file("reductions/ptx", module, REDUCTIONS_ARCH) + ".zst";
            add(file, REDUCTIONS_ARCH, ptx, source_hash.clone());
        }
    }
    if options.check {
        for new in &generated {
            check(repository, new, &mut findings)?;
        }
    }
    if !findings.is_empty() {
        return Err(BuildPtxError::Findings(findings));
    }
    if !options.check {
        write(repository, &generated)?;
    }
    Ok(())
}

/// Where the PTX of the product is.
const KERNELS: &str = "kernels/ptx";

fn ptx_file(folder: &str, stem: &str, arch: NvvmArch) -> String {
    format!("{folder}/{stem}.{}.ptx", arch.target_cpu())
}

/// What makes cargo compile the kernels of this module and no others.
fn features(module: &str) -> [&str; 3] {
    ["--no-default-features", "--features", module]
}

fn build(kernels: CudaBuilder, compiler: &DeviceCompiler) -> Result<String, BuildPtxError> {
    let built = kernels.device_compiler(compiler.clone()).build();
    let path = unless_expected(built, |path| path)?;
    Ok(fs::read_to_string(&path).map_err(io(format!("read {}", path.display())))?)
}

/// The text without lines that hold a comment alone: a fifth of what has much inline assembly.
fn without_comments(ptx: &str) -> String {
    let lines = ptx.split_inclusive('\n');
    lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect()
}

/// Compares a rebuilt file with the committed one.
fn check(
    repository: &Path,
    rebuilt: &Generated,
    findings: &mut Vec<Finding>,
) -> Result<(), BuildPtxError> {
    let file = &rebuilt.file;
    let committed = match rebuilt.committed(repository) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.push(Finding::Missing { file: file.clone() });
            return Ok(());
        }
        Err(error) => return Err(io(format!("read {file}"))(error).into()),
    };
    match compare(file, &committed, &rebuilt.text) {
        Ok(Verdict::Identical) => println!("{file}: identical to a rebuild"),
        Ok(Verdict::OtherCompiler { committed, rebuilt }) => println!(
            "{file}: entries and source hash are right; bytes were not compared, since {committed} made it and this machine \
             has {rebuilt}"
        ),
        Err(finding) => findings.push(finding),
    }
    Ok(())
}

/// Puts every file beside its place before any is moved there. A file that would not change is left alone, so that
/// nothing is rebuilt for it.
fn write(repository: &Path, generated: &[Generated]) -> Result<(), BuildPtxError> {
    let failed = |path: &Path| io(format!("write {}", path.display()));
    let mut ready = Vec::new();
    for new in generated {
        let path = repository.join(&new.file);
        if new.committed(repository).is_ok_and(|old| old == new.text) {
            println!("{}: unchanged", new.file);
            continue;
        }
        let folder = path.parent().unwrap_or(repository);
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let mut temporary = NamedTempFile::new_in(folder).map_err(failed(folder))?;
        let bytes = new.bytes().map_err(failed(&path))?;
        temporary
            .write_all(&bytes)
            .and_then(|()| readable_by_all(temporary.as_file()))
            .map_err(failed(&path))?;
        ready.push((temporary, path, &new.file));
    }
    for (temporary, path, file) in ready {
        temporary
            .persist(&path)
            .map_err(|error| failed(&path)(error.error))?;
        println!("{file}: written");
    }
    Ok(())
}

/// Temporary files are private to their owner; committed files are not.
#[cfg(unix)]
fn readable_by_all(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}
