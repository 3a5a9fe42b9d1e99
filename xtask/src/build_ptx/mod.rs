//! `cargo xtask build-ptx`: the kernels, compiled for each architecture.

mod compare;
pub mod entries;
mod error;
mod generated;
mod missing;
mod refusal;
mod rust_cuda;
mod waiting;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
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
use waiting::Waiting;
use warpfold_ptx::header::Header;
use warpfold_ptx::sources::{
    hash_examples, hash_exhibits, hash_python, hash_reductions, hash_sources,
};

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

/// Where the text of a type is kept: two packages share the types, since one would be too large for a registry.
fn reductions_folder(element: &str) -> &'static str {
    match element {
        "bool" | "i8" | "u8" | "i16" | "u16" => "reductions/narrow/ptx",
        _ => "reductions/ptx",
    }
}

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

/// A text of PTX that is to be made.
struct Job {
    file: String,
    kernels: CudaBuilder,
    arch: NvvmArch,
    debug: DebugInfo,
    source_hash: String,
    /// Whether lines that hold a comment alone are left out.
    is_bare: bool,
    /// Whose entries it has to have.
    entries: Option<Entries>,
}

/// What a text's entries are compared with.
#[derive(Clone, Copy)]
enum Entries {
    Lessons(Module),
    Exhibits,
}

impl Job {
    /// The text as it is kept, and what is wrong with it.
    fn run(
        self,
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
        let mut ptx = build(
            self.kernels
                .arch(self.arch)
                .debug(self.debug)
                .target_folder(folder),
            compiler,
        )?;
        if self.is_bare {
            ptx = without_comments(&ptx);
        }
        let findings = match self.entries {
            Some(Entries::Lessons(module)) => {
                entries::compare(&self.file, &ptx, module, self.arch.capability_value())
            }
            Some(Entries::Exhibits) => entries::compare_exhibits(&self.file, &ptx),
            None => Vec::new(),
        };
        let header = Header {
            generator: "cargo xtask build-ptx".into(),
            compiler: compiler.version().to_string(),
            target: format!("nvptx64-nvidia-cuda {}", self.arch.target_cpu()),
            source_hash: self.source_hash,
        };
        let text = format!("{header}{ptx}");
        let generated = Generated {
            file: self.file,
            text,
        };
        Ok((generated, findings))
    }
}

/// Everything that the options ask for.
fn jobs(repository: &Path, options: &Options) -> Result<Vec<Job>, BuildPtxError> {
    let mut jobs = Vec::new();
    let source_hash =
        hash_reductions(repository).map_err(io("read the sources of the reductions"))?;
    for module in ELEMENTS {
        if options.has(module, REDUCTIONS_ARCH) {
            jobs.push(Job {
                file: ptx_file(reductions_folder(module), module, REDUCTIONS_ARCH) + ".zst",
                kernels: CudaBuilder::new(repository.join("reductions"))
                    .build_args(&features(module)),
                arch: REDUCTIONS_ARCH,
                debug: DebugInfo::None,
                source_hash: source_hash.clone(),
                is_bare: true,
                entries: None,
            });
        }
    }
    if options.has("python", REDUCTIONS_ARCH) {
        jobs.push(Job {
            file: ptx_file("python/kernels/ptx", "python", REDUCTIONS_ARCH) + ".zst",
            kernels: CudaBuilder::new(repository.join("python/kernels")),
            arch: REDUCTIONS_ARCH,
            debug: DebugInfo::None,
            source_hash: hash_python(repository)
                .map_err(io("read the sources of the Python package's kernels"))?,
            is_bare: true,
            entries: None,
        });
    }
    let source_hash = hash_sources(repository).map_err(io("read the sources of the kernels"))?;
    for module in Module::ALL {
        let archs = options.sm.iter();
        for &arch in archs.filter(|&&arch| options.has(module.name(), arch)) {
            jobs.push(Job {
                file: ptx_file(KERNELS, module.name(), arch),
                kernels: CudaBuilder::new(repository.join("kernels"))
                    .build_args(&features(module.name()))
                    .ptx_version(module.ptx_version(arch.capability_value())),
                arch,
                debug: DebugInfo::LineDirectives,
                source_hash: source_hash.clone(),
                is_bare: false,
                entries: Some(Entries::Lessons(module)),
            });
        }
    }
    if options.has("exhibits", EXHIBITS_ARCH) {
        jobs.push(Job {
            file: ptx_file(KERNELS, "exhibits", EXHIBITS_ARCH),
            kernels: CudaBuilder::new(repository.join("kernels/exhibits")),
            arch: EXHIBITS_ARCH,
            debug: DebugInfo::LineDirectives,
            source_hash: hash_exhibits(repository)
                .map_err(io("read the sources of the exhibits"))?,
            is_bare: false,
            entries: Some(Entries::Exhibits),
        });
    }
    let source_hash =
        hash_examples(repository).map_err(io("read the sources of the example kernels"))?;
    for (module, archs) in EXAMPLES {
        for &arch in archs.iter().filter(|&&arch| options.has(module, arch)) {
            jobs.push(Job {
                file: ptx_file("device/example-kernels/ptx", module, arch),
                kernels: CudaBuilder::new(repository.join("device/example-kernels"))
                    .build_args(&features(module)),
                arch,
                debug: DebugInfo::None,
                source_hash: source_hash.clone(),
                is_bare: false,
                entries: None,
            });
        }
    }
    Ok(jobs)
}

/// Jobs that run at the same time. A text is compiled by one thread, most of the time.
const WORKERS: usize = 2;

/// What the jobs make, in their order: each worker takes another that nobody has, until one fails. A worker compiles `core` in its own folder,
/// once for each architecture and debug information, which takes long.
fn run_all(
    repository: &Path,
    compiler: &DeviceCompiler,
    jobs: Vec<Job>,
) -> Result<Vec<(Generated, Vec<Finding>)>, BuildPtxError> {
    let jobs = jobs.into_iter().enumerate();
    let waiting = Mutex::new(Waiting::new(
        jobs.map(|(place, job)| ((job.arch, job.debug), (place, job))),
    ));
    let made = Mutex::new(Vec::new());
    let work = |worker: usize| -> Result<(), BuildPtxError> {
        loop {
            let next = waiting.lock().expect("no worker panics").next(worker);
            let Some((place, job)) = next else {
                return Ok(());
            };
            match job.run(repository, compiler, worker) {
                Ok(done) => made.lock().expect("no worker panics").push((place, done)),
                Err(error) => {
                    waiting.lock().expect("no worker panics").give_up();
                    return Err(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no worker panics"))
            .fold(Ok(()), Result::and)
    })?;
    let mut made = made.into_inner().expect("no worker panics");
    made.sort_by_key(|&(place, _)| place);
    Ok(made.into_iter().map(|(_, done)| done).collect())
}

fn run_rustc(repository: &Path, options: &Options) -> Result<(), BuildPtxError> {
    let compiler = CudaBuilder::new(repository.join("kernels")).find_device_compiler()?;
    println!("compiler: {}", compiler.version());
    let made = run_all(repository, &compiler, jobs(repository, options)?)?;
    let (generated, findings): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
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
