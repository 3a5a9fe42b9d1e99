//! **Issue order**: the same copies and kernels, queued depth first and breadth first.
//!
//! Before: work on different streams overlaps. But the host queues it in some order.
//!
//! Idea: a chunk is copied to the GPU, worked on and copied back, each chunk on a stream of its own. Depth first, the host queues all three
//! operations of a chunk before it turns to the next. Breadth first, it queues the first operation of every chunk, then the second of
//! every chunk, then the third. The streams hold the same operations in the same order either way. What differs is how they reach the GPU: the
//! driver has a number of hardware queues, and streams that share one wait for each other. With a queue for each stream both orders run
//! alike. With a single queue, as on GPUs before compute capability 3.5, the first copy of chunk 2 stands after the last of chunk 1, which
//! waits for its kernel: depth first, nothing overlaps. `CUDA_DEVICE_MAX_CONNECTIONS=1 warpfold host-lesson issue_order` leaves any GPU a
//! single queue.
//!
//! The kernel is `bank_stride`, with as many bank conflicts as it can have, so that there is something to see of it. It reverses the
//! tiles of a chunk; three launches leave them reversed.

use super::stopwatch::speed_up;
use super::timeline::{Kind, Lane, Span, Timeline, one_after_another, picture};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::lesson;
use warpfold::device::{
    Buffer, Device, DeviceError, Event, HostBuffer, HostMemory, Kernel, Shape, Stream,
};
use warpfold_kernels::catalogue::{self, Variant};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "issue_order",
    alias: None,
    title: "depth first or breadth first",
    change: "the order in which the host queues work decides what overlaps where streams share a hardware queue, and nothing where each has \
             one",
    needs: &["streams", "bank_stride"],
    file: "course/src/host_lesson/issue_order.rs",
    usual_n: |_| 1 << 26,
    see: "What to see: on one stream nothing overlaps; on four, copies in both directions and kernels do, and a GPU with a queue for each \
          stream takes as long depth first as breadth first. With CUDA_DEVICE_MAX_CONNECTIONS=1 in the environment all streams share \
          one queue: depth first, nothing overlaps; breadth first, kernels of several chunks do, and still no copy does.",
    not_shown: "Not shown here: times and the timeline, since the emulator's streams run every operation at once; the order in which they \
                are queued and the results are those of a GPU.",
    has_picture: true,
    needs_group: false,
    run,
};

/// Chunks that the data is cut into.
const CHUNKS: usize = 4;
/// Threads of a block, each of which reverses a tile of as many values.
const BLOCK: u32 = 512;
/// Words between the values of neighbouring lanes: 32 lanes for one bank.
const STRIDE: u32 = 32;
/// Launches over each chunk. Their number is odd: the last of them leaves the tiles reversed.
const LAUNCHES: usize = 3;

/// The order in which the host queues the operations of all chunks.
#[derive(Clone, Copy)]
enum Order {
    DepthFirst,
    BreadthFirst,
}

const WAYS: [(&str, Order, usize); 3] = [
    ("one stream", Order::DepthFirst, 1),
    ("depth first", Order::DepthFirst, CHUNKS),
    ("breadth first", Order::BreadthFirst, CHUNKS),
];

/// A part of the data with all that it needs on its way.
struct Chunk {
    host: HostBuffer<i32>,
    buffer: Buffer<i32>,
    back: HostBuffer<i32>,
    /// Before and after each operation.
    events: [[Event; 2]; 3],
}

/// What is done to a chunk, in this order.
const OPERATIONS: [Kind; 3] = [Kind::Upload, Kind::Kernel, Kind::Download];

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let device = setting.device;
    let reverse = Reverse::new(device)?;
    let origin = device.event()?;
    let mut chunks = values
        .chunks(values.len().div_ceil(CHUNKS))
        .map(|values| Chunk::new(device, values))
        .collect::<Result<Vec<_>, _>>()?;
    let mut report = Report::new(&[
        ("order", "order"),
        ("streams", "streams"),
        ("at_once", "at once"),
        ("elapsed_ms", "ms"),
        ("ratio", "against\n1 stream"),
        ("right", "result"),
    ]);
    report.fact(format!(
        "bank_stride, stride {STRIDE}, block {BLOCK}, {LAUNCHES} launches a chunk · {} chunks of page-locked memory",
        chunks.len()
    ));
    let mut one_stream_ms = None;
    for (name, order, streams) in WAYS {
        let streams = (0..streams)
            .map(|_| device.stream())
            .collect::<Result<Vec<_>, _>>()?;
        let mut runs = Vec::new();
        for chunk in &mut chunks {
            chunk.forget()?;
        }
        let timed_runs = if device.is_gpu() {
            setting.repeat.max(1)
        } else {
            0
        };
        // The first of all runs is not timed.
        for run in 0..=timed_runs {
            streams[0].record(&origin)?;
            order.queue(&mut chunks, &streams, &reverse)?;
            streams.iter().try_for_each(Stream::synchronize)?;
            if run > 0 {
                runs.push(timeline(name, &chunks, streams.len(), &origin)?);
            }
        }
        let timeline = Timeline::median(runs);
        let elapsed_ms = timeline.as_ref().map(Timeline::elapsed_ms);
        one_stream_ms = one_stream_ms.or(elapsed_ms);
        let mut is_right = true;
        for (chunk, values) in chunks
            .iter()
            .zip(values.chunks(values.len().div_ceil(CHUNKS)))
        {
            is_right &= is_reversed(&chunk.back.read()?, values);
        }
        report.row([
            name.into(),
            Cell::Count(streams.len() as u64),
            Cell::GpuCount(timeline.as_ref().map(|timeline| timeline.at_once() as u64)),
            Cell::Milliseconds(elapsed_ms),
            Cell::Ratio(speed_up(one_stream_ms, elapsed_ms)),
            Cell::Right(Some(is_right)),
        ]);
        report.timelines.extend(timeline);
    }
    if device.is_gpu() {
        let picture = picture(
            "The same work in two orders",
            &format!("{} · {} values", device.describe(), values.len()),
            &report.timelines,
        );
        report.picture = Some(picture.map_err(HostLessonError::Picture)?);
    }
    Ok(report)
}

impl Order {
    fn queue(
        self,
        chunks: &mut [Chunk],
        streams: &[Stream],
        reverse: &Reverse,
    ) -> Result<(), DeviceError> {
        let stream = |index: usize| &streams[index % streams.len()];
        match self {
            Self::DepthFirst => {
                for (index, chunk) in chunks.iter_mut().enumerate() {
                    for operation in 0..OPERATIONS.len() {
                        chunk.queue(operation, stream(index), reverse)?;
                    }
                }
            }
            Self::BreadthFirst => {
                for operation in 0..OPERATIONS.len() {
                    for (index, chunk) in chunks.iter_mut().enumerate() {
                        chunk.queue(operation, stream(index), reverse)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Chunk {
    fn new(device: &Device, values: &[i32]) -> Result<Self, DeviceError> {
        let on_host = || device.allocate_on_host(HostMemory::PageLocked, values.len());
        let pair = || Ok::<_, DeviceError>([device.event()?, device.event()?]);
        let mut host = on_host()?;
        host.write(values)?;
        Ok(Self {
            host,
            buffer: device.allocate(values.len())?,
            back: on_host()?,
            events: [pair()?, pair()?, pair()?],
        })
    }

    /// Forgets the result: that of one way cannot pass for that of the next.
    fn forget(&mut self) -> Result<(), DeviceError> {
        let nothing = vec![i32::MIN; self.back.len()];
        self.back.write(&nothing)
    }

    fn queue(
        &mut self,
        operation: usize,
        stream: &Stream,
        reverse: &Reverse,
    ) -> Result<(), DeviceError> {
        let [start, end] = &self.events[operation];
        stream.record(start)?;
        match OPERATIONS[operation] {
            Kind::Upload => stream.upload(&self.host, &mut self.buffer)?,
            Kind::Kernel => reverse.queue(stream, &self.buffer)?,
            Kind::Download => stream.download(&self.buffer, &mut self.back)?,
        }
        stream.record(end)
    }
}

/// The kernel.
struct Reverse(Kernel);

impl Reverse {
    fn new(device: &Device) -> Result<Self, HostLessonError> {
        const ID: &str = "bank_stride";
        let missing = || HostLessonError::Unsuitable(format!("there is no kernel `{ID}` here"));
        let lesson = catalogue::find(ID).ok_or_else(missing)?;
        let variant = Variant {
            block: BLOCK,
            parameter: Some(STRIDE),
        };
        let entry = lesson::entry(lesson, variant)?;
        Ok(Self(device.kernel(lesson.module, entry)?))
    }

    /// Queues the launches over a buffer of the kernel's device.
    fn queue(&self, stream: &Stream, buffer: &Buffer<i32>) -> Result<(), DeviceError> {
        let blocks = buffer.len().div_ceil(BLOCK as usize);
        let too_large = |_| DeviceError::TooLarge {
            length: buffer.len(),
        };
        let shape = Shape::linear(u32::try_from(blocks).map_err(too_large)?, BLOCK);
        let arguments = [buffer.argument(), buffer.len().into(), STRIDE.into()];
        for _ in 0..LAUNCHES {
            // SAFETY: the kernel takes (values, n, stride) and reverses tiles of n values, which the buffer has, by blocks that are one
            // for each tile; a stride is 1 to 32. The buffer is freed when the device has done what is queued.
            unsafe { stream.launch(&self.0, &shape, &arguments) }?;
        }
        Ok(())
    }
}

/// Whether each tile of the values has come back reversed.
fn is_reversed(found: &[i32], values: &[i32]) -> bool {
    let tiles = values.chunks(BLOCK as usize);
    tiles.flat_map(|tile| tile.iter().rev()).eq(found.iter())
}

/// What ran when, on each of the streams. One copy at a time runs in each direction.
fn timeline(
    title: &str,
    chunks: &[Chunk],
    streams: usize,
    origin: &Event,
) -> Result<Timeline, DeviceError> {
    let mut spans = Vec::new();
    for chunk in chunks {
        for (kind, [start, end]) in OPERATIONS.into_iter().zip(&chunk.events) {
            spans.push(Span::between(kind, start, end, origin)?);
        }
    }
    for direction in [Kind::Upload, Kind::Download] {
        one_after_another(spans.iter_mut().filter(|span| span.kind == direction));
    }
    let lane = |stream: usize| {
        let chunks = spans.chunks(OPERATIONS.len()).enumerate();
        let own = chunks.filter(|(index, _)| index % streams == stream);
        Lane {
            name: format!("stream {}", stream + 1),
            spans: own.flat_map(|(_, spans)| spans).copied().collect(),
        }
    };
    Ok(Timeline::new(title, (0..streams).map(lane).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_not_reversed_is_told_apart() {
        let values: Vec<i32> = (0..700).collect();
        let mut reversed: Vec<i32> = (0..512).rev().chain((512..700).rev()).collect();
        assert!(is_reversed(&reversed, &values));
        assert!(!is_reversed(&values, &values));
        assert!(!is_reversed(&reversed[..699], &values));
        reversed[600] += 1;
        assert!(!is_reversed(&reversed, &values));
    }
}
