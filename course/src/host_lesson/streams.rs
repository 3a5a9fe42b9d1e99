//! **Streams**: chunks copied and reduced on several streams.
//!
//! Before: on one stream a kernel waits for its copy, and the next copy for the kernel, although the GPU has an engine for each.
//!
//! Idea: cut the data in chunks and deal them out to k streams. While the kernel of one stream runs, the copy of another moves. At best the
//! time of all is that of the longer of the two, copies or kernels.
//!
//! The kernel is step 1, the slowest of the ladder, which leaves most to hide. It works in place, on a chunk that every round copies anew.

use super::stopwatch::{Stopwatch, speed_up};
use super::sum::{Input, LadderKernel, NO_PARTIAL};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use warpfold::device::{Buffer, DeviceError, HostBuffer, HostMemory, Stream};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "streams",
    alias: None,
    title: "copies that overlap kernels",
    change: "copies and kernels on different streams overlap, which hides the shorter of the two",
    needs: &["transfers", "events", "neighbored"],
    file: "course/src/host_lesson/streams.rs",
    usual_n: |_| 1 << 26,
    see: "What to see: one stream takes as long as copies and kernels together; two already come close to the longer of the two alone, and \
          more than a few add nothing.",
    not_shown: "Not shown here: times, since the emulator's streams run every operation at once; the order of the operations and the sums \
                are those of a GPU.",
    has_picture: false,
    needs_group: false,
    run,
};

/// Chunks that the data is cut into.
const CHUNKS: usize = 16;
/// How many streams there are.
const STREAMS: [usize; 4] = [1, 2, 4, 8];

/// A part of the data with all that it needs on its way.
struct Chunk {
    host: HostBuffer<i32>,
    buffer: Buffer<i32>,
    partials: Buffer<i32>,
    partials_on_host: HostBuffer<i32>,
}

/// What is queued for each chunk.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    copies: bool,
    kernels: bool,
    streams: usize,
}

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let expected = cpu_parallel(&values);
    let kernel = LadderKernel::slow(setting)?;
    let stopwatch = Stopwatch::new(setting)?;
    let mut chunks = values
        .chunks(values.len().div_ceil(CHUNKS))
        .map(|values| Chunk::new(setting, &kernel, values))
        .collect::<Result<Vec<_>, _>>()?;
    let mut report = Report::new(&[
        ("work", "work"),
        ("streams", "streams"),
        ("elapsed_ms", "ms"),
        ("ratio", "against\n1 stream"),
        ("right", "sum"),
    ]);
    report.fact(format!(
        "{} · {} chunks of page-locked memory",
        kernel.describe(),
        chunks.len()
    ));
    let alone = |name, copies| Work {
        name,
        copies,
        kernels: !copies,
        streams: 1,
    };
    let both = STREAMS.map(|streams| Work {
        name: "copies and kernels",
        copies: true,
        kernels: true,
        streams,
    });
    let mut one_stream_ms = None;
    for work in [alone("copies alone", true), alone("kernels alone", false)]
        .into_iter()
        .chain(both)
    {
        let streams = (0..work.streams)
            .map(|_| setting.device.stream())
            .collect::<Result<Vec<_>, _>>()?;
        chunks.iter_mut().try_for_each(Chunk::forget)?;
        let elapsed_ms = stopwatch.host_ms(
            || wait(&streams),
            || {
                for (index, chunk) in chunks.iter_mut().enumerate() {
                    chunk.queue(&kernel, &streams[index % streams.len()], work)?;
                }
                wait(&streams)
            },
        )?;
        // Either alone makes no sum: the copies without a kernel, the kernels over what they have overwritten.
        let is_whole = work.copies && work.kernels;
        let right = is_whole.then(|| sum(&chunks)).transpose()?;
        if is_whole {
            one_stream_ms = one_stream_ms.or(elapsed_ms);
        }
        report.row([
            work.name.into(),
            Cell::Count(work.streams as u64),
            Cell::Milliseconds(elapsed_ms),
            Cell::Ratio(speed_up(one_stream_ms, elapsed_ms)),
            Cell::Right(right.map(|sum| sum == expected)),
        ]);
    }
    Ok(report)
}

impl Chunk {
    fn new(
        setting: &Setting<'_>,
        kernel: &LadderKernel<'_>,
        values: &[i32],
    ) -> Result<Self, DeviceError> {
        let device = setting.device;
        let mut host = device.allocate_on_host(HostMemory::PageLocked, values.len())?;
        host.write(values)?;
        let partials = kernel.partials(values.len())?;
        Ok(Self {
            host,
            buffer: device.allocate(values.len())?,
            partials_on_host: device.allocate_on_host(HostMemory::PageLocked, partials.len())?,
            partials,
        })
    }

    /// Forgets the partials: those of one measurement cannot pass for those of the next.
    fn forget(&mut self) -> Result<(), DeviceError> {
        let nothing = vec![NO_PARTIAL; self.partials.len()];
        self.partials.write(&nothing)?;
        self.partials_on_host.write(&nothing)
    }

    fn queue(
        &mut self,
        kernel: &LadderKernel<'_>,
        stream: &Stream,
        work: Work,
    ) -> Result<(), DeviceError> {
        if work.copies {
            stream.upload(&self.host, &mut self.buffer)?;
        }
        if work.kernels {
            kernel.queue(stream, &Input::of(&self.buffer), &self.partials)?;
        }
        if work.copies {
            stream.download(&self.partials, &mut self.partials_on_host)?;
        }
        Ok(())
    }
}

/// Waits for all streams.
fn wait(streams: &[Stream]) -> Result<(), DeviceError> {
    streams.iter().try_for_each(Stream::synchronize)
}

/// The sum of all partials that have come back to the host.
fn sum(chunks: &[Chunk]) -> Result<i32, DeviceError> {
    chunks.iter().try_fold(0_i32, |sum, chunk| {
        let partials = chunk.partials_on_host.read()?;
        Ok(sum.wrapping_add(cpu_sequential(&partials)))
    })
}
