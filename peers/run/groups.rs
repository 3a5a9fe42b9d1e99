//! Times one sum of all GPUs of this computer by everybody, in turn, and writes a record of it.
//!
//! A time is that between two events of the first GPU: all GPUs start after the first event, and the second is recorded when the sum is
//! ready. The first GPU is kept busy until everything is queued, so that no time has the host's work in it; for how long differs from launch
//! to launch, because a GPU that waits for an event of another looks for it only every few microseconds. Every sum is compared with the CPU's,
//! before the timing and after it. What a launch finds in the L2 cache is what the one before has left.
//!
//! Sums are timed alone, and [`ROUNDS`] of them in a row, on a stream of each GPU: then all streams wait for the first event, the second
//! waits for all of them, and a time is that of a sum in the row.

use crate::clock::HOLD;
use crate::error::PeersError;
use crate::groups_record::{
    AS_GRAPH, FIXED, GroupPoint, GroupTime, GroupsRecord, InARow, NCCL, QUEUED,
};
use crate::machine;
use rayon::prelude::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use warpfold::device::{
    Argument, Buffer, DeviceChoice, DeviceError, Event, ExecutableGraph, Kernel, Shape, Slice,
    Stream, Times,
};
use warpfold::operator::Sum;
use warpfold::sum::Mode;
use warpfold::{Group, GroupReduction, Reduction};

/// How long the first GPU is kept busy at least while the host queues a sum: NCCL takes the host longest.
const HOLD_NANOSECONDS: u64 = 200_000;

/// Sums in a row.
const ROUNDS: usize = 20;

/// Launches before those that are timed, so that the GPUs' clocks are up.
const WARM_UP: usize = 50;

/// What to measure.
#[derive(clap::Args)]
pub struct Options {
    /// Numbers of values in all: 2 to the powers of these. Each GPU has the same share.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "10,12,14,16,18,20,22,24,26,28,30,31"
    )]
    bits: Vec<u32>,
    /// Timed launches of each contender.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// What peers/group.cu was compiled to.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Where the record goes.
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
}

/// Measures and writes.
///
/// # Errors
/// There are not two GPUs, one fails, a sum is wrong, or the record cannot be written.
pub fn run(options: &Options) -> Result<(), PeersError> {
    let version = warpfold_driver::available().map_err(PeersError::NoGpu)?;
    let count = warpfold::device::list()?.gpus.len();
    let choices: Vec<DeviceChoice> = (0..count as u32).map(DeviceChoice::Gpu).collect();
    let group = Group::open(&choices)?;
    if count < 2 || !group.has_peer_access() {
        return Err(DeviceError::Refused(
            "groups are timed on two GPUs or more that reach each other's memory".to_owned(),
        )
        .into());
    }
    let most = options.bits.iter().max().map_or(0, |bits| 1_usize << bits) / count;
    let values = Values::new(&group, most)?;
    let mut record = GroupsRecord {
        date: machine::date(),
        devices: group.devices().iter().map(|it| it.describe()).collect(),
        driver: machine::driver(&version.to_string()),
        compilers: Vec::new(),
        points: Vec::new(),
        left_out: Vec::new(),
    };
    let library = match options
        .library
        .as_deref()
        .map(|path| Library::open(path, count, most))
    {
        Some(Ok(library)) => {
            record.compilers.push(library.compiler());
            Some(library)
        }
        Some(Err(error)) => {
            record.left_out.push(format!("{NCCL}: {}", error.reason()));
            None
        }
        None => {
            record
                .left_out
                .push(format!("{NCCL}: it takes nvcc to build"));
            None
        }
    };
    let clock = Clock::new(&group)?;
    for &bits in &options.bits {
        let point = measure(
            &group,
            &clock,
            &values,
            library.as_ref(),
            (1 << bits) / count,
            options.repeat,
        )?;
        println!("{}", line(&point));
        record.points.push(point);
        // After each, so that a run that is cut short keeps what it has measured.
        machine::write(&options.json, &record)?;
    }
    for left_out in &record.left_out {
        println!("left out: {left_out}");
    }
    Ok(())
}

/// What was measured, in two lines; times in microseconds.
fn line(point: &GroupPoint) -> String {
    let of = |alone_ms: &[f64], times: &[GroupTime]| {
        let alone = alone_ms.iter().map(|ms| format!("{:.2}", ms * 1e3));
        let times = times.iter().map(|time| {
            format!(
                "{} {:.2} (fastest {:.2})",
                time.name,
                time.median_ms * 1e3,
                time.fastest_ms * 1e3
            )
        });
        let (alone, times): (Vec<String>, Vec<String>) = (alone.collect(), times.collect());
        format!("each alone {}; {}", alone.join(" and "), times.join("; "))
    };
    let row = &point.in_a_row;
    format!(
        "n = {}: {}\n  {} in a row: {}",
        point.n,
        of(&point.alone_ms, &point.times),
        row.rounds,
        of(&row.alone_ms, &row.times)
    )
}

/// The same values on each GPU, of which a sum takes the first.
struct Values {
    host: Vec<f32>,
    devices: Vec<Buffer<f32>>,
}

impl Values {
    /// Small random whole numbers around 0, whose sums do not round.
    fn new(group: &Group, n: usize) -> Result<Self, PeersError> {
        let value = |place: usize| ((place as u32).wrapping_mul(2_654_435_761) >> 8) % 31;
        let host: Vec<f32> = (0..n)
            .into_par_iter()
            .map(|place| value(place) as f32 - 15.0)
            .collect();
        let devices = group.devices().iter().map(|device| device.upload(&host));
        let devices = devices.collect::<Result<_, _>>()?;
        Ok(Self { host, devices })
    }

    /// The parts of a sum, and what it is.
    fn parts(&self, each: usize) -> (Vec<Slice<'_, f32>>, f32) {
        let parts = self.devices.iter().map(|buffer| buffer.slice(..each));
        let sum: i64 = self.host[..each]
            .par_iter()
            .map(|&value| value as i64)
            .sum();
        (parts.collect(), (sum * self.devices.len() as i64) as f32)
    }
}

/// Two events of the first GPU, and a stream of each.
struct Clock {
    streams: Vec<Stream>,
    start: Event,
    end: Event,
    hold: Kernel,
}

impl Clock {
    fn new(group: &Group) -> Result<Self, PeersError> {
        let first = &group.devices()[0];
        let streams = group.devices().iter().map(|device| device.stream());
        Ok(Self {
            streams: streams.collect::<Result<_, _>>()?,
            start: first.event()?,
            end: first.event()?,
            hold: first.load(HOLD)?.kernel("hold")?,
        })
    }

    /// Milliseconds for each of `rounds` sums, between two events of the first GPU's stream, in the launch with this number.
    fn elapsed_ms(
        &self,
        rounds: usize,
        launch: usize,
        queue: &mut dyn FnMut(&[Stream]) -> Result<(), PeersError>,
    ) -> Result<f64, PeersError> {
        let first = &self.streams[0];
        hold(first, &self.hold, rounds, launch)?;
        first.record(&self.start)?;
        queue(&self.streams)?;
        first.record(&self.end)?;
        self.end.synchronize()?;
        Ok(self.end.elapsed_ms_since(&self.start)? / rounds as f64)
    }
}

/// Keeps a GPU busy until `rounds` sums are queued, and up to 100 µs longer.
fn hold(stream: &Stream, kernel: &Kernel, rounds: usize, launch: usize) -> Result<(), DeviceError> {
    let longer = launch as u64 * 61_803 % 100_000;
    let nanoseconds = [Argument::from(HOLD_NANOSECONDS * rounds as u64 + longer)];
    // SAFETY: the kernel touches no memory.
    unsafe { stream.launch(kernel, &Shape::linear(1, 1), &nanoseconds) }
}

/// The median milliseconds of each of `rounds` sums in a row, by each GPU of its own part.
fn each_alone(
    group: &Group,
    parts: &[Slice<'_, f32>],
    rounds: usize,
    repeat: u32,
) -> Result<Vec<f64>, PeersError> {
    let pairs = group.devices().iter().zip(parts);
    let medians = pairs.map(|(device, part)| {
        let mut reduction = Reduction::<f32, Sum>::new(device, Sum)?;
        let mut result: Buffer<f32> = device.allocate(1)?;
        let stream = device.stream()?;
        let [start, end] = [device.event()?, device.event()?];
        let kernel = device.load(HOLD)?.kernel("hold")?;
        let mut elapsed_ms = Vec::new();
        for launch in 0..WARM_UP + repeat as usize {
            hold(&stream, &kernel, rounds, launch)?;
            stream.record(&start)?;
            for _ in 0..rounds {
                reduction.queue(&stream, *part, &mut result)?;
            }
            stream.record(&end)?;
            end.synchronize()?;
            elapsed_ms.push(end.elapsed_ms_since(&start)? / rounds as f64);
        }
        let elapsed_ms = elapsed_ms.split_off(WARM_UP);
        Ok(Times { elapsed_ms }.median_ms())
    });
    medians.collect()
}

/// What queues a sum, on streams of all GPUs.
type Queue<'a> = Box<dyn FnMut(&[Stream]) -> Result<(), PeersError> + 'a>;

/// Somebody's sum, ready to be queued again and again, and what it has found.
struct Contender<'a> {
    name: &'static str,
    queue: Queue<'a>,
    sum: Box<dyn FnMut() -> Result<f32, PeersError> + 'a>,
    elapsed_ms: Vec<f64>,
}

fn measure(
    group: &Group,
    clock: &Clock,
    values: &Values,
    library: Option<&Library>,
    each: usize,
    repeat: u32,
) -> Result<GroupPoint, PeersError> {
    let (parts, expected) = values.parts(each);
    let n = each * parts.len();
    let mut all = vec![
        ours(group, QUEUED, &parts, Mode::Fast)?,
        ours(group, FIXED, &parts, Mode::Deterministic)?,
        as_graph(group, clock, &parts)?,
    ];
    let mut in_a_row = vec![ours_in_a_row(group, &parts)?];
    if let Some(library) = library {
        all.push(library.contender(&parts, 1));
        in_a_row.push(library.contender(&parts, ROUNDS));
    }
    Ok(GroupPoint {
        n,
        alone_ms: each_alone(group, &parts, 1, repeat)?,
        times: times_of(clock, all, 1, (n, expected), repeat)?,
        in_a_row: InARow {
            rounds: ROUNDS,
            alone_ms: each_alone(group, &parts, ROUNDS, repeat)?,
            times: times_of(clock, in_a_row, ROUNDS, (n, expected), repeat)?,
        },
    })
}

/// The times of contenders, in turn, for each of `rounds` sums in a row.
fn times_of(
    clock: &Clock,
    mut all: Vec<Contender<'_>>,
    rounds: usize,
    (n, expected): (usize, f32),
    repeat: u32,
) -> Result<Vec<GroupTime>, PeersError> {
    let check = |one: &mut Contender<'_>| -> Result<(), PeersError> {
        clock.elapsed_ms(rounds, 0, &mut one.queue)?;
        let found = (one.sum)()?;
        if found == expected {
            return Ok(());
        }
        Err(PeersError::Contender {
            name: one.name.to_owned(),
            n,
            message: format!("its sum is {found} and should be {expected}"),
        })
    };
    all.iter_mut().try_for_each(check)?;
    for launch in 0..WARM_UP + repeat as usize {
        for one in &mut all {
            let elapsed_ms = clock.elapsed_ms(rounds, launch, &mut one.queue)?;
            one.elapsed_ms.push(elapsed_ms);
        }
    }
    all.iter_mut().try_for_each(check)?;
    let times = all.into_iter().map(|mut one| {
        let times = Times {
            elapsed_ms: one.elapsed_ms.split_off(WARM_UP),
        };
        GroupTime {
            name: one.name.to_owned(),
            launches: times.elapsed_ms.len(),
            median_ms: times.median_ms(),
            fastest_ms: times.fastest_ms(),
        }
    });
    Ok(times.collect())
}

/// All streams wait for the first one.
fn fork(streams: &[Stream]) -> Result<(), DeviceError> {
    let mut others = streams[1..].iter();
    others.try_for_each(|other| other.follow(&streams[0]))
}

/// The first stream waits for all.
fn join(streams: &[Stream]) -> Result<(), DeviceError> {
    let mut others = streams[1..].iter();
    others.try_for_each(|other| streams[0].follow(other))
}

/// What the queue and the reading of the result share.
type Kept<'a> = std::rc::Rc<std::cell::RefCell<(GroupReduction<'a, f32, Sum>, Buffer<f32>)>>;

fn prepared<'a>(
    group: &'a Group,
    parts: &[Slice<'a, f32>],
    mode: Mode,
) -> Result<Kept<'a>, PeersError> {
    let mut reduction = GroupReduction::new(group, Sum)?.with_mode(mode);
    let lengths: Vec<usize> = parts.iter().map(Slice::len).collect();
    reduction.prepare(&lengths)?;
    let result = group.devices()[0].upload(&[f32::NAN])?;
    Ok(std::rc::Rc::new((reduction, result).into()))
}

/// Our own, queued.
fn ours<'a>(
    group: &'a Group,
    name: &'static str,
    parts: &[Slice<'a, f32>],
    mode: Mode,
) -> Result<Contender<'a>, PeersError> {
    let kept = prepared(group, parts, mode)?;
    let (queued, parts) = (kept.clone(), parts.to_vec());
    Ok(Contender {
        name,
        queue: Box::new(move |streams| {
            let (reduction, result) = &mut *queued.borrow_mut();
            Ok(reduction.queue(&streams[0], &parts, result)?)
        }),
        sum: Box::new(move || Ok(kept.borrow().1.read()?[0])),
        elapsed_ms: Vec::new(),
    })
}

/// Our own, on a stream of each GPU, again and again.
fn ours_in_a_row<'a>(
    group: &'a Group,
    parts: &[Slice<'a, f32>],
) -> Result<Contender<'a>, PeersError> {
    let kept = prepared(group, parts, Mode::Fast)?;
    let (queued, parts) = (kept.clone(), parts.to_vec());
    Ok(Contender {
        name: QUEUED,
        queue: Box::new(move |streams| {
            let (reduction, result) = &mut *queued.borrow_mut();
            let each: Vec<&Stream> = streams.iter().collect();
            fork(streams)?;
            for _ in 0..ROUNDS {
                reduction.queue_on(&each, &parts, result)?;
            }
            Ok(join(streams)?)
        }),
        sum: Box::new(move || Ok(kept.borrow().1.read()?[0])),
        elapsed_ms: Vec::new(),
    })
}

/// Our own, as a graph.
fn as_graph<'a>(
    group: &'a Group,
    clock: &Clock,
    parts: &[Slice<'a, f32>],
) -> Result<Contender<'a>, PeersError> {
    let kept = prepared(group, parts, Mode::Fast)?;
    let mut outcome = Ok(());
    let graph = clock.streams[0].capture(|stream| {
        let (reduction, result) = &mut *kept.borrow_mut();
        outcome = reduction.queue(stream, parts, result);
        Ok(())
    });
    outcome?;
    let graph: ExecutableGraph = graph?.instantiate()?;
    let reads = kept.clone();
    Ok(Contender {
        name: AS_GRAPH,
        queue: Box::new(move |streams| {
            // What was captured keeps the memory that the graph works on.
            let _kept = &kept;
            // SAFETY: what was captured could be launched.
            Ok(unsafe { graph.launch(&streams[0]) }?)
        }),
        sum: Box::new(move || Ok(reads.borrow().1.read()?[0])),
        elapsed_ms: Vec::new(),
    })
}

type Message = *const c_char;

/// `peers/group.cu`, which says what the functions do.
struct Library {
    compiler: unsafe extern "C" fn() -> Message,
    queue: unsafe extern "C" fn(*const u64, *const usize, *const *mut c_void) -> Message,
    sum: unsafe extern "C" fn(c_int, *mut f32) -> Message,
    close: unsafe extern "C" fn() -> Message,
    // After the functions, which are good as long as it is open.
    _library: libloading::Library,
}

impl Library {
    fn open(path: &Path, count: usize, most: usize) -> Result<Self, PeersError> {
        // SAFETY: what is run on loading is the CUDA runtime's and NCCL's; each symbol has the signature that `group.cu` gives it.
        let opened = unsafe {
            libloading::Library::new(path).and_then(|library| {
                let open: unsafe extern "C" fn(c_int, usize) -> Message =
                    *library.get(c"group_open")?;
                let opened = Self {
                    compiler: *library.get(c"group_compiler")?,
                    queue: *library.get(c"group_queue")?,
                    sum: *library.get(c"group_sum")?,
                    close: *library.get(c"group_close")?,
                    _library: library,
                };
                Ok((opened, open(count as c_int, most)))
            })
        };
        let (opened, message) = opened.map_err(|source| PeersError::Library {
            path: path.to_owned(),
            source,
        })?;
        answer(message, 0)?;
        Ok(opened)
    }

    fn compiler(&self) -> String {
        // SAFETY: it takes nothing, and answers with a text.
        unsafe { CStr::from_ptr((self.compiler)()) }
            .to_string_lossy()
            .into_owned()
    }

    /// `rounds` sums in a row. Where it is one alone, the first GPU has it when its own stream has come to the end, as the others have.
    fn contender<'a>(&'a self, parts: &[Slice<'a, f32>], rounds: usize) -> Contender<'a> {
        let addresses: Vec<u64> = parts.iter().map(Slice::address).collect();
        let lengths: Vec<usize> = parts.iter().map(Slice::len).collect();
        let n = lengths.iter().sum();
        let devices = parts.len() as c_int;
        Contender {
            name: NCCL,
            queue: Box::new(move |streams| {
                let raw = streams.iter().map(Stream::raw);
                let raw: Vec<*mut c_void> = raw.collect::<Result<_, _>>()?;
                fork(streams)?;
                for _ in 0..rounds {
                    // SAFETY: there are a part, a length and a stream for each GPU.
                    let message =
                        unsafe { (self.queue)(addresses.as_ptr(), lengths.as_ptr(), raw.as_ptr()) };
                    answer(message, n)?;
                }
                if rounds > 1 {
                    join(streams)?;
                }
                Ok(())
            }),
            sum: Box::new(move || {
                let mut sums = Vec::new();
                for device in 0..devices {
                    let mut sum = 0.0;
                    // SAFETY: there are as many GPUs, and the sum may be written.
                    answer(unsafe { (self.sum)(device, &raw mut sum) }, n)?;
                    sums.push(sum);
                }
                let is_same = sums.iter().all(|sum| *sum == sums[0]);
                Ok(if is_same { sums[0] } else { f32::NAN })
            }),
            elapsed_ms: Vec::new(),
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: nothing is queued any more that uses its memory: its answer would change nothing.
        let _ = unsafe { (self.close)() };
    }
}

/// An error, if there is a message.
fn answer(message: Message, n: usize) -> Result<(), PeersError> {
    if message.is_null() {
        return Ok(());
    }
    Err(PeersError::Contender {
        name: NCCL.to_owned(),
        n,
        // SAFETY: every message is a text that lives until the next call.
        message: unsafe { CStr::from_ptr(message) }
            .to_string_lossy()
            .into_owned(),
    })
}
