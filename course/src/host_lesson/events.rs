//! **Events**: what a clock on the host sees of a kernel, and what the device's own clock sees.
//!
//! Before: a launch returns at once; the kernel runs when the stream comes to it.
//!
//! Idea: a clock around the launch alone times the queueing. A clock around launch and wait times the kernel and the way to the GPU and back.
//! Two events on the device time the kernel; with many launches between them they show what each further launch costs.

use super::stopwatch::Stopwatch;
use super::sum::{Input, LadderKernel};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "events",
    alias: None,
    title: "the device's clock and the host's",
    change: "a launch returns before its kernel has run, so that only events, or a clock that waits, time the kernel",
    needs: &["shuffle"],
    file: "course/src/host_lesson/events.rs",
    usual_n: |_| 1 << 24,
    see: "What to see: the host's clock without a wait knows nothing of the kernel, and with one it adds the way to the GPU and back; \
          the more launches share that way, the closer the two clocks come.",
    not_shown: "Not shown here: times, since the emulator has run a launch when the call returns, and its speed says nothing about a GPU's; \
                the sums are those that a GPU gives.",
    has_picture: false,
    needs_group: false,
    run,
};

/// Launches that share one measurement.
const MANY: usize = 100;

/// What takes a time.
#[derive(Clone, Copy)]
enum Clock {
    /// Two events on the device, in the stream.
    Device,
    /// The host's clock, until the last launch is queued.
    HostQueueing,
    /// The host's clock, until the last launch has ended.
    HostWaiting,
}

/// The rows of the table: clock, in words, launches.
const ROWS: [(Clock, &str, usize); 6] = [
    (Clock::HostQueueing, "host: around the launch", 1),
    (Clock::HostWaiting, "host: around launch and wait", 1),
    (Clock::Device, "device: between two events", 1),
    (Clock::HostQueueing, "host: around the launches", MANY),
    (Clock::HostWaiting, "host: around launches and wait", MANY),
    (Clock::Device, "device: between two events", MANY),
];

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let expected = cpu_parallel(&values);
    let kernel = LadderKernel::fast(setting)?;
    let stream = setting.device.stream()?;
    let stopwatch = Stopwatch::new(setting)?;
    let buffer = setting.device.upload(&values)?;
    let mut report = Report::new(&[
        ("clock", "clock"),
        ("launches", "launches"),
        ("us_per_launch", "µs a launch"),
        ("right", "sum"),
    ]);
    report.fact(kernel.describe());
    for (clock, words, launches) in ROWS {
        let partials = kernel.partials(values.len())?;
        let launch = || {
            (0..launches).try_for_each(|_| kernel.queue(&stream, &Input::of(&buffer), &partials))
        };
        let elapsed_ms = match clock {
            Clock::Device => stopwatch.device_ms(&stream, || Ok(()), launch),
            Clock::HostQueueing => stopwatch.host_ms(|| stream.synchronize(), launch),
            Clock::HostWaiting => stopwatch.host_ms(
                || stream.synchronize(),
                || {
                    launch()?;
                    stream.synchronize()
                },
            ),
        }?;
        report.row([
            words.into(),
            Cell::Count(launches as u64),
            Cell::Microseconds(elapsed_ms.map(|elapsed_ms| elapsed_ms * 1e3 / launches as f64)),
            Cell::Right(Some(cpu_sequential(&partials.read()?) == expected)),
        ]);
    }
    Ok(report)
}
