//! Random schedules: blocks, warps and lanes advance in an order that a seed decides.
//!
//! A GPU promises no order: any resident block may run, any warp of it, and since Volta any group of lanes of that warp
//! (independent thread scheduling), even where they have not diverged. Here each of these choices is drawn anew for every turn
//! of a few instructions; converged lanes part at random and go on together where they happen to stand at one instruction
//! again, at the latest behind a barrier of theirs. One host thread runs it all, so that a seed gives one schedule.

use super::block::{Block, Progress, Turn};
use super::launch::{Run, begin_cluster};
use super::warp::{Fragment, State, Warp};
use crate::error::Trap;
use crate::observer::Observer;
use crate::registers::LANES;

/// The most blocks that are resident at a time, unless they are to be so all.
const RESIDENT_BLOCKS: u64 = 8;
/// A fragment's turn has 1, 2, 4 … or, at most, 2 to this power instructions.
const LONGEST_TURN_LOG2: u64 = 5;
/// A block's turn has 1, 2, 4 … or, at most, 2 to this power turns of its fragments.
const LONGEST_BLOCK_TURN_LOG2: u64 = 1;

/// After one in so many turns, the oldest asynchronous copy is complete.
const ARRIVALS: u64 = 16;
/// After one in so many turns, lanes that wait for the rest of their warp go on without it.
const PARTINGS: u64 = 32;

/// The source of all choices: SplitMix64 (Steele, Lea, Flood 2014).
pub(super) struct Schedule {
    state: u64,
}

impl Schedule {
    fn new(seed: u64) -> Self {
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

/// Runs all blocks of a launch by the schedule of a seed.
pub(super) fn run<O: Observer>(
    run: &Run<'_>,
    seed: u64,
    observer: &mut O,
) -> Result<(), Box<Trap>> {
    let mut schedule = Schedule::new(seed);
    let mut steps = 0;
    let mut result = Ok(());
    let each = run.shape.blocks_per_cluster();
    let mut clusters = (0..run.shape.blocks()).step_by(each as usize);
    let resident = match run.shape.cooperative {
        true => run.shape.blocks(),
        false => 1 + schedule.below(RESIDENT_BLOCKS),
    };
    let mut idle: Vec<Block<'_, '_, O>> = Vec::new();
    let mut open: Vec<Block<'_, '_, O>> = Vec::new();
    let template = observer.fork();
    loop {
        while open.is_empty() || open.len() as u64 + each <= resident {
            let Some(number) = clusters.next() else {
                break;
            };
            let cluster = begin_cluster(run, number, &mut idle, &template);
            open.extend(cluster.into_iter().map(|(_, block)| block));
        }
        if open.is_empty() {
            break;
        }
        let chosen = schedule.below(open.len() as u64) as usize;
        let block = &mut open[chosen];
        let before = block.executed;
        let progress = block.run_scheduled(&mut schedule);
        steps += block.executed - before;
        result = match progress {
            Ok(Progress::Finished) => {
                idle.push(open.swap_remove(chosen));
                continue;
            }
            Ok(_) if run.max_steps != 0 && steps >= run.max_steps => {
                Err(block.out_of_steps(run.max_steps))
            }
            Ok(_) => continue,
            Err(trap) => Err(trap),
        };
        break;
    }
    for block in idle.into_iter().chain(open) {
        observer.merge(block.observer);
    }
    result
}

impl<O: Observer> Block<'_, '_, O> {
    /// Gives a few turns to warps of the block.
    fn run_scheduled(&mut self, schedule: &mut Schedule) -> Result<Progress, Box<Trap>> {
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

/// Lanes that stand at one instruction, bound for one meeting, go on together.
fn rejoin(fragments: &mut Vec<Fragment>) {
    let mut index = 0;
    while index < fragments.len() {
        let fragment = fragments[index];
        let twin = fragments[..index].iter().position(|other| {
            fragment.state == State::Ready
                && other.state == State::Ready
                && (other.pc, other.frame, other.meeting)
                    == (fragment.pc, fragment.frame, fragment.meeting)
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
