//! From the events of a block to steps: what belongs together, and who works.

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
        line: u32,
        kind: AccessKind,
        is_copy: bool,
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
    /// A lane launches a grid.
    GridLaunch { warp: u32, lane: u32, grid: u64 },
    /// A warp has waited for these grids.
    GridWait { warp: u32, grids: Vec<u64> },
}

/// The steps of a block; `races` are pairs of lines whose accesses nothing orders, the earlier first.
pub(super) fn of_block(events: &[Event], races: &HashSet<[u32; 2]>) -> Vec<Step> {
    let clocks = Clocks {
        races,
        warps: BTreeMap::new(),
        writers: HashMap::new(),
        step_of: Vec::new(),
        boundaries: BTreeMap::new(),
    };
    let (step_of, boundaries) = clocks.divide(events);
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
        if blocks
            .iter()
            .any(|block| !block.steps[step].work.is_empty())
        {
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
struct Clocks<'r> {
    races: &'r HashSet<[u32; 2]>,
    warps: BTreeMap<u32, Clock>,
    /// Who has last written each cell.
    writers: HashMap<Cell, Writer>,
    step_of: Vec<usize>,
    boundaries: BTreeMap<usize, Boundary>,
}

#[derive(Clone, Copy)]
struct Writer {
    warp: u32,
    lane: u32,
    line: u32,
    is_copy: bool,
    step: usize,
}

#[derive(Default)]
struct Clock {
    step: usize,
    /// The events of the step after its last store.
    after_store: Vec<usize>,
    has_barrier_after_store: bool,
    /// What the warp has written in this step.
    written: HashSet<Cell>,
}

impl Clock {
    fn begin(&mut self, step: usize) {
        self.step = step;
        self.after_store.clear();
        self.has_barrier_after_store = false;
        self.written.clear();
    }
}

impl Clocks<'_> {
    /// The step of each event, and what lies before each step.
    fn divide(mut self, events: &[Event]) -> (Vec<usize>, BTreeMap<usize, Boundary>) {
        for (number, event) in events.iter().enumerate() {
            let step = match event {
                Event::Access {
                    warp,
                    line,
                    kind,
                    is_copy,
                    moves,
                } => {
                    self.access(number, (*warp, *line, *kind, *is_copy), moves);
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
                    clock.has_barrier_after_store = true;
                    clock.step
                }
                Event::BlockBarrier { warps } => {
                    let steps = warps.iter().map(|&warp| self.clock(warp).step).max();
                    let step = steps.unwrap_or_default() + 1;
                    for &warp in warps {
                        self.clock(warp).begin(step);
                    }
                    self.bound(step, Boundary::BlockBarrier);
                    // The barrier itself is part of no step; it counts where it cannot make one.
                    step - 1
                }
                Event::GridLaunch { warp, .. } | Event::GridWait { warp, .. } => {
                    self.clock(*warp).step
                }
            };
            self.step_of.push(step);
        }
        (self.step_of, self.boundaries)
    }

    fn access(
        &mut self,
        number: usize,
        (warp, line, kind, is_copy): (u32, u32, AccessKind, bool),
        moves: &[(u32, Cell, Content)],
    ) {
        let clock = self.warps.entry(warp).or_default();
        if kind != AccessKind::Store {
            let writers = || {
                moves
                    .iter()
                    .filter_map(|(_, cell, _)| self.writers.get(cell))
            };
            let copied = writers().filter(|writer| writer.is_copy);
            let copied = copied.map(|writer| writer.step + 1).max();
            if let Some(step) = copied.filter(|&step| step > clock.step) {
                clock.begin(step);
                raise(&mut self.boundaries, step, Boundary::Copy);
            } else if moves
                .iter()
                .any(|(_, cell, _)| clock.written.contains(cell))
            {
                // It needs what this step has written. Everything after the writing goes along.
                let boundary = if clock.has_barrier_after_store {
                    Boundary::WarpBarrier
                } else {
                    Boundary::OwnThread
                };
                let step = clock.step + 1;
                for &event in &clock.after_store {
                    self.step_of[event] = step;
                }
                clock.begin(step);
                raise(&mut self.boundaries, step, boundary);
            }
        }
        if kind == AccessKind::Load {
            let races = |(lane, cell, _): &(u32, Cell, Content)| {
                self.writers.get(cell).is_some_and(|writer| {
                    writer.warp == warp
                        && writer.lane != *lane
                        && self.races.contains(&[writer.line, line])
                })
            };
            if moves.iter().any(races) {
                raise(&mut self.boundaries, clock.step, Boundary::Unordered);
            }
            clock.after_store.push(number);
            return;
        }
        clock.after_store.clear();
        clock.has_barrier_after_store = false;
        for &(lane, cell, _) in moves {
            clock.written.insert(cell);
            let step = clock.step;
            self.writers.insert(
                cell,
                Writer {
                    warp,
                    lane,
                    line,
                    is_copy,
                    step,
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
    /// The elements in what it has brought to an exchange itself, and has got back.
    own_elements: BTreeSet<usize>,
    /// The cells that it has changed by atomic operations, of which a trace has only the new contents.
    updates: HashSet<Cell>,
}

fn collect(event: &Event, drafts: &mut BTreeMap<u32, Draft>, registers: &mut Vec<Write>) {
    match event {
        Event::Access {
            warp, kind, moves, ..
        } => {
            for (lane, cell, content) in moves {
                let draft = drafts.entry(warp * LANES + lane).or_default();
                match kind {
                    AccessKind::Load => draft.read(*cell, content),
                    AccessKind::Atomic => draft.update(*cell),
                    AccessKind::Store => {}
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
                for (source, _, content) in lanes {
                    if sources >> source & 1 == 0 {
                        continue;
                    }
                    if source == lane {
                        let own = content.elements.iter().flatten();
                        draft.own_elements.extend(own);
                    } else {
                        draft.read(Cell::Register(first + source), content);
                    }
                }
            }
        }
        Event::WarpBarrier { .. }
        | Event::BlockBarrier { .. }
        | Event::GridLaunch { .. }
        | Event::GridWait { .. } => {}
    }
}

impl Draft {
    fn read(&mut self, cell: Cell, content: &Content) {
        if !self.reads.contains(&cell) {
            self.reads.push(cell);
        }
        self.read_elements.extend(content.elements.iter().flatten());
    }

    fn update(&mut self, cell: Cell) {
        if !self.reads.contains(&cell) {
            self.reads.push(cell);
        }
        self.updates.insert(cell);
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
            if self.updates.contains(&write.cell) {
                // Of the new contents the thread has what it adds; the rest was there.
                let has_read_nothing_else =
                    self.reads.iter().all(|cell| self.updates.contains(cell));
                return has_read_nothing_else || !self.own_elements.is_subset(&self.read_elements);
            }
            let mut elements = elements_of(write).unwrap_or_default().iter();
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

/// What a cell is made of from now on, if that is known.
pub(super) fn elements_of(write: &Write) -> Option<&[usize]> {
    write.content.as_ref()?.elements.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;
    use crate::trace::usage::mark_used;
    use AccessKind::{Load, Store};

    /// The PTX line of all accesses.
    const LINE: u32 = 7;

    fn content(elements: &[usize]) -> Content {
        Content {
            value: Number::I32(elements.len() as i32),
            elements: Some(elements.to_vec()),
        }
    }

    /// An access of warp 0 to elements of the input by lane, where each holds what `holds` says.
    fn access(kind: AccessKind, cells: &[(u32, usize)], holds: &[&[usize]]) -> Event {
        let moves = cells
            .iter()
            .zip(holds)
            .map(|(&(lane, index), elements)| (lane, Cell::Input(index), content(elements)))
            .collect();
        Event::Access {
            warp: 0,
            line: LINE,
            kind,
            is_copy: false,
            moves,
        }
    }

    fn store_partial(elements: &[usize]) -> Event {
        Event::Access {
            warp: 0,
            line: LINE,
            kind: Store,
            is_copy: false,
            moves: vec![(0, Cell::Partials(0), content(elements))],
        }
    }

    /// Two lanes of a warp add up four elements: each takes the second next, then lane 0 takes its neighbour.
    fn tree(between: Option<Event>) -> Vec<Event> {
        let mut events = vec![
            access(Load, &[(0, 0), (1, 1)], &[&[0], &[1]]),
            access(Load, &[(0, 2), (1, 3)], &[&[2], &[3]]),
            access(Store, &[(0, 0), (1, 1)], &[&[0, 2], &[1, 3]]),
        ];
        events.extend(between);
        events.extend([
            access(Load, &[(0, 0), (1, 1)], &[&[0, 2], &[1, 3]]),
            access(Load, &[(0, 1), (1, 2)], &[&[1, 3], &[2]]),
            access(Store, &[(0, 0), (1, 1)], &[&[0, 1, 2, 3], &[1, 2, 3]]),
            access(Load, &[(0, 0)], &[&[0, 1, 2, 3]]),
            store_partial(&[0, 1, 2, 3]),
        ]);
        events
    }

    /// The steps of a block that is alone, with what is used of them.
    fn marked(events: &[Event], races: &[[u32; 2]]) -> Vec<Step> {
        let mut blocks = [Block {
            steps: of_block(events, &races.iter().copied().collect()),
        }];
        mark_used(&mut blocks);
        let [block] = blocks;
        block.steps
    }

    fn boundaries(steps: &[Step]) -> Vec<Boundary> {
        steps.iter().map(|step| step.boundary).collect()
    }

    #[test]
    fn a_step_ends_where_a_warp_reads_what_it_has_written() {
        for (between, races, expected) in [
            (None, &[[LINE, LINE]][..], Boundary::Unordered),
            (None, &[], Boundary::OwnThread),
            (
                Some(Event::WarpBarrier { warp: 0 }),
                &[],
                Boundary::WarpBarrier,
            ),
            (
                Some(Event::BlockBarrier { warps: vec![0] }),
                &[],
                Boundary::BlockBarrier,
            ),
        ] {
            let steps = marked(&tree(between), races);
            let [start, second, last] = boundaries(&steps)[..] else {
                panic!("three steps, not {}", steps.len());
            };
            assert_eq!(start, Boundary::Start);
            assert_eq!(second, expected);
            assert_eq!(last, Boundary::OwnThread);
            let first = &steps[0].work[0];
            assert_eq!(first.reads, [Cell::Input(0), Cell::Input(2)]);
            assert_eq!(first.writes[0].cell, Cell::Input(0));
            assert!(!first.from_register, "all of it has been read here");
        }
    }

    #[test]
    fn work_that_reaches_no_partial_result_is_in_vain() {
        let steps = marked(&tree(Some(Event::WarpBarrier { warp: 0 })), &[]);
        let used: Vec<Vec<bool>> = steps
            .iter()
            .map(|step| step.work.iter().map(|work| work.is_used).collect())
            .collect();
        assert_eq!(used, [vec![true, true], vec![true, false], vec![true]]);
    }

    #[test]
    fn what_has_not_been_read_comes_from_a_register() {
        let steps = marked(
            &[
                access(Load, &[(0, 0)], &[&[0]]),
                access(Store, &[(0, 0), (1, 1)], &[&[0], &[1]]),
                Event::WarpBarrier { warp: 0 },
                access(Load, &[(0, 1)], &[&[1]]),
                store_partial(&[0, 1]),
            ],
            &[],
        );
        let last = &steps[1].work[0];
        assert_eq!(last.reads, [Cell::Input(1)]);
        assert!(last.from_register);
    }

    #[test]
    fn an_exchange_is_a_step_of_its_own() {
        let lanes = vec![(0, 1 << 1, content(&[0])), (1, 1 << 1, content(&[1]))];
        let steps = marked(
            &[
                access(Load, &[(0, 0), (1, 1)], &[&[0], &[1]]),
                Event::Exchange { warp: 0, lanes },
                store_partial(&[0, 1]),
            ],
            &[],
        );
        assert_eq!(boundaries(&steps), [Boundary::Start, Boundary::Exchange]);
        let loaded = &steps[0].work[1].writes[0];
        assert_eq!(loaded.cell, Cell::Register(1));
        assert_eq!(loaded.content, Some(content(&[1])));
        assert!(steps[0].work.iter().all(|work| work.is_used));
        assert_eq!(steps[1].work[0].reads, [Cell::Register(1)]);
        assert!(!steps[1].work[1].is_used, "nobody asks for lane 1's result");
    }

    #[test]
    fn blocks_get_the_same_steps_without_the_idle_ones() {
        let barrier = || Event::BlockBarrier { warps: vec![0] };
        let busy = || access(Store, &[(0, 0)], &[&[0]]);
        let mut blocks =
            [vec![busy(), barrier(), barrier(), busy()], vec![busy()]].map(|events| Block {
                steps: of_block(&events, &HashSet::new()),
            });
        align(&mut blocks);
        assert_eq!(
            boundaries(&blocks[0].steps),
            [Boundary::Start, Boundary::BlockBarrier]
        );
        assert_eq!(blocks[1].steps.len(), 2);
        assert!(blocks[1].steps[1].work.is_empty());
    }
}
