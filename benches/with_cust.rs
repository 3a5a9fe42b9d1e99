//! The lessons by `cust`: its modules, buffers, streams and events.
//!
//! What a lesson is launched on, and what has to come of it, is the course's: a [`Case`](warpfold_course::case::Case) says which arguments
//! the kernel takes, and a judge looks at what the launch has left in the buffers. Each launch is timed by two events on its stream.
//! What a launch overwrites is restored before it, outside of the timed region.
//!
//! - `warm`: launches follow one another, so an input that fits is in the L2 cache, as is one that was just restored.
//! - `cold`: twice the cache is overwritten before each launch, after the restoration.

use criterion::{Criterion, Throughput};
use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::function::{BlockSize, GridSize};
use cust::memory::AsyncCopyDestination;
use cust::prelude::*;
use cust::sys;
use std::error::Error;
use std::ffi::c_void;
use std::time::Duration;
use warpfold::device::Shape;
use warpfold::ptx::PtxSet;
use warpfold_course::prepared::PreparedLesson;
use warpfold_kernels::catalogue::{self, Lesson, Part, Task, Variant, lessons_of};

/// Launches that are queued one after the other: each has two events.
const MOST_QUEUED: u64 = 1000;
const BLOCK: u32 = 512;

/// A group for each part of the course. Only what is asked for on the command line is prepared, verified and timed.
pub fn lessons(
    criterion: &mut Criterion,
    sizes: &[usize],
    seed: u64,
) -> Result<(), Box<dyn Error>> {
    let _context = cust::quick_init()?;
    let mut gpu = Gpu::new(seed)?;
    let ptx = PtxSet::embedded();
    let module = |of| -> Result<Module, Box<dyn Error>> {
        Ok(Module::from_ptx(ptx.newest_for(of, gpu.sm)?, &[])?)
    };
    let kernels = module(catalogue::PtxText::Kernels)?;
    let operators = module(catalogue::PtxText::Operators)?;
    let recent = module(catalogue::PtxText::Recent)?;
    for part in Part::ALL {
        if part == Part::Nested {
            eprintln!(
                "The group `{}` is skipped: its kernels launch kernels, for which they are linked with a library of the CUDA toolkit, and \
                 `cust` links no libraries. `warpfold run ID --device gpu` times them.",
                group_name(part)
            );
            continue;
        }
        let mut group = criterion.benchmark_group(group_name(part));
        for &n in sizes {
            for lesson in lessons_of(part) {
                let variant = lesson.usual(BLOCK);
                let module = match lesson.module {
                    catalogue::PtxText::Kernels => &kernels,
                    catalogue::PtxText::Operators => &operators,
                    catalogue::PtxText::Recent => &recent,
                    catalogue::PtxText::Nested => continue,
                };
                if !gpu.runs(lesson, variant, n) {
                    continue;
                }
                group.throughput(match &lesson.task {
                    Task::Reduction(reduction) => {
                        Throughput::Bytes(n as u64 * u64::from(reduction.element_type.bytes()))
                    }
                    Task::Demonstration(_) => Throughput::Elements(n as u64),
                });
                let mut loaded = None;
                for (policy, cold) in [("warm", false), ("cold", true)] {
                    group.bench_function(format!("{}/{n}/{policy}", lesson.id), |bencher| {
                        let loaded: &mut Loaded<'_> = loaded.get_or_insert_with(|| {
                            or_stop(lesson, gpu.load(module, lesson, variant, n))
                        });
                        bencher.iter_custom(|launches| {
                            or_stop(lesson, gpu.time(loaded, launches, cold))
                        });
                    });
                }
                if let Some(loaded) = &mut loaded {
                    or_stop(lesson, gpu.verify(loaded));
                }
            }
        }
        group.finish();
    }
    Ok(())
}

fn group_name(part: Part) -> String {
    format!("{part:?}").to_lowercase()
}

/// The value, or the end of the program: a benchmark that has begun cannot be left out.
fn or_stop<T>(lesson: &Lesson, result: Result<T, Box<dyn Error>>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("{}: {error}.", lesson.id);
        std::process::exit(2)
    })
}

/// The first GPU, and what is launched on.
struct Gpu {
    sm: u32,
    multiprocessors: u32,
    stream: Stream,
    /// Twice as much memory as the L2 cache holds.
    cache: DeviceBuffer<u8>,
    seed: u64,
}

impl Gpu {
    fn new(seed: u64) -> CudaResult<Self> {
        let device = Device::get_device(0)?;
        let attribute = |attribute| device.get_attribute(attribute).map(|value| value as u32);
        let l2_bytes = attribute(DeviceAttribute::L2CacheSize)? as usize;
        Ok(Self {
            sm: 10 * attribute(DeviceAttribute::ComputeCapabilityMajor)?
                + attribute(DeviceAttribute::ComputeCapabilityMinor)?,
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
            stream: Stream::new(StreamFlags::DEFAULT, None)?,
            cache: DeviceBuffer::zeroed(2 * l2_bytes)?,
            seed,
        })
    }

    /// Whether the lesson runs here and takes this many elements.
    fn runs(&self, lesson: &Lesson, variant: Variant, n: usize) -> bool {
        let most = lesson
            .reduction()
            .and_then(|reduction| reduction.most_elements(variant));
        !lesson.emulator_only
            && lesson.least_sm <= self.sm
            && most.is_none_or(|most| n as u64 <= most)
    }

    /// Puts a lesson's buffers on the GPU, launches it once, and verifies what it leaves.
    fn load<'m>(
        &self,
        module: &'m Module,
        lesson: &'static Lesson,
        variant: Variant,
        n: usize,
    ) -> Result<Loaded<'m>, Box<dyn Error>> {
        let prepared = PreparedLesson::new(lesson, variant, n, self.seed, self.multiprocessors)?;
        let case = prepared
            .case()
            .ok_or("there is nothing to launch for so few elements")?;
        let arguments = case.arguments.iter().map(|argument| {
            let Some(contents) = argument.contents() else {
                let number = argument
                    .number()
                    .ok_or("an argument is a buffer or a number")?;
                return Ok(Argument::Number(number.to_bytes()));
            };
            let buffer = DeviceBuffer::from_slice(&contents)?;
            let pristine = argument
                .is_rewritten()
                .then(|| DeviceBuffer::from_slice(&contents));
            Ok(Argument::Buffer {
                address: buffer.as_device_ptr().as_raw(),
                buffer,
                pristine: pristine.transpose()?,
            })
        });
        let mut loaded = Loaded {
            kernel: module.get_function(case.entry)?,
            shape: case.shape,
            arguments: arguments.collect::<Result<_, Box<dyn Error>>>()?,
            prepared,
        };
        loaded.ask_for_shared_memory()?;
        self.verify(&mut loaded)?;
        Ok(loaded)
    }

    /// Launches once, and judges what that leaves.
    fn verify(&self, loaded: &mut Loaded<'_>) -> Result<(), Box<dyn Error>> {
        loaded.restore(&self.stream)?;
        loaded.launch(&self.stream)?;
        self.stream.synchronize()?;
        let copies = loaded.arguments.iter().map(|argument| match argument {
            Argument::Number(_) => Ok(Vec::new()),
            Argument::Buffer { buffer, .. } => buffer.as_host_vec(),
        });
        let copies = copies.collect::<CudaResult<Vec<_>>>()?;
        match loaded.prepared.judge_copies(&copies)?.mistake {
            Some(mistake) => Err(mistake.into()),
            None => Ok(()),
        }
    }

    /// Device time of this many launches, in all.
    fn time(
        &mut self,
        loaded: &mut Loaded<'_>,
        launches: u64,
        cold: bool,
    ) -> Result<Duration, Box<dyn Error>> {
        let Self { stream, cache, .. } = self;
        let mut elapsed_ms = 0.0;
        let mut left = launches;
        while left > 0 {
            let queued = left.min(MOST_QUEUED);
            left -= queued;
            let mut events = Vec::new();
            for _ in 0..queued {
                loaded.restore(stream)?;
                if cold {
                    // SAFETY: nothing else touches the buffer, and what it holds means nothing.
                    unsafe { cache.set_8_async(0, stream)? };
                }
                let [start, end] = [
                    Event::new(EventFlags::DEFAULT)?,
                    Event::new(EventFlags::DEFAULT)?,
                ];
                start.record(stream)?;
                loaded.launch(stream)?;
                end.record(stream)?;
                events.push((start, end));
            }
            stream.synchronize()?;
            for (start, end) in events {
                elapsed_ms += f64::from(end.elapsed_time_f32(&start)?);
            }
        }
        Ok(Duration::from_secs_f64(elapsed_ms / 1e3))
    }
}

/// A lesson with its buffers on the GPU.
struct Loaded<'m> {
    kernel: Function<'m>,
    shape: Shape,
    arguments: Vec<Argument>,
    prepared: PreparedLesson,
}

enum Argument {
    Number(Vec<u8>),
    Buffer {
        /// Where the buffer is, as the kernel is told.
        address: u64,
        buffer: DeviceBuffer<u8>,
        /// What each launch has to find there, where the one before it has overwritten it.
        pristine: Option<DeviceBuffer<u8>>,
    },
}

impl Loaded<'_> {
    /// A block may have up to 48 KiB of shared memory without asking. More has to be asked for, which `cust` has no function of its own for.
    fn ask_for_shared_memory(&self) -> Result<(), Box<dyn Error>> {
        use sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a module that is loaded.
        let answer = unsafe {
            sys::cuFuncSetAttribute(
                self.kernel.to_raw(),
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                self.shape.dynamic_shared_bytes.try_into()?,
            )
        };
        checked("cuFuncSetAttribute", answer)
    }

    /// Queues what makes the buffers ready for a launch.
    fn restore(&mut self, stream: &Stream) -> CudaResult<()> {
        for argument in &mut self.arguments {
            if let Argument::Buffer {
                buffer,
                pristine: Some(pristine),
                ..
            } = argument
            {
                // SAFETY: whatever touches these buffers is on the same stream, or waits for it.
                unsafe { buffer.async_copy_from(pristine, stream)? };
            }
        }
        Ok(())
    }

    /// Queues a launch.
    fn launch(&mut self, stream: &Stream) -> Result<(), Box<dyn Error>> {
        let Shape {
            grid,
            block,
            dynamic_shared_bytes,
            cooperative,
            ..
        } = self.shape;
        let mut pointers: Vec<*mut c_void> = self
            .arguments
            .iter_mut()
            .map(|argument| match argument {
                Argument::Number(bytes) => bytes.as_mut_ptr().cast(),
                Argument::Buffer { address, .. } => (&raw mut *address).cast(),
            })
            .collect();
        if cooperative {
            // SAFETY: as below.
            let answer = unsafe {
                sys::cuLaunchCooperativeKernel(
                    self.kernel.to_raw(),
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    dynamic_shared_bytes,
                    stream.as_inner(),
                    pointers.as_mut_ptr(),
                )
            };
            return checked("cuLaunchCooperativeKernel", answer);
        }
        let grid = GridSize::xyz(grid[0], grid[1], grid[2]);
        let block = BlockSize::xyz(block[0], block[1], block[2]);
        // SAFETY: the case has an argument for each of the kernel's parameters, in their order and of their sizes, and in its shape the
        // kernel keeps to these buffers. They live until the stream has been waited for: `verify` and `time` do that.
        unsafe { stream.launch(&self.kernel, grid, block, dynamic_shared_bytes, &pointers)? };
        Ok(())
    }
}

/// The answer of a function of the driver that `cust` does not wrap.
fn checked(function: &str, answer: sys::CUresult) -> Result<(), Box<dyn Error>> {
    match answer {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        failure => Err(format!("{function} failed: {failure:?}").into()),
    }
}
