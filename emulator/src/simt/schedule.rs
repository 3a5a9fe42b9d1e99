//! Random schedules: blocks, warps and lanes advance in an order that a seed decides.
//!
//! A GPU promises no order. Any resident block may run, any warp of it, and since Volta any group of lanes of that warp (independent
//! thread scheduling), even where they have not diverged. Here each of these choices is drawn anew for every turn of a few
//! instructions. Converged lanes part at random, and go on together when they happen to stand at one instruction again, at the latest
//! after a barrier. One host thread runs everything, so that a seed always gives the same schedule.
//!
//! Launches on several devices run here side by side, also without a seed: their blocks then take turns, each in its fixed order.

use std::collections::VecDeque;
use std::iter::StepBy;
use std::ops::Range;
use std::sync::atomic::Ordering;

use typed_arena::Arena;

use super::block::{Block, Progress, Turn};
use super::grid::{COOPERATIVE_TURN, begin_cluster};
use super::grids::{Child, Order};
use super::run::Run;
use super::warp::{Fragment, State, Warp};
use crate::error::Trap;
use crate::observer::{GridEvent, Observer};
use crate::registers::LANES;

/// The most blocks that are resident at a time, unless they are to be so all.
const RESIDENT_BLOCKS: u64 = 8;
/// The same where they take turns.
const OPEN_BLOCKS: u64 = 64;
/// A fragment's turn has 1, 2, 4 … or, at most, 2 to this power instructions.
const LONGEST_TURN_LOG2: u64 = 5;
/// A block's turn has 1, 2, 4 … or, at most, 2 to this power turns of its fragments.
const LONGEST_BLOCK_TURN_LOG2: u64 = 1;

/// After one turn in this many, the oldest asynchronous copy is complete.
const ARRIVALS: u64 = 16;
/// Before one turn in this many, a grid that a kernel has launched begins, where there is one.
const BEGINNINGS: u64 = 16;
/// After one turn in this many, lanes that wait for the rest of their warp go on without it.
const PARTINGS: u64 = 32;

/// The source of all choices: SplitMix64 (Steele, Lea, Flood 2014).
pub(super) struct Schedule {
    state: u64,
}

impl Schedule {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        // The bias is beyond notice: `end` is a few dozens at most.
        self.next() % end
    }

    fn one_in(&mut self, end: u64) -> bool {
        self.below(end) == 0
    }

    /// The length of a turn: any power of two up to the longest.
    fn turn(&mut self, longest_log2: u64) -> u64 {
        1 << self.below(longest_log2 + 1)
    }
}

/// Who is next.
pub(super) enum Turns {
    /// Whom chance picks.
    Random(Schedule),
    /// One block after another.
    InTurn,
}

/// A grid that has begun and still has blocks to begin or to finish.
struct Begun<'a, O> {
    run: Run<'a>,
    /// The first blocks of the clusters that are yet to begin.
    clusters: StepBy<Range<u64>>,
    /// The most blocks to have open at a time.
    resident: u64,
    /// Blocks that have begun and are not over.
    open: u64,
    /// Blocks that are over, to begin as others.
    idle: Vec<Block<'a, 'a, O>>,
}

/// Blocks at work, and the grids that they are of.
struct Floor<'a, O> {
    grids: Vec<Option<Begun<'a, O>>>,
    /// Each with the index of its grid. Those whose turn is next are first, where they take turns.
    open: VecDeque<(usize, Block<'a, 'a, O>)>,
}

impl<'a, O: Observer> Floor<'a, O> {
    /// Begins a grid with as many blocks as are to be resident.
    fn begin(&mut self, run: Run<'a>, turns: &mut Turns, observer: &O) {
        let blocks = run.shape.blocks();
        let resident = match turns {
            _ if run.shape.cooperative => blocks,
            Turns::Random(schedule) => 1 + schedule.below(RESIDENT_BLOCKS),
            Turns::InTurn => OPEN_BLOCKS,
        };
        self.grids.push(Some(Begun {
            run,
            clusters: (0..blocks).step_by(run.shape.blocks_per_cluster() as usize),
            resident,
            open: 0,
            idle: Vec::new(),
        }));
        self.fill(self.grids.len() - 1, observer);
    }

    /// Begins further blocks of a grid while there is room for a cluster of them.
    fn fill(&mut self, index: usize, observer: &O) {
        let Some(grid) = &mut self.grids[index] else {
            return;
        };
        let each = grid.run.shape.blocks_per_cluster();
        while grid.open == 0 || grid.open + each <= grid.resident {
            let Some(number) = grid.clusters.next() else {
                break;
            };
            let cluster = begin_cluster(&grid.run, number, &mut grid.idle, observer);
            grid.open += each;
            let blocks = cluster.into_iter().map(|(_, block)| (index, block));
            self.open.extend(blocks);
        }
    }

    /// A block has finished: others of its grid take its place. Returns the grid where that was the last.
    fn finish(&mut self, chosen: usize, observer: &mut O) -> Option<Run<'a>> {
        let (index, block) = self.open.swap_remove_back(chosen)?;
        let grid = self.grids[index].as_mut()?;
        grid.idle.push(block);
        grid.open -= 1;
        self.fill(index, observer);
        let is_over = |grid: &mut Begun<'a, O>| grid.open == 0;
        let over = self.grids[index].take_if(is_over)?;
        for block in over.idle {
            merge(block, observer);
        }
        Some(over.run)
    }
}

/// Runs grids of the host side by side, or (without `begin`) only what their orders hold of them. Returns the first trap, and in which of
/// the launches it was.
pub(super) fn run<O: Observer>(
    roots: &[Run<'_>],
    begin: bool,
    mut orders: Vec<Order>,
    mut turns: Turns,
    observer: &mut O,
) -> Result<(), (usize, Box<Trap>)> {
    let children = Arena::new();
    let mut floor = Floor {
        grids: Vec::new(),
        open: VecDeque::new(),
    };
    if begin {
        for &root in roots {
            floor.begin(root, &mut turns, observer);
        }
    }
    let mut result = Ok(());
    loop {
        let mut ready: u64 = orders.iter().map(|order| order.ready() as u64).sum();
        if ready != 0 && turns.begins_a_grid(floor.open.is_empty()) {
            let mut chosen = turns.below(ready) as usize;
            let root = orders.iter().position(|order| {
                let is_here = chosen < order.ready();
                if !is_here {
                    chosen -= order.ready();
                }
                is_here
            });
            let root = root.unwrap_or(0);
            let child: &Child = children.alloc(orders[root].take(chosen));
            observer.grid(GridEvent {
                grid: child.number(),
                after: &child.after,
            });
            floor.begin(child.run(&roots[root]), &mut turns, observer);
            ready -= 1;
        }
        if floor.open.is_empty() {
            if ready == 0 {
                break;
            }
            continue;
        }
        let chosen = turns.below(floor.open.len() as u64) as usize;
        let (_, block) = &mut floor.open[chosen];
        let before = block.executed;
        let progress = match &mut turns {
            Turns::Random(schedule) => block.run_scheduled(schedule),
            Turns::InTurn => block.run(COOPERATIVE_TURN),
        };
        let executed = block.executed - before;
        let run = block.run;
        let launch = run.family.launch as usize;
        // Of a wait for grids, which is of one launch, the only one.
        let index = if roots.len() == 1 { 0 } else { launch };
        let steps = run.family.steps.fetch_add(executed, Ordering::Relaxed) + executed;
        // Who may wait for grids keeps them until then: the wait runs them.
        if !block.code.waits_for_grids || progress == Ok(Progress::Finished) {
            orders[index].launch(block.launches.take());
        }
        result = match progress {
            Ok(Progress::Finished) => {
                if let Some(grid) = floor.finish(chosen, observer) {
                    // The host's own does not count.
                    run.family.finish(u64::from(grid.shape.depth != 0));
                    orders[index].finish(grid.shape.number);
                }
                continue;
            }
            Ok(_) if run.max_steps != 0 && steps >= run.max_steps => {
                Err((launch, block.out_of_steps(run.max_steps)))
            }
            Ok(_) => {
                if matches!(turns, Turns::InTurn) {
                    floor.open.rotate_left(1);
                }
                continue;
            }
            Err(trap) => Err((launch, trap)),
        };
        break;
    }
    let idle = floor.grids.into_iter().flatten();
    let idle = idle.flat_map(|grid| grid.idle);
    for block in idle.chain(floor.open.into_iter().map(|(_, block)| block)) {
        merge(block, observer);
    }
    result
}

impl Turns {
    /// Whether a grid begins that a kernel has launched: at once, or at a time that chance decides.
    fn begins_a_grid(&mut self, nothing_else: bool) -> bool {
        match self {
            Self::Random(schedule) => nothing_else || schedule.one_in(BEGINNINGS),
            Self::InTurn => true,
        }
    }

    /// Which of the `end` choices is next.
    fn below(&mut self, end: u64) -> u64 {
        match self {
            Self::Random(schedule) => schedule.below(end),
            Self::InTurn => 0,
        }
    }
}

/// Adds what was seen of a block, and of the grids that it waited for.
fn merge<O: Observer>(block: Block<'_, '_, O>, observer: &mut O) {
    observer.merge(block.observer);
    if let Some(observed) = block.launches.observed {
        observer.merge(observed);
    }
}

impl<O: Observer> Block<'_, '_, O> {
    /// Gives a few turns to warps of the block.
    fn run_scheduled(&mut self, schedule: &mut Schedule) -> Result<Progress, Box<Trap>> {
        self.release_from_cluster();
        for _ in 0..schedule.turn(LONGEST_BLOCK_TURN_LOG2) {
            let ready = self.warps.iter().filter(|warp| warp.has_ready()).count();
            if ready == 0 {
                return self.rouse();
            }
            let chosen = schedule.below(ready as u64) as usize;
            let warps = self.warps.iter().enumerate();
            let number = warps
                .filter(|(_, warp)| warp.has_ready())
                .nth(chosen)
                .map_or(0, |(number, _)| number);
            if let Some(fragment) = draw(&mut self.warps[number], schedule) {
                let turn = self.run_fragment(number, fragment, schedule.turn(LONGEST_TURN_LOG2))?;
                let warp = &mut self.warps[number];
                match turn {
                    Turn::Over => {}
                    Turn::Paused(fragment) => warp.fragments.push(fragment),
                    Turn::Vain(fragment) => {
                        warp.release_waiting();
                        warp.fragments.push(fragment);
                    }
                }
            }
            rejoin(&mut self.warps[number].fragments);
            if self.copies.are_pending() && schedule.one_in(ARRIVALS) {
                self.finish_oldest_copy();
            }
            let warp = &mut self.warps[number];
            // Nothing says that lanes meet again where branches join.
            if schedule.one_in(PARTINGS) {
                warp.release_waiting();
            }
        }
        Ok(Progress::Unfinished)
    }
}

/// Takes out one of the fragments that can go on, or only some of its lanes.
fn draw(warp: &mut Warp, schedule: &mut Schedule) -> Option<Fragment> {
    let ready: Vec<usize> = (0..warp.fragments.len())
        .filter(|&index| warp.fragments[index].state == State::Ready)
        .collect();
    if ready.is_empty() {
        return None;
    }
    let index = ready[schedule.below(ready.len() as u64) as usize];
    let fragment = warp.fragments[index];
    // The more parts there are, the rarer do they part further: otherwise all would soon be single lanes.
    let apart = if schedule.one_in(4 * ready.len() as u64) {
        part(fragment.lanes, schedule)
    } else {
        0
    };
    if apart == 0 || apart == fragment.lanes {
        warp.fragments.remove(index);
        return Some(fragment);
    }
    warp.fragments[index].lanes = fragment.lanes & !apart;
    Some(Fragment {
        lanes: apart,
        ..fragment
    })
}

/// Some of the lanes: any of them, or those on one side of a lane.
fn part(lanes: u32, schedule: &mut Schedule) -> u32 {
    let any = schedule.next() as u32;
    let split = 1 + schedule.below(LANES as u64 - 1);
    lanes
        & match schedule.below(3) {
            0 => any,
            1 => u32::MAX << split,
            _ => !(u32::MAX << split),
        }
}

/// Lanes that stand at one instruction, bound for one reconvergence point, go on together.
fn rejoin(fragments: &mut Vec<Fragment>) {
    let mut index = 0;
    while index < fragments.len() {
        let fragment = fragments[index];
        let twin = fragments[..index].iter().position(|other| {
            fragment.state == State::Ready
                && other.state == State::Ready
                && (other.pc, other.frame, other.reconvergence)
                    == (fragment.pc, fragment.frame, fragment.reconvergence)
        });
        match twin {
            Some(twin) => {
                fragments[twin].lanes |= fragment.lanes;
                fragments.remove(index);
            }
            None => index += 1,
        }
    }
}
