//! **A diamond**: a graph whose branches run side by side.
//!
//! Before: a graph of launches one after the other spares the host's calls, and keeps their order.
//!
//! Idea: a graph's node waits for the nodes that it depends on and for nothing else. Where B and C both need A, and D needs both, B and C run
//! side by side:
//!
//! ```text
//!      ┌─→ B ─┐
//!   A ─┤      ├─→ D
//!      └─→ C ─┘
//! ```
//!
//! The dependencies are given node by node, or found in a capture: one event makes a second stream wait for A on the first, and
//! another makes the first wait for the second. A leaves a partial for each block, B and C add up half of them each, D adds
//! up what these leave. Meanwhile the host need not wait: it asks an event whether it has been reached (`cuEventQuery`), and could do
//! something else in between.

use super::stopwatch::{Stopwatch, speed_up};
use super::sum::{Input, LadderKernel, NO_PARTIAL, Partials};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use warpfold::Device;
use warpfold::device::{Buffer, DeviceError, ExecutableGraph, Graph, Stream};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "diamond",
    alias: None,
    title: "a graph whose branches run side by side",
    change: "a node of a graph waits for the nodes that it depends on and for no others, however the graph came about",
    needs: &["graph", "streams"],
    file: "course/src/host_lesson/diamond.rs",
    usual_n: |_| 1 << 24,
    see: "What to see: the diamond ends sooner than the chain of the same four kernels, by about the time of one of the small ones, and takes \
          as long captured as built; the host asks many times before the graph has ended, and could do something else each time.",
    not_shown: "Not shown here: times, since the emulator runs the nodes of a graph one after the other, each after those that it depends on; \
                both kinds of graph and their sums are those of a GPU, and an event has been reached when the host first asks.",
    has_picture: false,
    needs_group: false,
    run,
};

/// How the four launches get their order.
#[derive(Clone, Copy)]
enum Form {
    /// One stream.
    Launches,
    /// Each node depends on the one before.
    Chain,
    /// Node by node.
    Built,
    /// From two streams.
    Captured,
}

const FORMS: [(&str, Form, u64); 4] = [
    ("launches on one stream", Form::Launches, 4),
    ("graph, a chain", Form::Chain, 4),
    ("graph, a diamond, built", Form::Built, 3),
    ("graph, a diamond, captured", Form::Captured, 3),
];

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let expected = cpu_parallel(&values);
    let device = setting.device;
    let kernel = LadderKernel::fast(setting)?;
    let stopwatch = Stopwatch::new(setting)?;
    let stream = device.stream()?;
    let done = device.event()?;
    let buffer = device.upload(&values)?;
    let mut report = Report::new(&[
        ("form", "A, B, C and D"),
        ("in_turn", "in\nturn"),
        ("queued_us", "queued in\nµs"),
        ("elapsed_us", "done in\nµs"),
        ("ratio", "against\nlaunches"),
        ("asked", "asked before\nit was done"),
        ("right", "sum"),
    ]);
    report.fact(format!(
        "{} · A: all values, {} blocks · B and C: half of its partials each · D: what these leave",
        kernel.describe(),
        kernel.blocks(values.len())
    ));
    let mut launches_ms = None;
    for (name, form, in_turn) in FORMS {
        // Each form has its own room for sums, and cannot pass for right by those of another.
        let work = Work::new(device, &kernel, &buffer)?;
        let graph = match form {
            Form::Launches => None,
            Form::Chain => Some(work.build(device, true)?.instantiate()?),
            Form::Built => Some(work.build(device, false)?.instantiate()?),
            Form::Captured => Some(work.capture(device, &stream)?.instantiate()?),
        };
        let queue = || work.queue(graph.as_ref(), &stream);
        let queued_ms = stopwatch.host_ms(|| stream.synchronize(), queue)?;
        let elapsed_ms = stopwatch.device_ms(&stream, || Ok(()), queue)?;
        launches_ms = launches_ms.or(elapsed_ms);

        queue()?;
        stream.record(&done)?;
        let mut asked = 0;
        while !done.is_reached()? {
            asked += 1;
        }
        let of = |ms: Option<f64>| Cell::Microseconds(ms.map(|ms| ms * 1e3));
        report.row([
            name.into(),
            Cell::Count(in_turn),
            of(queued_ms),
            of(elapsed_ms),
            Cell::Ratio(speed_up(launches_ms, elapsed_ms)),
            Cell::GpuCount(device.is_gpu().then_some(asked)),
            Cell::Right(Some(work.sum()? == expected)),
        ]);
    }
    Ok(report)
}

/// The four launches, with room for what they leave.
struct Work<'a> {
    kernel: &'a LadderKernel<'a>,
    values: &'a Buffer<i32>,
    /// What A leaves, and zeros up to an even number: B and C take half each.
    first: Buffer<i32>,
    /// What B leaves, and after that what C leaves.
    second: Buffer<i32>,
    /// What D leaves.
    last: Buffer<i32>,
}

impl<'a> Work<'a> {
    fn new(
        device: &Device,
        kernel: &'a LadderKernel<'a>,
        values: &'a Buffer<i32>,
    ) -> Result<Self, DeviceError> {
        let blocks = kernel.blocks(values.len());
        let mut first = vec![NO_PARTIAL; blocks];
        first.resize(blocks.next_multiple_of(2), 0);
        let of_second = 2 * kernel.blocks(first.len() / 2);
        Ok(Self {
            kernel,
            values,
            first: device.upload(&first)?,
            second: device.upload(&vec![NO_PARTIAL; of_second])?,
            last: kernel.partials(of_second)?,
        })
    }

    fn a(&self) -> (Input<'_>, Partials<'_>) {
        let blocks = self.kernel.blocks(self.values.len());
        (
            Input::of(self.values),
            Partials::part(&self.first, 0..blocks),
        )
    }

    fn b(&self) -> (Input<'_>, Partials<'_>) {
        let (from, to) = (self.first.len() / 2, self.second.len() / 2);
        (
            Input::part(&self.first, 0..from),
            Partials::part(&self.second, 0..to),
        )
    }

    fn c(&self) -> (Input<'_>, Partials<'_>) {
        let (from, to) = (self.first.len() / 2, self.second.len() / 2);
        (
            Input::part(&self.first, from..2 * from),
            Partials::part(&self.second, to..2 * to),
        )
    }

    fn d(&self) -> (Input<'_>, Partials<'_>) {
        (Input::of(&self.second), (&self.last).into())
    }

    fn launch(
        &self,
        stream: &Stream,
        (input, partials): (Input<'_>, Partials<'_>),
    ) -> Result<(), DeviceError> {
        self.kernel.queue(stream, &input, partials)
    }

    /// The graph node by node: a diamond, or a chain, where C waits for B as well.
    fn build(&self, device: &Device, is_chain: bool) -> Result<Graph, DeviceError> {
        let mut graph = device.graph()?;
        let mut add = |(input, partials): (Input<'_>, Partials<'_>), after: &[_]| {
            self.kernel.add_to(&mut graph, &input, partials, after)
        };
        let a = add(self.a(), &[])?;
        let b = add(self.b(), &[a])?;
        let c = add(self.c(), &[if is_chain { b } else { a }])?;
        let last = [b, c];
        add(self.d(), if is_chain { &last[1..] } else { &last })?;
        Ok(graph)
    }

    /// The diamond from two streams. The other is non-blocking: an ordinary one would have an order with the default stream, which no
    /// stream of a capture can have.
    fn capture(&self, device: &Device, stream: &Stream) -> Result<Graph, DeviceError> {
        let other = device.non_blocking_stream()?;
        let (forked, joined) = (device.event()?, device.event()?);
        stream.capture(|stream| {
            self.launch(stream, self.a())?;
            stream.record(&forked)?;
            other.wait_for(&forked)?;
            self.launch(stream, self.b())?;
            self.launch(&other, self.c())?;
            other.record(&joined)?;
            stream.wait_for(&joined)?;
            self.launch(stream, self.d())
        })
    }

    fn queue(&self, graph: Option<&ExecutableGraph>, stream: &Stream) -> Result<(), DeviceError> {
        match graph {
            // SAFETY: the kernels keep to the buffers of this value and its input, which outlive the graph.
            Some(graph) => unsafe { graph.launch(stream) },
            None => [self.a(), self.b(), self.c(), self.d()]
                .into_iter()
                .try_for_each(|launch| self.launch(stream, launch)),
        }
    }

    fn sum(&self) -> Result<i32, DeviceError> {
        Ok(cpu_sequential(&self.last.read()?))
    }
}
