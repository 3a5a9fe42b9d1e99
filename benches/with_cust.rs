//! The ladder by `cust` alone: its modules, buffers, streams and events.
//!
//! Each launch is timed by two events on its stream. What a launch overwrites is restored before it, outside the timed region. `warm`: the
//! launches follow one another, so that an input that fits finds itself in the L2 cache, as does one that was just restored. `cold`: twice
//! the cache is overwritten before each launch, after the restoration.

use criterion::{Criterion, Throughput};
use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::memory::AsyncCopyDestination;
use cust::prelude::*;
use std::ffi::c_void;
use std::time::Duration;
use warpfold::ptx::PtxSet;
use warpfold_course::oracle::cpu_sequential;
use warpfold_course::random;
use warpfold_kernels::catalogue::{self, Finish, Lesson, Part, Reduction, Role, lessons_of};

/// Launches that are queued one after the other: each has two events.
const MOST_QUEUED: u64 = 1000;
const BLOCK: u32 = 512;

/// Verifies and times each step at each size.
pub fn ladder(
    criterion: &mut Criterion,
    sizes: &[usize],
    seed: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let device = Device::get_device(0)?;
    let attribute = |attribute| device.get_attribute(attribute).map(|value| value as u32);
    let sm = 10 * attribute(DeviceAttribute::ComputeCapabilityMajor)?
        + attribute(DeviceAttribute::ComputeCapabilityMinor)?;
    let multiprocessors = attribute(DeviceAttribute::MultiprocessorCount)?;
    let l2_bytes = attribute(DeviceAttribute::L2CacheSize)?;

    let ptx = PtxSet::embedded();
    let module = Module::from_ptx(ptx.newest_for(catalogue::Module::Kernels, sm)?, &[])?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let mut cache = DeviceBuffer::<u8>::zeroed(2 * l2_bytes as usize)?;

    let mut group = criterion.benchmark_group("ladder");
    for &n in sizes {
        let values = random::i32_values(n, seed)?;
        let sum = cpu_sequential(&values);
        group.throughput(Throughput::Bytes(size_of_val(&values[..]) as u64));
        for lesson in lessons_of(Part::Ladder)
            .iter()
            .filter(|lesson| lesson.least_sm <= sm)
        {
            let mut step = Step::new(&module, lesson, &values, multiprocessors)?;
            assert_eq!(step.sum(&stream)?, sum, "{} at n = {n}", lesson.id);
            for (policy, cold) in [("warm", false), ("cold", true)] {
                let cache = cold.then_some(&mut cache);
                let mut time = timer(&mut step, &stream, cache);
                group.bench_function(format!("{}/{n}/{policy}", lesson.id), |bencher| {
                    bencher.iter_custom(|launches| time(launches).expect("it was right before"));
                });
            }
            assert_eq!(step.sum(&stream)?, sum, "{} at n = {n}", lesson.id);
        }
    }
    group.finish();
    Ok(())
}

/// Device time of so many launches, in all.
fn timer(
    step: &mut Step<'_>,
    stream: &Stream,
    mut cache: Option<&mut DeviceBuffer<u8>>,
) -> impl FnMut(u64) -> CudaResult<Duration> {
    move |launches| {
        let mut elapsed_ms = 0.0;
        let mut left = launches;
        while left > 0 {
            let queued = left.min(MOST_QUEUED);
            left -= queued;
            let mut events = Vec::new();
            for _ in 0..queued {
                step.restore(stream)?;
                if let Some(cache) = &mut cache {
                    // SAFETY: nothing else touches the buffer, and what it holds means nothing.
                    unsafe { cache.set_8_async(0, stream)? };
                }
                let [start, end] = [
                    Event::new(EventFlags::DEFAULT)?,
                    Event::new(EventFlags::DEFAULT)?,
                ];
                start.record(stream)?;
                step.launch(stream)?;
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

/// A step of the ladder with its input on the GPU.
struct Step<'m> {
    kernel: Function<'m>,
    reduction: &'static Reduction,
    blocks: u32,
    shared_bytes: u32,
    n: usize,
    input: DeviceBuffer<i32>,
    /// What a kernel that works in place is to find.
    pristine: Option<DeviceBuffer<i32>>,
    partials: DeviceBuffer<i32>,
    total: DeviceBuffer<i32>,
    next_total: DeviceBuffer<i32>,
    counter: DeviceBuffer<u64>,
}

impl<'m> Step<'m> {
    fn new(
        module: &'m Module,
        lesson: &'static Lesson,
        values: &[i32],
        multiprocessors: u32,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let variant = lesson.usual(BLOCK);
        let reduction = lesson.reduction().ok_or("every step reduces")?;
        let blocks = reduction.blocks(values.len() as u64, variant, multiprocessors);
        let pristine = reduction.in_place.then(|| DeviceBuffer::from_slice(values));
        Ok(Self {
            kernel: module.get_function(
                lesson
                    .entry(variant)
                    .ok_or("every step has this block size")?,
            )?,
            reduction,
            blocks: blocks.try_into()?,
            shared_bytes: reduction.dynamic_shared_bytes(variant),
            n: values.len(),
            input: DeviceBuffer::from_slice(values)?,
            pristine: pristine.transpose()?,
            partials: DeviceBuffer::zeroed(blocks as usize)?,
            total: DeviceBuffer::zeroed(1)?,
            next_total: DeviceBuffer::zeroed(1)?,
            counter: DeviceBuffer::zeroed(1)?,
        })
    }

    /// Queues what makes the buffers ready for a launch.
    fn restore(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: whatever touches these buffers is on the same stream, or waits for it.
        unsafe {
            if let Some(pristine) = &self.pristine {
                self.input.async_copy_from(pristine, stream)?;
            }
            if let Finish::Total | Finish::TotalInTurns = self.reduction.finish {
                self.total.set_8_async(0, stream)?;
            }
        }
        Ok(())
    }

    /// Queues a launch.
    fn launch(&self, stream: &Stream) -> CudaResult<()> {
        let pointer = |buffer: &DeviceBuffer<i32>| buffer.as_device_ptr().as_raw();
        let roles = self.reduction.finish.roles().iter();
        let values = roles.map(|role| match role {
            Role::Input => pointer(&self.input),
            Role::Partials => pointer(&self.partials),
            Role::Count => self.n as u64,
            Role::Total => pointer(&self.total),
            Role::NextTotal => pointer(&self.next_total),
            Role::Counter => self.counter.as_device_ptr().as_raw(),
            Role::Tile | Role::Status => unreachable!("no step of the ladder launches grids"),
        });
        let mut values: Vec<u64> = values.collect();
        let arguments: Vec<*mut c_void> = values
            .iter_mut()
            .map(|value| (&raw mut *value).cast())
            .collect();
        // SAFETY: the catalogue says which arguments a kernel takes, and in which geometry it keeps to these buffers, which are alive until
        // the stream has been waited for.
        unsafe {
            stream.launch(
                &self.kernel,
                self.blocks,
                BLOCK,
                self.shared_bytes,
                &arguments,
            )
        }
    }

    /// What one launch gives.
    fn sum(&mut self, stream: &Stream) -> CudaResult<i32> {
        self.restore(stream)?;
        self.launch(stream)?;
        stream.synchronize()?;
        let sums = match self.reduction.finish {
            Finish::PartialPerBlock => &self.partials,
            _ => &self.total,
        };
        Ok(sums.as_host_vec()?.into_iter().fold(0, i32::wrapping_add))
    }
}
