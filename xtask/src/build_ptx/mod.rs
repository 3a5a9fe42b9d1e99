//! `cargo xtask build-ptx`: the kernels, compiled for each architecture.

mod compare;
pub mod entries;
mod error;
mod generated;
mod job;
mod missing;
mod record;
mod refusal;
mod rust_cuda;
mod sample;
mod waiting;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use clap::ValueEnum;
use cuda_builder::{CudaBuilder, DebugInfo, DeviceCompiler, NvvmArch};
use tempfile::NamedTempFile;

use warpfold_kernels::catalogue::PtxText;

use crate::failure::io;
use crate::files;
pub use compare::Finding;
use compare::{Verdict, compare};
pub use error::{BuildPtxError, exit_status_of};
use generated::{Generated, committed};
use job::{Entries, Job};
use record::{Made, Record};
pub use refusal::unless_expected;
use waiting::Waiting;
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
    /// Write nothing; fail if a text is not what a rebuild gives. What has not changed since it was recorded is not rebuilt, but for a
    /// sample, another for each commit.
    #[arg(long)]
    check: bool,
    /// With --check: rebuild all texts.
    #[arg(long, requires = "check")]
    all: bool,
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

/// The library's reductions are built for one architecture. What later ones do faster stands in comments of the texts.
const REDUCTIONS_ARCH: NvvmArch = NvvmArch::Compute70;

macro_rules! names {
    ($($name:ident: $value:ty;)*) => {
        /// The modules of the reductions: one for each type.
        const ELEMENTS: &[&str] = &[$(stringify!($name)),*];
    };
}

warpfold_device::for_each_element!(names);

macro_rules! wide_names {
    ($($kind:ident { $($file:literal $name:ident: $value:ident in $accumulator:ident;)* })*) => {
        /// Those of wider accumulators.
        const WIDE: &[&str] = &[$($($file),*),*];
    };
}

warpfold_device::for_each_accumulator!(wide_names);

/// Where the text of a module is kept: four packages share them, since one would be too large for a registry.
fn reductions_folder(module: &str) -> &'static str {
    match module {
        "bool" | "i8" | "u8" => "reductions/bytes/ptx",
        "i16" | "u16" | "f16" | "bf16" => "reductions/narrow/ptx",
        _ if WIDE.contains(&module) => "reductions/wide/ptx",
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

/// Everything that the options ask for.
fn jobs(repository: &Path, options: &Options) -> Result<Vec<Job>, BuildPtxError> {
    let mut jobs = Vec::new();
    let source_hash =
        hash_reductions(repository).map_err(io("read the sources of the reductions"))?;
    for &module in ELEMENTS.iter().chain(WIDE) {
        if options.has(module, REDUCTIONS_ARCH) {
            jobs.push(Job {
                file: ptx_file(reductions_folder(module), module, REDUCTIONS_ARCH) + ".zst",
                package: "reductions",
                module: Some(module),
                arch: REDUCTIONS_ARCH,
                debug: DebugInfo::None,
                ptx_version: None,
                source_hash: source_hash.clone(),
                is_bare: true,
                entries: None,
            });
        }
    }
    if options.has("python", REDUCTIONS_ARCH) {
        jobs.push(Job {
            file: ptx_file("python/kernels/ptx", "python", REDUCTIONS_ARCH) + ".zst",
            package: "python/kernels",
            module: None,
            arch: REDUCTIONS_ARCH,
            debug: DebugInfo::None,
            ptx_version: None,
            source_hash: hash_python(repository)
                .map_err(io("read the sources of the Python package's kernels"))?,
            is_bare: true,
            entries: None,
        });
    }
    let source_hash = hash_sources(repository).map_err(io("read the sources of the kernels"))?;
    for module in PtxText::ALL {
        let archs = options.sm.iter();
        for &arch in archs.filter(|&&arch| options.has(module.name(), arch)) {
            jobs.push(Job {
                file: ptx_file(KERNELS, module.name(), arch),
                package: "kernels",
                module: Some(module.name()),
                arch,
                debug: DebugInfo::LineDirectives,
                ptx_version: module.ptx_version(arch.capability_value()),
                source_hash: source_hash.clone(),
                is_bare: false,
                entries: Some(Entries::Lessons(module)),
            });
        }
    }
    if options.has("exhibits", EXHIBITS_ARCH) {
        jobs.push(Job {
            file: ptx_file(KERNELS, "exhibits", EXHIBITS_ARCH),
            package: "kernels/exhibits",
            module: None,
            arch: EXHIBITS_ARCH,
            debug: DebugInfo::LineDirectives,
            ptx_version: None,
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
                package: "device/example-kernels",
                module: Some(module),
                arch,
                debug: DebugInfo::None,
                ptx_version: None,
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
    jobs: &[Job],
) -> Result<Vec<(Generated, Vec<Finding>)>, BuildPtxError> {
    let jobs = jobs.iter().enumerate();
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
    let makers = record::makers(repository).map_err(io("read what makes the PTX"))?;
    let version = compiler.version().to_string();
    let mut jobs = jobs(repository, options)?;
    let mut workspaces = BTreeMap::new();
    for job in &jobs {
        if !workspaces.contains_key(job.package) {
            let workspace = record::workspace(repository, job.package);
            let workspace = workspace.map_err(io("read what the kernels depend on"))?;
            workspaces.insert(job.package, workspace);
        }
    }
    let made = |job: &Job, text: &str| {
        let makers = format!("{makers}\n{}", workspaces[job.package]);
        Made::new(&makers, &version, &job.recipe(), text)
    };
    let mut record = Record::read(repository).map_err(io(format!("read {}", record::FILE)))?;
    let mut findings = Vec::new();
    if options.check && !options.all {
        let sample = sample::files(&jobs, &sample::seed(repository));
        jobs.retain(|job| {
            let committed = committed(repository, &job.file);
            let is_recorded = |text: &String| record.has(&job.file, &made(job, text));
            match committed.ok().filter(is_recorded) {
                Some(text) if !sample.contains(&job.file) => {
                    findings.extend(job.compare_entries(&text));
                    println!("{}: as recorded, and made from the same", job.file);
                    false
                }
                _ => true,
            }
        });
    }
    let built = run_all(repository, &compiler, &jobs)?;
    let (generated, of_entries): (Vec<_>, Vec<_>) = built.into_iter().unzip();
    findings.extend(of_entries.into_iter().flatten());
    if options.check {
        for (job, new) in jobs.iter().zip(&generated) {
            let is_recorded = record.has(&job.file, &made(job, &new.text));
            check(repository, new, is_recorded, &mut findings)?;
        }
    }
    if !findings.is_empty() {
        return Err(BuildPtxError::Findings(findings));
    }
    if !options.check {
        write(repository, &generated)?;
        for (job, new) in jobs.iter().zip(&generated) {
            record.set(new.file.clone(), made(job, &new.text));
        }
        record.retain(|file| repository.join(file).is_file());
        files::write(&repository.join(record::FILE), &record.to_string())?;
    }
    Ok(())
}

/// Where the PTX of the product is.
const KERNELS: &str = "kernels/ptx";

fn ptx_file(folder: &str, stem: &str, arch: NvvmArch) -> String {
    format!("{folder}/{stem}.{}.ptx", arch.target_cpu())
}

/// Compares a rebuilt file with the committed one.
fn check(
    repository: &Path,
    rebuilt: &Generated,
    is_recorded: bool,
    findings: &mut Vec<Finding>,
) -> Result<(), BuildPtxError> {
    let file = &rebuilt.file;
    let committed = match committed(repository, file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.push(Finding::Missing { file: file.clone() });
            return Ok(());
        }
        Err(error) => return Err(io(format!("read {file}"))(error).into()),
    };
    match compare(file, &committed, &rebuilt.text) {
        Ok(Verdict::Identical) if is_recorded => println!("{file}: identical to a rebuild"),
        Ok(Verdict::Identical) => println!(
            "{file}: identical to a rebuild, which {} does not say: `cargo xtask build-ptx` writes that, and spares the next check \
             the rebuild",
            record::FILE
        ),
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
        if committed(repository, &new.file).is_ok_and(|old| old == new.text) {
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
