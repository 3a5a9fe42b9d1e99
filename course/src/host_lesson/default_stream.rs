//! **The default stream**: one launch that keeps all others waiting.
//!
//! Before: kernels on different streams run side by side, if each leaves room for the others.
//!
//! Idea: a launch that names no stream goes to the default stream, which all threads of a process share. It starts when everything that was
//! queued before on other streams has ended, and what is queued on them afterwards waits for it. One such launch between two others makes
//! three that run one after the other, and nobody has asked for that: the classic trap. There are two ways out. Non-blocking streams have
//! no order with the default stream. And a host thread can use a default stream of its own (`nvcc --default-stream per-thread`), which waits
//! for no other.
//!
//! The kernel is step 10 in so few blocks that three launches have room beside one another.

use super::stopwatch::speed_up;
use super::sum::{Input, LadderKernel};
use super::timeline::{Kind, Lane, Span, Timeline, one_after_another, picture};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{ptr, thread};
use warpfold::device::{Buffer, Device, DeviceChoice, DeviceError, Event, Stream};
use warpfold::ptx::PtxSet;

pub(super) const LESSON: HostLesson = HostLesson {
    id: "default_stream",
    alias: None,
    title: "one launch that keeps all others waiting",
    change: "a launch on the default stream waits for every other stream and holds it up, unless the streams are non-blocking or each \
             thread has a default stream of its own",
    needs: &["streams", "vectorized"],
    file: "course/src/host_lesson/default_stream.rs",
    usual_n: |_| 1 << 26,
    see: "What to see: between two ordinary streams, a launch on the default stream makes three kernels run one after the other; beside \
          non-blocking streams, or on the thread's own default stream, all three run at once, in the time of one. So it is with three \
          threads: on the default stream that they share they take turns, on their own they do not.",
    not_shown: "Not shown here: times and the timeline, since the emulator's streams run every operation at once; the streams, the threads \
                and the sums are those of a GPU.",
    has_picture: true,
    needs_group: false,
    run,
};

/// The part of the multiprocessors whose blocks one launch has.
const PART: u32 = 32;

/// A stream of some kind.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Ordinary,
    NonBlocking,
    Default,
    OfThread,
}

/// Where three launches go.
#[derive(Clone, Copy)]
enum Way {
    /// One thread launches on three streams.
    Streams([Place; 3]),
    /// Each of three threads launches on a stream.
    Threads(Place),
}

const WAYS: [(&str, Way); 5] = {
    use Place::{Default, NonBlocking, OfThread, Ordinary};
    [
        (
            "default stream, between two others",
            Way::Streams([Ordinary, Default, Ordinary]),
        ),
        (
            "default stream, between two non-blocking",
            Way::Streams([NonBlocking, Default, NonBlocking]),
        ),
        (
            "thread's default stream, between two others",
            Way::Streams([Ordinary, OfThread, Ordinary]),
        ),
        ("three threads, default stream", Way::Threads(Default)),
        (
            "three threads, each its own default stream",
            Way::Threads(OfThread),
        ),
    ]
};

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let n = values.len();
    let device = setting.device;
    let kernel = part_kernel(setting)?;
    let input = device.upload(&values)?;
    let mut report = Report::new(&[
        ("launches", "three launches"),
        ("at_once", "kernels\nat once"),
        ("elapsed_ms", "ms"),
        ("ratio", "against\nthe trap"),
        ("right", "sums"),
    ]);
    report.fact(format!(
        "{}, in {} blocks · from the first start to the last end",
        kernel.describe(),
        kernel.blocks(n)
    ));
    let mut trap_ms = None;
    for (title, way) in WAYS {
        let Outcome { runs, is_right } = match way {
            Way::Streams(places) => of_streams(setting, &kernel, &input, &values, places)?,
            Way::Threads(place) => of_threads(setting, &values, place)?,
        };
        let timelines = runs.into_iter().map(|spans| way.timeline(title, spans));
        let timeline = Timeline::median(timelines.collect());
        let elapsed_ms = timeline.as_ref().map(Timeline::elapsed_ms);
        trap_ms = trap_ms.or(elapsed_ms);
        let at_once = timeline.as_ref().map(|timeline| timeline.at_once() as u64);
        report.row([
            title.into(),
            Cell::GpuCount(at_once),
            Cell::Milliseconds(elapsed_ms),
            Cell::Ratio(speed_up(trap_ms, elapsed_ms)),
            Cell::Right(Some(is_right)),
        ]);
        report.timelines.extend(timeline);
    }
    if device.is_gpu() {
        let picture = picture(
            "Three launches, and the default stream",
            &format!("{} · {}", device.describe(), kernel.describe()),
            &report.timelines,
        );
        report.picture = Some(picture.map_err(HostLessonError::Picture)?);
    }
    Ok(report)
}

/// What came of one way.
struct Outcome {
    /// When the three kernels ran; on a GPU, for each time that they did.
    runs: Vec<[Span; 3]>,
    is_right: bool,
}

impl Place {
    fn stream(self, device: &Device) -> Result<Stream, DeviceError> {
        match self {
            Self::Ordinary => device.stream(),
            Self::NonBlocking => device.non_blocking_stream(),
            Self::Default => Ok(device.default_stream()),
            Self::OfThread => Ok(device.thread_stream()),
        }
    }

    fn name(self, index: usize) -> String {
        match self {
            Self::Ordinary => format!("stream {}", index + 1),
            Self::NonBlocking => format!("non-blocking {}", index + 1),
            Self::Default => "default stream".to_owned(),
            Self::OfThread => "thread's default".to_owned(),
        }
    }
}

impl Way {
    fn timeline(self, title: &str, mut spans: [Span; 3]) -> Timeline {
        if let Self::Threads(Place::Default) = self {
            // They share a stream, and each may have recorded its start before another's kernel was queued.
            one_after_another(&mut spans);
        }
        let lanes = spans.into_iter().enumerate().map(|(index, span)| Lane {
            name: match self {
                Self::Streams(places) => places[index].name(index),
                Self::Threads(_) => format!("thread {}", index + 1),
            },
            spans: vec![span],
        });
        Timeline::new(title, lanes.collect())
    }
}

/// A kernel in so few blocks that others have room beside it.
fn part_kernel<'a>(setting: &Setting<'a>) -> Result<LadderKernel<'a>, HostLessonError> {
    let multiprocessors = setting.device.multiprocessors().div_ceil(PART);
    LadderKernel::on_part(setting, multiprocessors)
}

/// A launch between two events.
struct Launch {
    stream: Stream,
    start: Event,
    end: Event,
    partials: Buffer<i32>,
}

impl Launch {
    fn new(
        device: &Device,
        kernel: &LadderKernel<'_>,
        place: Place,
        n: usize,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            stream: place.stream(device)?,
            start: device.event()?,
            end: device.event()?,
            partials: kernel.partials(n)?,
        })
    }

    fn queue(&self, kernel: &LadderKernel<'_>, input: &Buffer<i32>) -> Result<(), DeviceError> {
        self.stream.record(&self.start)?;
        kernel.queue(&self.stream, &Input::of(input), &self.partials)?;
        self.stream.record(&self.end)
    }

    /// When its kernel ran, which has ended.
    fn span(&self, origin: &Event) -> Result<Span, DeviceError> {
        Span::between(Kind::Kernel, &self.start, &self.end, origin)
    }

    fn is_right(&self, expected: i32) -> Result<bool, DeviceError> {
        Ok(cpu_sequential(&self.partials.read()?) == expected)
    }
}

/// The launches of one thread on three streams.
fn of_streams(
    setting: &Setting<'_>,
    kernel: &LadderKernel<'_>,
    input: &Buffer<i32>,
    values: &[i32],
    places: [Place; 3],
) -> Result<Outcome, HostLessonError> {
    let device = setting.device;
    let origin = device.event()?;
    let launches = places
        .into_iter()
        .map(|place| Launch::new(device, kernel, place, values.len()))
        .collect::<Result<Vec<_>, _>>()?;
    let [first, second, third] = &launches[..] else {
        unreachable!("there are three places");
    };
    let mut runs = Vec::new();
    // The first of all runs is not timed.
    for run in 0..=timed_runs(setting) {
        first.stream.record(&origin)?;
        for launch in &launches {
            launch.queue(kernel, input)?;
        }
        for launch in &launches {
            launch.end.synchronize()?;
        }
        if run > 0 {
            runs.push([
                first.span(&origin)?,
                second.span(&origin)?,
                third.span(&origin)?,
            ]);
        }
    }
    let mut is_right = true;
    let expected = cpu_parallel(values);
    for launch in &launches {
        is_right &= launch.is_right(expected)?;
    }
    Ok(Outcome { runs, is_right })
}

/// How often the launches are timed: on a GPU.
fn timed_runs(setting: &Setting<'_>) -> usize {
    if setting.device.is_gpu() {
        setting.repeat.max(1)
    } else {
        0
    }
}

/// What a thread needs to open the device for itself, as each has to.
struct Opening {
    choice: DeviceChoice,
    ptx: PtxSet,
    /// The address of the event that all times are counted from; there are none on the emulator.
    origin: Option<usize>,
}

/// The launches of three threads. For each, all are told to begin, and each tells when its kernel ran.
fn of_threads(
    setting: &Setting<'_>,
    values: &[i32],
    place: Place,
) -> Result<Outcome, HostLessonError> {
    let device = setting.device;
    let origin = device.event()?;
    let clock = device.non_blocking_stream()?;
    let gpu = device.gpu_information();
    let opening = Opening {
        choice: gpu.map_or(DeviceChoice::Emulator, |gpu| DeviceChoice::Gpu(gpu.index)),
        ptx: device.ptx_set(),
        origin: match gpu {
            Some(_) => Some(origin.raw()?.expose_provenance()),
            None => None,
        },
    };
    let (opening, setting) = (
        &opening,
        (setting.repeat, setting.seed, timed_runs(setting)),
    );
    let (repeat, seed, timed_runs) = setting;
    thread::scope(|scope| {
        let mut hosts = Vec::new();
        for _ in 0..3 {
            let (begin, begins) = channel();
            let (tell, told) = channel();
            let thread = scope.spawn(move || {
                let device = Device::open(&opening.choice)?.with_ptx(opening.ptx.clone());
                let setting = Setting {
                    device: &device,
                    group: None,
                    n: Some(values.len()),
                    repeat,
                    seed,
                };
                host(&setting, values, place, opening.origin, &begins, &tell)
            });
            hosts.push((begin, told, thread));
        }
        let mut runs = Vec::new();
        let mut queued = Ok(());
        for run in 0..=timed_runs {
            queued = clock.record(&origin).and_then(|()| clock.synchronize());
            if queued.is_err() {
                break;
            }
            for (begin, ..) in &hosts {
                // A thread that is gone has failed, and tells why when it is joined.
                let _ = begin.send(());
            }
            let told: Vec<_> = hosts
                .iter()
                .filter_map(|(_, told, _)| told.recv().ok())
                .collect();
            if let ([Some(first), Some(second), Some(third)], true) = (&told[..], run > 0) {
                runs.push([*first, *second, *third]);
            } else if told.len() < hosts.len() {
                break;
            }
        }
        let mut is_right = true;
        for (begin, told, thread) in hosts {
            // Nothing more begins.
            drop((begin, told));
            let ended = thread.join();
            is_right &= ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        queued?;
        Ok(Outcome { runs, is_right })
    })
}

/// One thread: a launch for each time that it is told to begin. Returns whether the sum is right.
fn host(
    setting: &Setting<'_>,
    values: &[i32],
    place: Place,
    origin: Option<usize>,
    begins: &Receiver<()>,
    tell: &Sender<Option<Span>>,
) -> Result<bool, HostLessonError> {
    let device = setting.device;
    let kernel = part_kernel(setting)?;
    let input = device.upload(values)?;
    let launch = Launch::new(device, &kernel, place, values.len())?;
    let origin = origin.map(|address| {
        // SAFETY: the event is of the same GPU, in no capture, and outlives the scope of this thread.
        unsafe { Event::from_raw(device, ptr::with_exposed_provenance_mut(address)) }
    });
    let origin = origin.transpose()?;
    for () in begins {
        launch.queue(&kernel, &input)?;
        launch.end.synchronize()?;
        let span = origin.as_ref().map(|origin| launch.span(origin));
        if tell.send(span.transpose()?).is_err() {
            break;
        }
    }
    Ok(launch.is_right(cpu_parallel(values))?)
}
