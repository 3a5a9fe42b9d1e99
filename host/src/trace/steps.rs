//! From the events of a block to steps: what belongs together, who works, and whose work counts.

use super::picture::{Block, Boundary, Cell, Content, Step, Work, Write};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use warpfold_emulator::AccessKind;

/// Lanes of a warp.
const LANES: u32 = 32;

/// An event of a block, in terms of cells.
pub(super) enum Event {
    /// Lanes of a warp access memory: lane, cell, and what was moved.
    Access {
        warp: u32,
        kind: AccessKind,
        moves: Vec<(u32, Cell, Content)>,
    },
    /// Lanes of a warp exchange registers: lane, the mask of the lanes that its result comes from, and what it brings.
    Exchange {
        warp: u32,
        lanes: Vec<(u32, u32, Content)>,
    },
    /// Lanes of a warp meet.
    WarpBarrier { warp: u32 },
    /// These warps meet.
    BlockBarrier { warps: Vec<u32> },
}

/// The steps of a block.
pub(super) fn of_block(events: &[Event]) -> Vec<Step> {
    let (step_of, boundaries) = Clocks::default().divide(events);
    let count = step_of.iter().max().map_or(0, |last| last + 1);
    let mut steps: Vec<Step> = (0..count)
        .map(|step| Step {
            boundary: boundaries.get(&step).copied().unwrap_or_default(),
            ..Step::default()
        })
        .collect();
    let mut drafts: Vec<BTreeMap<u32, Draft>> = Vec::new();
    drafts.resize_with(count, BTreeMap::new);
    for (event, &step) in events.iter().zip(&step_of) {
        collect(event, &mut drafts[step], &mut steps[step].registers);
    }
    for (step, drafts) in drafts.into_iter().enumerate() {
        // What a thread only reads stays in a register, where the next step shows it if it is exchanged there.
        let brought: HashMap<Cell, Option<Content>> = steps
            .get(step + 1)
            .map(|next| next.registers.as_slice())
            .unwrap_or_default()
            .iter()
            .map(|write| (write.cell, write.content.clone()))
            .collect();
        steps[step].work = drafts
            .into_iter()
            .map(|(thread, draft)| draft.finish(thread, &brought))
            .collect();
    }
    mark_used(&mut steps);
    steps
}

/// Gives all blocks the same steps: those in which some thread of some block works.
pub(super) fn align(blocks: &mut [Block]) {
    let count = blocks
        .iter()
        .map(|block| block.steps.len())
        .max()
        .unwrap_or_default();
    for block in &mut *blocks {
        block.steps.resize_with(count, Step::default);
    }
    for step in (0..count).rev() {
        if blocks.iter().any(|block| !block.steps[step].work.is_empty()) {
            continue;
        }
        for block in &mut *blocks {
            let dropped = block.steps.remove(step);
            if let Some(next) = block.steps.get_mut(step) {
                next.boundary = next.boundary.max(dropped.boundary);
            }
        }
    }
}

/// Where each warp stands while events are dealt out to steps.
#[derive(Default)]
struct Clocks {
    warps: BTreeMap<u32, Clock>,
    /// Who has last written each cell, and after how many barriers of its warp.
    writers: HashMap<Cell, Writer>,
    step_of: Vec<usize>,
    boundaries: BTreeMap<usize, Boundary>,
}

#[derive(Clone, Copy)]
struct Writer {
    warp: u32,
    lane: u32,
    barriers: u32,
}

#[derive(Default)]
struct Clock {
    step: usize,
    /// The events of the step behind its last store.
    behind_store: Vec<usize>,
    has_barrier_behind_store: bool,
    /// What the warp has written in this step.
    written: HashSet<Cell>,
    /// Barriers that the warp has met at.
    barriers: u32,
}

impl Clock {
    fn begin(&mut self, step: usize) {
        self.step = step;
        self.behind_store.clear();
        self.has_barrier_behind_store = false;
        self.written.clear();
    }
}

impl Clocks {
    /// The step of each event, and what lies before each step.
    fn divide(mut self, events: &[Event]) -> (Vec<usize>, BTreeMap<usize, Boundary>) {
        for (number, event) in events.iter().enumerate() {
            let step = match event {
                Event::Access { warp, kind, moves } => {
                    self.access(number, *warp, *kind, moves);
                    self.clock(*warp).step
                }
                Event::Exchange { warp, .. } => {
                    let step = self.clock(*warp).step + 1;
                    self.clock(*warp).begin(step);
                    self.bound(step, Boundary::Exchange);
                    step
                }
                Event::WarpBarrier { warp } => {
                    let clock = self.clock(*warp);
                    clock.has_barrier_behind_store = true;
                    clock.barriers += 1;
                    clock.step
                }
                Event::BlockBarrier { warps } => {
                    let steps = warps.iter().map(|&warp| self.clock(warp).step).max();
                    let step = steps.unwrap_or_default() + 1;
                    for &warp in warps {
                        let clock = self.clock(warp);
                        clock.begin(step);
                        clock.barriers += 1;
                    }
                    self.bound(step, Boundary::BlockBarrier);
                    // The barrier itself is part of no step; it counts where it cannot make one.
                    step - 1
                }
            };
            self.step_of.push(step);
        }
        (self.step_of, self.boundaries)
    }

    fn access(
        &mut self,
        number: usize,
        warp: u32,
        kind: AccessKind,
        moves: &[(u32, Cell, Content)],
    ) {
        let clock = self.warps.entry(warp).or_default();
        let reads = kind != AccessKind::Store;
        if reads && moves.iter().any(|(_, cell, _)| clock.written.contains(cell)) {
            // It needs what this step has written. Everything behind the writing goes along.
            let boundary = if clock.has_barrier_behind_store {
                Boundary::WarpBarrier
            } else {
                Boundary::OwnThread
            };
            let step = clock.step + 1;
            for &event in &clock.behind_store {
                self.step_of[event] = step;
            }
            clock.begin(step);
            raise(&mut self.boundaries, step, boundary);
        }
        let clock = &mut *clock;
        if kind == AccessKind::Load {
            let is_unordered = |(lane, cell, _): &(u32, Cell, Content)| {
                self.writers.get(cell).is_some_and(|writer| {
                    writer.warp == warp
                        && writer.lane != *lane
                        && writer.barriers == clock.barriers
                })
            };
            if moves.iter().any(is_unordered) {
                raise(&mut self.boundaries, clock.step, Boundary::Unordered);
            }
            clock.behind_store.push(number);
            return;
        }
        clock.behind_store.clear();
        clock.has_barrier_behind_store = false;
        for &(lane, cell, _) in moves {
            clock.written.insert(cell);
            let barriers = clock.barriers;
            self.writers.insert(
                cell,
                Writer {
                    warp,
                    lane,
                    barriers,
                },
            );
        }
    }

    fn clock(&mut self, warp: u32) -> &mut Clock {
        self.warps.entry(warp).or_default()
    }

    fn bound(&mut self, step: usize, boundary: Boundary) {
        raise(&mut self.boundaries, step, boundary);
    }
}

/// Notes what lies before a step; of several, the strongest.
fn raise(boundaries: &mut BTreeMap<usize, Boundary>, step: usize, boundary: Boundary) {
    let known = boundaries.entry(step).or_default();
    *known = boundary.max(*known);
}

/// What a thread does in a step, as far as it has been seen.
#[derive(Default)]
struct Draft {
    reads: Vec<Cell>,
    writes: Vec<Write>,
    /// The elements in what it has read.
    read_elements: BTreeSet<usize>,
    exchanges: bool,
}

fn collect(event: &Event, drafts: &mut BTreeMap<u32, Draft>, registers: &mut Vec<Write>) {
    match event {
        Event::Access { warp, kind, moves } => {
            for (lane, cell, content) in moves {
                let draft = drafts.entry(warp * LANES + lane).or_default();
                if *kind != AccessKind::Store {
                    draft.read(*cell, Some(content));
                }
                if *kind != AccessKind::Load {
                    draft.writes.retain(|write| write.cell != *cell);
                    draft.writes.push(Write {
                        cell: *cell,
                        content: Some(content.clone()),
                    });
                }
            }
        }
        Event::Exchange { warp, lanes } => {
            let first = warp * LANES;
            for (lane, sources, content) in lanes {
                registers.push(Write {
                    cell: Cell::Register(first + lane),
                    content: Some(content.clone()),
                });
                let draft = drafts.entry(first + lane).or_default();
                draft.exchanges = true;
                for (source, _, content) in lanes {
                    if source != lane && sources >> source & 1 == 1 {
                        draft.read(Cell::Register(first + source), Some(content));
                    }
                }
            }
        }
        Event::WarpBarrier { .. } | Event::BlockBarrier { .. } => {}
    }
}

impl Draft {
    fn read(&mut self, cell: Cell, content: Option<&Content>) {
        if !self.reads.contains(&cell) {
            self.reads.push(cell);
        }
        let elements = content.and_then(|content| content.elements.as_ref());
        self.read_elements.extend(elements.into_iter().flatten());
    }

    fn finish(mut self, thread: u32, brought: &HashMap<Cell, Option<Content>>) -> Work {
        if self.writes.is_empty() {
            let cell = Cell::Register(thread);
            self.writes.push(Write {
                cell,
                content: brought.get(&cell).cloned().flatten(),
            });
        }
        let has_more = |write: &Write| {
            let content = write.content.as_ref();
            let elements = content.and_then(|content| content.elements.as_ref());
            let mut elements = elements.into_iter().flatten();
            elements.any(|element| !self.read_elements.contains(element))
        };
        Work {
            thread,
            from_register: self.writes.iter().any(has_more),
            reads: self.reads,
            writes: self.writes,
            is_used: true,
        }
    }
}

/// Finds the work that has a part in a partial result: backwards, from those who write them.
fn mark_used(steps: &mut [Step]) {
    let is_partial = |write: &Write| matches!(write.cell, Cell::Partials(_));
    let mut work = steps.iter().flat_map(|step| &step.work);
    if !work.any(|work| work.writes.iter().any(is_partial)) {
        return;
    }
    // What later steps need.
    let mut needed: HashSet<Cell> = HashSet::new();
    for step in steps.iter_mut().rev() {
        for work in &mut step.work {
            let own = Cell::Register(work.thread);
            let feeds_register = !work.reads.is_empty() || work.from_register;
            work.is_used = work
                .writes
                .iter()
                .any(|write| is_partial(write) || needed.contains(&write.cell))
                || feeds_register && needed.contains(&own);
        }
        for work in &step.work {
            for write in &work.writes {
                needed.remove(&write.cell);
            }
            if work.is_used && (!work.reads.is_empty() || work.from_register) {
                needed.remove(&Cell::Register(work.thread));
            }
        }
        for work in step.work.iter().filter(|work| work.is_used) {
            needed.extend(&work.reads);
            if work.from_register {
                needed.insert(Cell::Register(work.thread));
            }
        }
    }
}
