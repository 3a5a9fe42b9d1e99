//! **Graph**: a repeated small reduction as launches, as an explicit graph, and as a captured graph.
//!
//! Before: a small kernel ends sooner than the host queues the next one; the GPU waits for the host.
//!
//! Idea: describe the work once and launch the description. A graph is built node by node, each with what it depends on, or captured from a
//! stream as if it ran. The driver then queues all of it with one call.

use super::stopwatch::Stopwatch;
use super::sum::{Cascade, Input, LadderKernel};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::cpu_parallel;
use warpfold::device::Stream;

pub(super) const LESSON: HostLesson = HostLesson {
    id: "graph",
    alias: None,
    title: "work described once, launched as a whole",
    change: "a graph hands many small launches to the driver in one call, which takes the host out of the way",
    needs: &["events", "shuffle"],
    file: "course/src/host_lesson/graph.rs",
    usual_n: |_| 1 << 16,
    see: "What to see: the host queues a graph in a fraction of the time of its launches one by one, and the GPU, which no longer waits for \
          the host, finishes sooner; built and captured graphs run alike.",
    not_shown: "Not shown here: times, since the emulator runs a graph as it runs its launches; both kinds of graph and their sums are those \
                of a GPU.",
    has_picture: false,
    needs_group: false,
    run,
};

/// Reductions that a graph holds, one after the other.
const REDUCTIONS: usize = 20;

/// How the work reaches the driver.
#[derive(Clone, Copy)]
enum Form {
    Launches,
    Built,
    Captured,
}

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let expected = cpu_parallel(&values);
    let kernel = LadderKernel::fast(setting)?;
    let stream = setting.device.stream()?;
    let stopwatch = Stopwatch::new(setting)?;
    let buffer = setting.device.upload(&values)?;
    let input = Input::of(&buffer);
    let mut report = Report::new(&[
        ("form", "form"),
        ("calls", "calls of\nthe driver"),
        ("ready_in_ms", "made ready in\nms"),
        ("queued_us", "queued in\nµs a reduction"),
        ("elapsed_us", "done in\nµs a reduction"),
        ("right", "sums"),
    ]);
    for (name, form) in [
        ("launches", Form::Launches),
        ("graph, built", Form::Built),
        ("graph, captured", Form::Captured),
    ] {
        // Each form has its own room for sums, and cannot pass for right by those of another.
        let reductions = (0..REDUCTIONS)
            .map(|_| Cascade::new(&kernel, values.len()))
            .collect::<Result<Vec<_>, _>>()?;
        let launches: usize = reductions.iter().map(Cascade::launches).sum();
        if report.facts.is_empty() {
            report.fact(format!(
                "{} · {REDUCTIONS} reductions of {} launches, one after the other",
                kernel.describe(),
                launches / REDUCTIONS
            ));
        }
        let queue = |stream: &Stream| {
            reductions
                .iter()
                .try_for_each(|reduction| reduction.queue(&kernel, stream, &input))
        };
        let (graph, ready_in_ms) = match form {
            Form::Launches => (None, None),
            Form::Built => stopwatch.once_ms(|| {
                let mut graph = setting.device.graph()?;
                let mut last = None;
                for reduction in &reductions {
                    last = reduction.add_to(&mut graph, &kernel, &input, last)?;
                }
                graph.instantiate().map(Some)
            })?,
            Form::Captured => {
                stopwatch.once_ms(|| stream.capture(queue)?.instantiate().map(Some))?
            }
        };
        let work = || match &graph {
            None => queue(&stream),
            // SAFETY: the graph's kernels keep to buffers that are as long as the launches say, and that outlive the graph.
            Some(graph) => unsafe { graph.launch(&stream) },
        };
        let queued_ms = stopwatch.host_ms(|| stream.synchronize(), work)?;
        let done_ms = stopwatch.device_ms(&stream, || Ok(()), work)?;
        let mut right = true;
        for reduction in &reductions {
            right &= reduction.read()? == expected;
        }
        let of_one =
            |ms: Option<f64>| Cell::Microseconds(ms.map(|ms| ms * 1e3 / REDUCTIONS as f64));
        report.row([
            name.into(),
            Cell::Count(if graph.is_some() { 1 } else { launches as u64 }),
            Cell::Milliseconds(ready_in_ms),
            of_one(queued_ms),
            of_one(done_ms),
            Cell::Right(Some(right)),
        ]);
    }
    Ok(report)
}
