//! **Peer atomics**: several GPUs count in one word of the first.
//!
//! Before: blocks of one GPU add to one total by atomics, which its L2 cache carries out.
//!
//! Idea: an atomic on another GPU's memory crosses the link, in one request or more for each instruction of a warp. NVLink carries atomics out where
//! the memory is; PCIe need not. The scope matters as well: an atomic of `.gpu` scope (CUDA's `atomicAdd`) is one for the threads of its own GPU only, so
//! that two GPUs need `.sys` scope (`atomicAdd_system`). If each GPU first counts at home, only one atomic of each crosses the link.
//!
//! Source: PTX ISA, "Memory Consistency Model", "Scope".

use super::stopwatch::{Stopwatch, speed_up};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use std::cell::RefCell;
use warpfold::Group;
use warpfold::device::{
    Argument, Buffer, DeviceChoice, DeviceError, Kernel, Order, PeerTraffic, Shape, Stream, peer,
};
use warpfold_emulator::Tool;

/// `each_gpu`, `each_sys`, `warp_sys` and `hand_in`: see there.
const PTX: &str = include_str!("kernels.ptx");
/// Threads of a block.
const BLOCK: u32 = 256;
/// The most threads of each device that are counted on the emulator.
const COUNTED_N: usize = 1 << 12;

pub(super) const LESSON: HostLesson = HostLesson {
    id: "peer_atomic",
    alias: None,
    title: "several GPUs count in one word",
    change: "atomics on another GPU's memory need system scope and cross the link one by one, so that each GPU counts at home first",
    needs: &["single_pass", "peer_copy"],
    file: "course/src/host_lesson/peer_atomic/mod.rs",
    usual_n: |_| 1 << 20,
    see: "What to see: atomics over the link take longer than counting at home with one atomic for each device. Over NVLink between two \
          H100, one of every warp took as long as one of every thread.",
    not_shown: "Not shown here: times, which depend on the link; what crosses it is counted, and what races is found, as on GPUs.",
    has_picture: false,
    needs_group: true,
    run,
};

/// A way to count.
struct Way {
    name: &'static str,
    /// The kernel that counts.
    entry: &'static str,
    /// Whether it counts in a word of its own device, which is handed in afterwards.
    at_home: bool,
    /// Whether all devices may count like this.
    is_right: bool,
}

const WAYS: [Way; 4] = [
    Way {
        name: "every thread, .gpu scope",
        entry: "each_gpu",
        at_home: false,
        is_right: false,
    },
    Way {
        name: "every thread, .sys scope",
        entry: "each_sys",
        at_home: false,
        is_right: true,
    },
    Way {
        name: "every warp, .sys scope",
        entry: "warp_sys",
        at_home: false,
        is_right: true,
    },
    Way {
        name: "at home, then one for each device",
        entry: "each_gpu",
        at_home: true,
        is_right: true,
    },
];

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let group = setting.group(LESSON.id)?;
    if !group.has_peer_access() {
        return Err(HostLessonError::Unsuitable(format!(
            "`{}` needs GPUs that reach each other's memory, and these do not: take others, or --device emulator:4",
            LESSON.id
        )));
    }
    let (n, count) = (setting.elements(), group.devices().len());
    let total = u32::try_from(n * count).map_err(|_| {
        HostLessonError::Unsuitable(format!(
            "{count} devices cannot count {n} each in a word of 32 bits: ask for fewer with -n"
        ))
    })?;
    // What crosses the link, and what races, does not depend on the device.
    let emulated = Group::open(&vec![DeviceChoice::Emulator; count])?;
    let counted_n = n.min(COUNTED_N);
    let counting = Counting::new(&emulated, counted_n)?;
    let measuring = Counting::new(group, n)?;
    let stopwatch = Stopwatch::new(setting)?;

    let mut report = Report::new(&[
        ("way", "who adds to the word"),
        ("atomics_over_link", "atomics over\nthe link"),
        ("racecheck", "racecheck"),
        ("elapsed_us", "µs"),
        ("ratio", "against\nevery thread"),
        ("right", "count"),
    ]);
    report.fact(format!(
        "{count} devices, each counts {n} threads in blocks of {BLOCK} · over the link and by racecheck: {counted_n} threads each, on emulated devices"
    ));
    let mut slowest = None;
    for way in &WAYS {
        let atomics = counting.atomics_over_link(way)?;
        let findings = counting.races(way)?;
        let elapsed_ms = stopwatch.host_ms(
            || measuring.reset(),
            || {
                measuring.queue(way)?;
                measuring.wait()
            },
        )?;
        let found = measuring.total.borrow().read()?[0];
        slowest = slowest.or(elapsed_ms);
        report.row([
            way.name.into(),
            Cell::Count(atomics),
            if findings > 0 { "a race" } else { "nothing" }.into(),
            Cell::Microseconds(elapsed_ms.map(|elapsed_ms| elapsed_ms * 1e3)),
            Cell::Ratio(speed_up(slowest, elapsed_ms)),
            // What a race leaves may be right or not; that it is one is certain.
            Cell::Right(Some(if way.is_right {
                found == total && findings == 0
            } else {
                findings > 0
            })),
        ]);
    }
    report.fact("count: of .gpu scope, whether racecheck finds the race".to_owned());
    Ok(report)
}

/// Devices that count.
struct Counting {
    members: Vec<Member>,
    /// On the first device.
    total: RefCell<Buffer<u32>>,
    n: u32,
    shape: Shape,
}

struct Member {
    stream: Stream,
    own: RefCell<Buffer<u32>>,
    kernels: Vec<Kernel>,
}

/// Launches of one kernel on each device, with its arguments there.
type Phase<'a> = Vec<(&'a Kernel, Shape, Vec<Argument>)>;

impl Counting {
    fn new(group: &Group, n: usize) -> Result<Self, HostLessonError> {
        let too_large = |_| DeviceError::TooLarge { length: n };
        let member = |device: &warpfold::Device| {
            let module = device.load(PTX)?;
            let entries = WAYS.iter().map(|way| way.entry).chain(["hand_in"]);
            Ok::<Member, DeviceError>(Member {
                stream: device.stream()?,
                own: RefCell::new(device.upload(&[0])?),
                kernels: entries
                    .map(|entry| module.kernel(entry))
                    .collect::<Result<_, _>>()?,
            })
        };
        let members: Result<_, _> = group.devices().iter().map(member).collect();
        let n = u32::try_from(n).map_err(too_large)?;
        Ok(Self {
            members: members?,
            total: RefCell::new(group.devices()[0].upload(&[0])?),
            n,
            shape: Shape::linear(n.div_ceil(BLOCK), BLOCK),
        })
    }

    /// Sets all words to 0; waits for it.
    fn reset(&self) -> Result<(), DeviceError> {
        for member in &self.members {
            member.own.borrow_mut().write(&[0])?;
        }
        self.total.borrow_mut().write(&[0])
    }

    /// What the devices launch, one phase after the other.
    fn phases(&self, way: &Way) -> Vec<Phase<'_>> {
        let kernel = |member: &'_ Member, entry: &str| {
            let found = member
                .kernels
                .iter()
                .position(|kernel| kernel.entry() == entry);
            found.unwrap_or_default()
        };
        let count = self.members.iter().map(|member| {
            let word = if way.at_home {
                &member.own
            } else {
                &self.total
            };
            let arguments = vec![word.borrow().argument(), self.n.into()];
            (
                &member.kernels[kernel(member, way.entry)],
                self.shape,
                arguments,
            )
        });
        let hand_in = self.members.iter().map(|member| {
            let arguments = vec![
                member.own.borrow().argument(),
                self.total.borrow().argument(),
            ];
            let one = Shape::linear(1, 1);
            (&member.kernels[kernel(member, "hand_in")], one, arguments)
        });
        let mut phases = vec![count.collect()];
        if way.at_home {
            phases.push(hand_in.collect());
        }
        phases
    }

    fn queue(&self, way: &Way) -> Result<(), DeviceError> {
        for phase in self.phases(way) {
            for (member, (kernel, shape, arguments)) in self.members.iter().zip(phase) {
                // SAFETY: each kernel adds to one word, of its device or of the first, which it reaches; `hand_in` comes after the
                // counting on its stream. The words are freed when all devices have done what is queued, for which `wait` waits.
                unsafe { member.stream.launch(kernel, &shape, &arguments)? };
            }
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), DeviceError> {
        let mut members = self.members.iter();
        members.try_for_each(|member| member.stream.synchronize())
    }

    /// Atomic operations that go to another device, on emulated devices.
    fn atomics_over_link(&self, way: &Way) -> Result<u64, DeviceError> {
        let mut traffic = PeerTraffic::default();
        self.reset()?;
        for phase in self.phases(way) {
            peer::observe_together(&launches(&phase), Order::Fixed, &mut traffic)?;
        }
        Ok(traffic.total().atomics)
    }

    /// What racecheck finds between emulated devices.
    fn races(&self, way: &Way) -> Result<usize, DeviceError> {
        self.reset()?;
        let mut found = 0;
        for phase in self.phases(way) {
            found += peer::check(&launches(&phase), &[Tool::Racecheck])?.len();
        }
        Ok(found)
    }
}

fn launches<'a>(phase: &'a Phase<'_>) -> Vec<peer::LaunchOn<'a>> {
    phase
        .iter()
        .map(|(kernel, shape, arguments)| (*kernel, shape, &arguments[..]))
        .collect()
}
