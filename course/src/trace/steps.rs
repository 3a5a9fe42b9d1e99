//! From the events of blocks to steps: what belongs together, and who works.

use super::clocks::{Clocks, raise};
use super::events::{Event, Events, LANES, Races};
use super::memory::Memory;
use super::picture::{Access, Block, Boundary, Cell, Content, Grid, Step, Work, Write};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use warpfold_emulator::AccessKind;

/// The blocks with their steps, of which all have the same: those in which some thread of some block works.
pub(super) fn of_blocks(
    grids: &[Grid],
    blocks: &[Events<'_>],
    races: &Races,
    is_cooperative: bool,
) -> Vec<Block> {
    let mut timeline = Timeline {
        blocks,
        updates: Updates::of(blocks),
        races,
        is_cooperative,
        steps: blocks.iter().map(|_| Vec::new()).collect(),
    };
    timeline.lay(0, 0);
    let count_of_host = blocks.iter().filter(|block| block.grid == 0).count();
    let mut placed: Vec<Block> = Vec::new();
    for (block, steps) in blocks.iter().zip(timeline.steps) {
        let grid = grids.iter().find(|grid| grid.number == block.grid);
        let of_parent = grid.and_then(|grid| grid.launched_by).and_then(|parent| {
            let is_parent =
                |other: &&Block| other.grid == parent.grid && other.number == parent.block;
            placed.iter().find(is_parent).map(|parent| parent.place)
        });
        let place = of_parent.unwrap_or_default() + block.number;
        placed.push(Block {
            grid: block.grid,
            number: block.number,
            place: place.min(count_of_host.saturating_sub(1)),
            threads: block.threads,
            steps,
        });
    }
    align(&mut placed);
    placed
}

/// When each block of each grid does what.
struct Timeline<'e> {
    blocks: &'e [Events<'e>],
    updates: Updates<'e>,
    races: &'e Races,
    is_cooperative: bool,
    /// By block.
    steps: Vec<Vec<Step>>,
}

impl Timeline<'_> {
    /// Lays out a grid from this step on, with all that it launches; returns the step after all of that.
    fn lay(&mut self, grid: u64, start: usize) -> usize {
        let mut end = start;
        let mut open = Vec::new();
        let blocks = self.blocks;
        for (index, block) in blocks.iter().enumerate() {
            if block.grid != grid {
                continue;
            }
            let mut launched: BTreeMap<u64, usize> = BTreeMap::new();
            let clocks = Clocks::new(self.races, self.is_cooperative, start);
            // What it waits for is laid out on the way.
            let mut finish = |grids: &[u64], launched: &mut BTreeMap<u64, usize>| {
                let ends = grids.iter().filter_map(|grid| {
                    let step = launched.remove(grid)?;
                    Some(self.lay(*grid, step + 1))
                });
                ends.max()
            };
            let (step_of, mut boundaries) = clocks.divide(block.events, &mut launched, &mut finish);
            if grid != 0 {
                raise(&mut boundaries, start, Boundary::Launch);
            }
            open.extend(launched.into_keys());
            let before = |cell, content: &Content| self.updates.before(index, cell, content);
            let steps = of_events(block.events, &step_of, &boundaries, &before);
            end = end.max(steps.len());
            self.steps[index] = steps;
        }
        // Whom nobody waits for begins when the whole grid is done: it may begin sooner.
        let ends: Vec<usize> = open.into_iter().map(|grid| self.lay(grid, end)).collect();
        ends.into_iter().fold(end, usize::max)
    }
}

/// The contents that atomic operations have left in each cell, of shared memory by block: the elements, the smallest sets first.
struct Updates<'e>(HashMap<(Option<usize>, Cell), Vec<&'e [usize]>>);

impl<'e> Updates<'e> {
    fn of(blocks: &'e [Events<'e>]) -> Self {
        let mut updates: HashMap<_, Vec<&[usize]>> = HashMap::new();
        for (index, block) in blocks.iter().enumerate() {
            for event in block.events {
                let Event::Access {
                    kind: AccessKind::Atomic,
                    moves,
                    ..
                } = event
                else {
                    continue;
                };
                for (_, cell, content) in moves {
                    let known = updates.entry(Self::key(index, *cell)).or_default();
                    known.extend(content.elements.as_deref());
                }
            }
        }
        for known in updates.values_mut() {
            known.sort_by_key(|elements| elements.len());
        }
        Self(updates)
    }

    fn key(block: usize, cell: Cell) -> (Option<usize>, Cell) {
        (Memory::of(cell).is_of_block().then_some(block), cell)
    }

    /// What the cell was made of before an operation of this block has left this content in it: a trace has only what came after, but
    /// each operation adds to what those before it have left.
    fn before(&self, block: usize, cell: Cell, after: &Content) -> &'e [usize] {
        let (Some(after), Some(known)) = (&after.elements, self.0.get(&Self::key(block, cell)))
        else {
            return &[];
        };
        let smaller = known.partition_point(|elements| elements.len() < after.len());
        let before = known[..smaller].last().copied().unwrap_or_default();
        let is_in = |element: &usize| after.binary_search(element).is_ok();
        if before.iter().all(is_in) {
            before
        } else {
            &[]
        }
    }
}

/// The steps of a block whose events have been dealt out. `before` says what a cell was made of before an atomic operation.
fn of_events<'e>(
    events: &[Event],
    step_of: &[usize],
    boundaries: &BTreeMap<usize, Boundary>,
    before: &impl Fn(Cell, &Content) -> &'e [usize],
) -> Vec<Step> {
    let count = step_of.iter().max().map_or(0, |last| last + 1);
    let mut steps: Vec<Step> = (0..count)
        .map(|step| Step {
            boundary: boundaries.get(&step).copied().unwrap_or_default(),
            ..Step::default()
        })
        .collect();
    let mut drafts: Vec<BTreeMap<u32, Draft>> = Vec::new();
    drafts.resize_with(count, BTreeMap::new);
    for (event, &step) in events.iter().zip(step_of) {
        collect(event, &mut drafts[step], &mut steps[step], before);
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
fn align(blocks: &mut [Block]) {
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

/// What a thread does in a step, as far as it has been seen.
#[derive(Default)]
struct Draft {
    reads: Vec<Cell>,
    writes: Vec<Write>,
    /// The elements in what it has read.
    read_elements: BTreeSet<usize>,
    /// The cells that it has changed by atomic operations, and the elements that these have added.
    updates: HashSet<Cell>,
    added: BTreeSet<usize>,
    width: usize,
    is_copy: bool,
    launches: Vec<u64>,
}

fn collect<'e>(
    event: &Event,
    drafts: &mut BTreeMap<u32, Draft>,
    step: &mut Step,
    before: &impl Fn(Cell, &Content) -> &'e [usize],
) {
    match event {
        Event::Access {
            warp,
            line,
            kind,
            bytes,
            width,
            is_copy,
            moves,
            offsets,
            ..
        } => {
            if let Some(&(_, first, _)) = moves.first() {
                let wrote = drafts.values().any(|draft| !draft.writes.is_empty());
                if step.ptx_line.is_none() || *kind != AccessKind::Load && !wrote {
                    step.ptx_line = Some(*line);
                }
                step.accesses.push(Access {
                    warp: *warp,
                    is_write: *kind != AccessKind::Load,
                    first,
                    bytes: *bytes,
                    offsets: offsets.clone(),
                });
            }
            for (lane, cell, content) in moves {
                let draft = drafts.entry(warp * LANES + lane).or_default();
                draft.is_copy |= is_copy;
                if *kind == AccessKind::Load && !is_copy {
                    draft.width = draft.width.max(*width);
                }
                match kind {
                    AccessKind::Load => draft.read(*cell, content),
                    AccessKind::Atomic => draft.update(*cell, content, before(*cell, content)),
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
                step.registers.push(Write {
                    cell: Cell::Register(first + lane),
                    content: Some(content.clone()),
                });
                let draft = drafts.entry(first + lane).or_default();
                for (source, _, content) in lanes {
                    if source != lane && sources >> source & 1 == 1 {
                        draft.read(Cell::Register(first + source), content);
                    }
                }
            }
        }
        Event::GridLaunch { warp, lane, grid } => {
            let draft = drafts.entry(warp * LANES + lane).or_default();
            draft.launches.push(*grid);
        }
        Event::WarpBarrier { .. } | Event::BlockBarrier { .. } | Event::GridWait { .. } => {}
    }
}

impl Draft {
    fn read(&mut self, cell: Cell, content: &Content) {
        if !self.reads.contains(&cell) {
            self.reads.push(cell);
        }
        self.read_elements.extend(content.elements.iter().flatten());
    }

    fn update(&mut self, cell: Cell, after: &Content, before: &[usize]) {
        if !self.reads.contains(&cell) {
            self.reads.push(cell);
        }
        self.updates.insert(cell);
        let elements = after.elements.iter().flatten();
        let new = elements.filter(|element| before.binary_search(element).is_err());
        self.added.extend(new);
    }

    fn finish(mut self, thread: u32, brought: &HashMap<Cell, Option<Content>>) -> Work {
        if self.writes.is_empty() && (self.launches.is_empty() || !self.reads.is_empty()) {
            let cell = Cell::Register(thread);
            self.writes.push(Write {
                cell,
                content: brought.get(&cell).cloned().flatten(),
            });
        }
        let has_more = |write: &Write| {
            if self.updates.contains(&write.cell) {
                let has_read_nothing_else =
                    self.reads.iter().all(|cell| self.updates.contains(cell));
                return has_read_nothing_else || !self.added.is_subset(&self.read_elements);
            }
            let mut elements = elements_of(write).unwrap_or_default().iter();
            elements.any(|element| !self.read_elements.contains(element))
        };
        Work {
            thread,
            from_register: self.writes.iter().any(has_more),
            reads: self.reads,
            width: self.width.max(1),
            is_copy: self.is_copy,
            launches: self.launches,
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
            bytes: 4,
            width: 1,
            is_copy: false,
            moves,
            offsets: Vec::new(),
        }
    }

    fn store_partial(elements: &[usize]) -> Event {
        Event::Access {
            warp: 0,
            line: LINE,
            kind: Store,
            bytes: 4,
            width: 1,
            is_copy: false,
            moves: vec![(0, Cell::Partials(0), content(elements))],
            offsets: Vec::new(),
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

    /// Blocks of the host's grid.
    fn blocks(events: &[Vec<Event>], races: &[[u32; 2]]) -> Vec<Block> {
        let events: Vec<Events<'_>> = events
            .iter()
            .enumerate()
            .map(|(number, events)| Events {
                grid: 0,
                number,
                threads: 2,
                events,
            })
            .collect();
        of_blocks(&[], &events, &races.iter().copied().collect(), false)
    }

    /// The steps of a block that is alone, with what is used of them.
    fn marked(events: Vec<Event>, races: &[[u32; 2]]) -> Vec<Step> {
        let mut blocks = blocks(&[events], races);
        mark_used(&mut blocks);
        blocks.swap_remove(0).steps
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
            let steps = marked(tree(between), races);
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
        let steps = marked(tree(Some(Event::WarpBarrier { warp: 0 })), &[]);
        let used: Vec<Vec<bool>> = steps
            .iter()
            .map(|step| step.work.iter().map(|work| work.is_used).collect())
            .collect();
        assert_eq!(used, [vec![true, true], vec![true, false], vec![true]]);
    }

    #[test]
    fn what_has_not_been_read_comes_from_a_register() {
        let steps = marked(
            vec![
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
            vec![
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

    /// Lane 0 gets lane 1's value and adds both, its own and that, to a total that other elements are in already.
    #[test]
    fn what_an_atomic_operation_adds_beside_what_was_read_comes_from_a_register() {
        let add = |total: &[usize]| Event::Access {
            warp: 0,
            line: LINE,
            kind: AccessKind::Atomic,
            bytes: 4,
            width: 1,
            is_copy: false,
            moves: vec![(0, Cell::Total(0), content(total))],
            offsets: Vec::new(),
        };
        let lanes = vec![(0, 1 << 1, content(&[2])), (1, 1 << 1, content(&[3]))];
        let of_second = vec![
            access(Load, &[(0, 2), (1, 3)], &[&[2], &[3]]),
            Event::Exchange { warp: 0, lanes },
            add(&[0, 1, 2, 3]),
        ];
        let mut blocks = blocks(&[vec![add(&[0, 1])], of_second], &[]);
        mark_used(&mut blocks);
        let [loads, last] = &blocks[1].steps[..] else {
            panic!("two steps, not {}", blocks[1].steps.len());
        };
        assert!(last.work[0].from_register);
        assert!(loads.work.iter().all(|work| work.is_used));
    }

    #[test]
    fn blocks_get_the_same_steps_without_the_idle_ones() {
        let barrier = || Event::BlockBarrier { warps: vec![0] };
        let busy = || access(Store, &[(0, 0)], &[&[0]]);
        let blocks = blocks(
            &[vec![busy(), barrier(), barrier(), busy()], vec![busy()]],
            &[],
        );
        assert_eq!(
            boundaries(&blocks[0].steps),
            [Boundary::Start, Boundary::BlockBarrier]
        );
        assert_eq!(blocks[1].steps.len(), 2);
        assert!(blocks[1].steps[1].work.is_empty());
    }
}
