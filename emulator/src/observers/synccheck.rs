//! synccheck: barriers that a warp does not reach together, member masks that do not agree, shuffles from lanes that take no part.
//!
//! A mistake that stops the launch (lanes or threads that never arrive, a lane outside its own mask) is a trap, and
//! [`Finding::of_trap`](crate::Finding::of_trap) makes the finding. This observer finds what hardware lets pass although no program may
//! rely on it. It is not for random schedules, which part lanes that the program has not parted.

use super::Map;

use crate::finding::{Finding, Place, Tool};
use crate::kernel::Kernel;
use crate::observer::{
    BarrierEvent, BlockEvent, CollectiveEvent, ExchangeEvent, InstructionEvent, Observer, Wants,
};
use crate::registers::{LANES, each_lane};

/// Finds warps that use barriers and warp-wide instructions as no GPU promises to support.
#[derive(Debug, Default)]
pub struct Synccheck {
    block: BlockEvent,
    /// By warp: the lanes that have not exited.
    live: Vec<u32>,
    /// By warp: lanes that executed an instruction together, and the line of the last one, the newest last.
    last: Vec<Vec<(u32, u32)>>,
    /// In the order of their first block.
    faults: Vec<Fault>,
    by_line: Map<(Kind, u32, u32), usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    PartedAtBarrier,
    MasksDisagree,
    ShuffleFromOutside,
}

#[derive(Debug)]
struct Fault {
    kind: Kind,
    line: u32,
    block: BlockEvent,
    thread: [u32; 3],
    /// The thread that is missing, disagrees or is read from.
    other: [u32; 3],
    /// What it executed last.
    other_line: u32,
    count: u64,
}

impl Synccheck {
    /// A checker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was seen.
    pub fn findings(&self, kernel: &Kernel) -> Vec<Finding> {
        self.findings_of(&[kernel])
    }

    /// The same of launches that have run at the same time, of these kernels.
    pub fn findings_of(&self, kernels: &[&Kernel]) -> Vec<Finding> {
        let finding = |fault: &Fault| {
            let [x, y, z] = fault.other;
            let other = format!("thread ({x}, {y}, {z})");
            let (kind, does, message) = match fault.kind {
                Kind::PartedAtBarrier => (
                    "divergent barrier",
                    "arrives",
                    format!(
                        "{other} of the same warp is elsewhere at that time: all lanes of a warp have to come to this barrier together, so it must not stand in a branch that some of them do not take"
                    ),
                ),
                Kind::MasksDisagree => (
                    "member masks disagree",
                    "is here",
                    format!(
                        "{other}, which is named in another lane's mask, gives a mask of its own: all lanes that a mask names have to give the same"
                    ),
                ),
                Kind::ShuffleFromOutside => (
                    "shuffle from an absent lane",
                    "reads",
                    format!(
                        "{other}, whose value it reads, takes no part in the shuffle: the value is undefined"
                    ),
                ),
            };
            Finding {
                tool: Tool::Synccheck,
                kind,
                message,
                kernel: kernels[fault.block.launch as usize % kernels.len()]
                    .name()
                    .to_owned(),
                places: [
                    (does, fault.thread, fault.line),
                    ("was last here", fault.other, fault.other_line),
                ]
                .map(|(does, thread, line)| {
                    Place::of_block(&fault.block, kernels, does, thread, line)
                })
                .into(),
                memory: None,
                count: fault.count,
                ends_launch: false,
            }
        };
        Finding::merged(self.faults.iter().map(finding))
    }

    fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let thread = warp * LANES as u32 + lane;
        let [x, y, _] = self.block.shape;
        [thread % x, thread / x % y, thread / x / y]
    }

    /// The line of what a lane executed last.
    fn last_line(&self, warp: u32, lane: u32) -> u32 {
        let last = self.last[warp as usize].iter();
        last.rev()
            .find(|(lanes, _)| lanes >> lane & 1 == 1)
            .map_or(0, |&(_, line)| line)
    }

    fn report(&mut self, kind: Kind, line: u32, warp: u32, lanes: u32, other: u32) {
        let fault = Fault {
            kind,
            line,
            block: self.block,
            thread: self.thread(warp, lanes.trailing_zeros()),
            other: self.thread(warp, other),
            other_line: self.last_line(warp, other),
            count: u64::from(lanes.count_ones()),
        };
        self.add(fault);
    }

    fn add(&mut self, fault: Fault) {
        let key = (fault.kind, fault.block.launch, fault.line);
        match self.by_line.get(&key) {
            Some(&index) => self.faults[index].count += fault.count,
            None => {
                self.by_line.insert(key, self.faults.len());
                self.faults.push(fault);
            }
        }
    }
}

impl Observer for Synccheck {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::LITTLE
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for fault in other.faults {
            self.add(fault);
        }
    }

    fn block(&mut self, event: BlockEvent) {
        self.block = event;
        let threads: u32 = event.shape.iter().product();
        self.last.clear();
        self.last
            .resize(threads.div_ceil(LANES as u32) as usize, Vec::new());
        self.live.clear();
        self.live.extend((0..threads).step_by(LANES).map(|first| {
            let lanes = (threads - first).min(LANES as u32);
            u32::MAX >> (LANES as u32 - lanes)
        }));
    }

    #[inline]
    fn instruction(&mut self, event: InstructionEvent) {
        let last = &mut self.last[event.warp as usize];
        match last.last_mut() {
            Some((lanes, line)) if *lanes == event.active => *line = event.line,
            _ => {
                last.retain_mut(|(lanes, _)| {
                    *lanes &= !event.active;
                    *lanes != 0
                });
                last.push((event.active, event.line));
            }
        }
    }

    fn barrier(&mut self, event: BarrierEvent) {
        let elsewhere = event.live & !event.lanes;
        if event.aligned && elsewhere != 0 {
            self.report(
                Kind::PartedAtBarrier,
                event.line,
                event.warp,
                event.lanes,
                elsewhere.trailing_zeros(),
            );
        }
    }

    fn collective(&mut self, event: CollectiveEvent) {
        // All that the mask names are here, but those that have exited; so these have given another mask.
        let others = event.mask & !event.lanes & self.live[event.warp as usize];
        if others != 0 {
            self.report(
                Kind::MasksDisagree,
                event.line,
                event.warp,
                event.lanes,
                others.trailing_zeros(),
            );
        }
    }

    fn exit(&mut self, event: InstructionEvent) {
        self.live[event.warp as usize] &= !event.lanes;
    }

    fn exchange(&mut self, event: ExchangeEvent<'_>) {
        let (mut readers, mut absent) = (0, 0);
        each_lane(event.lanes, |lane| {
            let outside = event.sources[lane] & !event.lanes;
            readers |= u32::from(outside != 0) << lane;
            absent = if absent == 0 { outside } else { absent };
        });
        if readers != 0 {
            self.report(
                Kind::ShuffleFromOutside,
                event.line,
                event.warp,
                readers,
                absent.trailing_zeros(),
            );
        }
    }
}
