//! Times our kernels and everybody else's, interleaved, on one input in one process tree, and writes a record of it.
//!
//! `cargo xtask peers` builds what it needs, runs it, and shows the record. A repetition launches each contender once, so that
//! whatever the machine does meanwhile, it does to all. Every sum is compared with the CPU's, before the timing and after it.

mod arena;
mod contender;
mod error;
mod library;
mod ours;
mod python;
mod record;

use arena::Arena;
use clap::Parser;
use contender::Contender;
use error::PeersError;
use library::Library;
use ours::Ours;
use python::Python;
use record::{Cache, LeftOut, Measurement, Record};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::time::SystemTime;
use warpfold::device::{Device, DeviceChoice, Times};
use warpfold::machine::Machine;
use warpfold::ptx::PtxSet;
use warpfold::ptx_header::Header;
use warpfold::random;
use warpfold::size::parse_count;
use warpfold_kernels::catalogue::Module;

const SEED: u64 = 42;

/// Times our kernels and everybody else's; `cargo xtask peers` prepares and shows what this measures.
#[derive(Parser)]
struct Options {
    /// Numbers of elements.
    #[arg(long, value_delimiter = ',', value_parser = parse_count, default_value = "2^16,2^20,2^24,2^26")]
    sizes: Vec<usize>,
    /// Timed launches of each contender.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Only launches that find in the L2 cache what the launch before has left.
    #[arg(long, conflicts_with = "cold")]
    warm: bool,
    /// Only launches that find nothing of use in the L2 cache.
    #[arg(long)]
    cold: bool,
    /// Threads of a block.
    #[arg(long, default_value_t = 512)]
    block: u32,
    /// What peers/reduce.cu was compiled to.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The Python that has torch and CuPy.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// Where the record goes.
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_status().into()
        }
    }
}

fn run(options: &Options) -> Result<(), PeersError> {
    let version = warpfold_driver::available().map_err(PeersError::NoGpu)?;
    let device = Device::open(&DeviceChoice::Gpu(0))?;
    let mut record = Record {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        device: device.describe(),
        driver: driver(&version.to_string()),
        datasheet_gigabytes_per_second: datasheet(&device),
        compilers: Vec::new(),
        element_type: "i32".to_owned(),
        block: options.block,
        repeat: options.repeat as usize,
        measurements: Vec::new(),
        left_out: Vec::new(),
    };
    let mut run = Run {
        machine: Machine::new(device, PtxSet::embedded()),
        library: options.library.as_deref().map(Library::open).transpose()?,
        python: None,
    };
    let ptx = run
        .machine
        .ptx(Module::Kernels)
        .map_err(warpfold::machine::MachineError::from)?;
    record
        .compilers
        .extend(Header::parse(ptx).map(|header| header.compiler));
    match &run.library {
        Some(library) => record.compilers.push(library.compiler()),
        None => record.left_out.push(LeftOut {
            name: "CUDA C++, CUB and Thrust".to_owned(),
            reason: "they take nvcc to build".to_owned(),
        }),
    }
    match Python::start(&options.python) {
        Ok(python) => {
            record.compilers.extend(python.versions.iter().cloned());
            record.left_out.extend(python.left_out.iter().cloned());
            run.python = Some(Rc::new(RefCell::new(python)));
        }
        Err(error) => record.left_out.push(LeftOut {
            name: "torch and CuPy".to_owned(),
            reason: error.to_string(),
        }),
    }
    let caches = match (options.warm, options.cold) {
        (true, _) => vec![Cache::Warm],
        (_, true) => vec![Cache::Cold],
        _ => vec![Cache::Warm, Cache::Cold],
    };
    for &n in &options.sizes {
        run.compare(n, &caches, &mut record)?;
        let mut seen = Vec::new();
        record.left_out.retain(|one| {
            !seen.contains(one) && {
                seen.push(one.clone());
                true
            }
        });
        // After each size, so that a run that is cut short keeps what it has measured.
        write(&options.json, &record)?;
    }
    Ok(())
}

/// What all sizes share.
struct Run {
    machine: Machine,
    library: Option<Rc<Library>>,
    python: Option<Rc<RefCell<Python>>>,
}

impl Run {
    /// Times everybody on n elements.
    fn compare(&self, n: usize, caches: &[Cache], record: &mut Record) -> Result<(), PeersError> {
        let values =
            random::i32_values(n, SEED).map_err(|source| PeersError::HostMemory { n, source })?;
        let mut arena = Arena::new(self.machine.device(), values)?;
        let mut contenders = Vec::new();
        for mut contender in self.contenders(&arena, record)? {
            match contender.time_ms(&mut arena, Cache::Warm) {
                Ok(_) => contenders.push(contender),
                Err(error) if error.is_of_one() => record.left_out.push(LeftOut {
                    name: contender.name().to_owned(),
                    reason: error.to_string(),
                }),
                Err(error) => return Err(error),
            }
        }
        eprintln!("n = {n}: {} contenders", contenders.len());
        for &cache in caches {
            for contender in &mut contenders {
                contender.spoil()?;
                contender.time_ms(&mut arena, cache)?;
                arena.check(contender.name(), contender.answer()?)?;
            }
            let mut times = vec![Vec::new(); contenders.len()];
            for _ in 0..record.repeat {
                for (contender, times) in contenders.iter_mut().zip(&mut times) {
                    times.push(contender.time_ms(&mut arena, cache)?);
                }
            }
            for (contender, elapsed_ms) in contenders.iter_mut().zip(times) {
                arena.check(contender.name(), contender.answer()?)?;
                let times = Times { elapsed_ms };
                record.measurements.push(Measurement {
                    maker: contender.maker(),
                    name: contender.name().to_owned(),
                    n,
                    cache,
                    median_ms: times.median_ms(),
                    fastest_ms: times.fastest_ms(),
                });
            }
        }
        drop(contenders);
        if let Some(python) = &self.python {
            // Where it does not answer any more, it has let go of everything.
            let _ = python.borrow_mut().close();
        }
        Ok(())
    }

    /// Everybody who takes part, with memory of their own; who does not is put on record.
    fn contenders(
        &self,
        arena: &Arena,
        record: &mut Record,
    ) -> Result<Vec<Box<dyn Contender + '_>>, PeersError> {
        let (n, block) = (arena.n(), record.block);
        let mut all: Vec<Box<dyn Contender + '_>> = Vec::new();
        if let Some(one) = Ours::read_all(&self.machine, n)? {
            all.push(Box::new(one));
        }
        let (ladder, left_out) = ours::ladder(&self.machine, n, block)?;
        for one in ladder {
            all.push(Box::new(one));
        }
        record.left_out.extend(left_out);
        all.push(Box::new(ours::Sum::new(&self.machine)?));
        if let Some(library) = &self.library {
            for one in library.contenders(self.machine.device(), n, block)? {
                all.push(Box::new(one));
            }
        }
        if let Some(python) = &self.python
            && !python.borrow().names().is_empty()
        {
            let opened = python.borrow_mut().open(arena);
            match opened {
                Ok(()) => {
                    for one in Python::contenders(python) {
                        all.push(Box::new(one));
                    }
                }
                Err(error) => {
                    let names = python.borrow().names().to_vec();
                    record
                        .left_out
                        .extend(names.into_iter().map(|name| LeftOut {
                            name,
                            reason: format!("its process cannot open the input: {error}"),
                        }));
                }
            }
        }
        Ok(all)
    }
}

/// The driver's own version, where `nvidia-smi` tells it, and that of CUDA.
fn driver(cuda: &str) -> String {
    let asked = Command::new("nvidia-smi")
        .args([
            "--query-gpu=driver_version",
            "--format=csv,noheader",
            "--id=0",
        ])
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            format!(
                "{} (CUDA {cuda})",
                String::from_utf8_lossy(&output.stdout).trim()
            )
        }
        _ => format!("CUDA {cuda}"),
    }
}

fn datasheet(device: &Device) -> Option<f64> {
    match device {
        Device::Gpu(gpu) => {
            let bytes_per_second = gpu.information().memory_bytes_per_second?;
            Some(bytes_per_second as f64 / 1e9)
        }
        Device::Emulator(_) => None,
    }
}

/// Writes the record under a temporary name, and renames it.
fn write(path: &Path, record: &Record) -> Result<(), PeersError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let failed = |source| PeersError::Write {
        path: path.to_owned(),
        source,
    };
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    serde_json::to_writer_pretty(&mut file, record).map_err(|error| failed(error.into()))?;
    writeln!(file).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
