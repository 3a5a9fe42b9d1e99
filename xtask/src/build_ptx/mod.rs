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
use warpfold_ptx::sources::{hash_exhibits, hash_sources};

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
    /// Write nothing; fail if kernels/ptx/ is not what a rebuild gives.
    #[arg(long)]
    check: bool,
}

/// The two ways from Rust to PTX.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Codegen {
    /// rustc's own NVPTX backend, through the cuda_builder of this repository.
    Rustc,
    /// rust-cuda's code generator over LLVM 7 and libNVVM, through the workspace in rust-cuda/.
    RustCuda,
}

/// The wrong kernels are built for one architecture, with line tables: what is wrong with them is not in the architecture.
const EXHIBITS_ARCH: NvvmArch = NvvmArch::Compute80;

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
    let mut add = |stem: &str, arch: NvvmArch, ptx: String, source_hash: String| {
        let header = Header {
            generator: "cargo xtask build-ptx".into(),
            compiler: compiler.version().to_string(),
            target: format!("nvptx64-nvidia-cuda {}", arch.target_cpu()),
            source_hash,
        };
        generated.push(Generated {
            file: ptx_file(stem, arch),
            text: format!("{header}{ptx}"),
        });
    };
    for module in Module::ALL {
        for &arch in &options.sm {
            let kernels = CudaBuilder::new(repository.join("kernels"))
                .build_args(&features(module))
                .arch(arch);
            let ptx = build(kernels, &compiler)?;
            let file = ptx_file(module.name(), arch);
            findings.extend(entries::compare(
                &file,
                &ptx,
                module,
                arch.capability_value(),
            ));
            add(module.name(), arch, ptx, source_hash.clone());
        }
    }
    if options.sm.contains(&EXHIBITS_ARCH) {
        let arch = EXHIBITS_ARCH;
        let exhibits = CudaBuilder::new(repository.join("kernels/exhibits"))
            .arch(arch)
            .debug(DebugInfo::LineTables);
        let ptx = build(exhibits, &compiler)?;
        let file = ptx_file("exhibits", arch);
        findings.extend(entries::compare_exhibits(&file, &ptx));
        let source_hash =
            hash_exhibits(repository).map_err(io("read the sources of the exhibits"))?;
        add("exhibits", arch, ptx, source_hash);
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

fn ptx_file(stem: &str, arch: NvvmArch) -> String {
    format!("kernels/ptx/{stem}.{}.ptx", arch.target_cpu())
}

/// What makes cargo compile the kernels of this module and no others.
fn features(module: Module) -> [&'static str; 3] {
    ["--no-default-features", "--features", module.name()]
}

fn build(kernels: CudaBuilder, compiler: &DeviceCompiler) -> Result<String, BuildPtxError> {
    let built = kernels.device_compiler(compiler.clone()).build();
    let path = unless_expected(built, |path| path)?;
    Ok(fs::read_to_string(&path).map_err(io(format!("read {}", path.display())))?)
}

/// Compares a rebuilt file with the committed one.
fn check(
    repository: &Path,
    rebuilt: &Generated,
    findings: &mut Vec<Finding>,
) -> Result<(), BuildPtxError> {
    let file = &rebuilt.file;
    let committed = match fs::read_to_string(repository.join(file)) {
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
        if fs::read_to_string(&path).is_ok_and(|old| old == new.text) {
            println!("{}: unchanged", new.file);
            continue;
        }
        let folder = path.parent().unwrap_or(repository);
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let mut temporary = NamedTempFile::new_in(folder).map_err(failed(folder))?;
        temporary
            .write_all(new.text.as_bytes())
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
