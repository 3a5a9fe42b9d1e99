//! A grid: its blocks, handed in order to the workers.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::{Block, Progress};
use super::grids::Child;
use super::run::Run;
use super::workers::Workers;
use crate::error::Trap;
use crate::observer::Observer;

/// Instructions after which a worker looks at another of its blocks, since blocks may wait for each other.
const BLOCK_TURN: u64 = 1 << 20;
/// The same in a cooperative launch, where they are expected to.
pub(super) const COOPERATIVE_TURN: u64 = 1 << 14;
/// Instructions that a block may have executed more than a later one that has trapped, before it is given up.
const GRACE: u64 = 1 << 20;
/// The most blocks that one worker keeps unfinished.
const OPEN_BLOCKS: usize = 256;

/// What the workers share.
struct Progression {
    next: AtomicU64,
    blocks: u64,
    /// Blocks from this one on need not run: it, or one before it, has trapped.
    end: AtomicU64,
    /// Blocks before it may trap too, but get no further than this many instructions: they may wait for the one that trapped.
    last_step: AtomicU64,
    trap: Mutex<Option<(u64, Box<Trap>)>>,
    /// What blocks have launched.
    launched: Mutex<Vec<(u64, Vec<Child>)>>,
}

/// Runs all blocks, and returns what each has launched, in their order. Of several traps, the one of the first block is returned.
pub(super) fn run<O: Observer>(
    run: &Run<'_>,
    observer: &mut O,
) -> Result<Vec<(u64, Vec<Child>)>, Box<Trap>> {
    let blocks = run.shape.blocks();
    let each = run.shape.blocks_per_cluster();
    let progression = Progression {
        // In a cooperative launch each worker has its own share from the start.
        next: AtomicU64::new(if run.shape.cooperative { blocks } else { 0 }),
        blocks,
        end: AtomicU64::new(blocks),
        last_step: AtomicU64::new(u64::MAX),
        trap: Mutex::new(None),
        launched: Mutex::new(Vec::new()),
    };
    let most = usize::try_from(blocks / each).unwrap_or(usize::MAX);
    let workers = Workers::take(run.threads.min(most));
    let count = workers.count();
    let share = |worker: usize| match run.shape.cooperative {
        true => (worker as u64 * each..blocks).step_by(count * each as usize),
        false => (0..0).step_by(1),
    };
    workers.run(observer, |worker, observer| {
        work(run, &progression, observer, share(worker))
    });
    match progression
        .trap
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
    {
        Some((_, trap)) => Err(trap),
        None => {
            let launched = progression.launched.into_inner();
            let mut launched = launched.unwrap_or_else(|poisoned| poisoned.into_inner());
            launched.sort_by_key(|&(block, _)| block);
            Ok(launched)
        }
    }
}

/// One worker: begins the blocks of its share, takes others in order, and returns what it observed.
fn work<'a, O: Observer>(
    run: &Run<'a>,
    progression: &Progression,
    observer: O,
    share: impl Iterator<Item = u64>,
) -> O {
    let mut collected = observer.fork();
    let mut idle: Vec<Block<'a, 'a, O>> = Vec::new();
    let mut open: VecDeque<(u64, Block<'a, 'a, O>)> = VecDeque::new();
    for number in share {
        open.extend(begin_cluster(run, number, &mut idle, &observer));
    }
    // A block that cannot go on may wait for one that has yet to begin.
    let mut wants_new = true;
    loop {
        let next = if (wants_new || open.is_empty()) && open.len() < OPEN_BLOCKS {
            take_next(progression, run.shape.blocks_per_cluster())
        } else {
            None
        };
        let (number, mut block) = match next {
            Some(number) => {
                let mut cluster = begin_cluster(run, number, &mut idle, &observer);
                let first = cluster.pop_front();
                // The others have their turn before those that wait already.
                for other in cluster.into_iter().rev() {
                    open.push_front(other);
                }
                match first {
                    Some(first) => first,
                    None => break,
                }
            }
            None => match open.pop_front() {
                Some(open) => open,
                None => break,
            },
        };
        let is_needed = number < progression.end.load(Ordering::Relaxed)
            && block.executed < progression.last_step.load(Ordering::Relaxed);
        wants_new = false;
        match is_needed.then(|| step(run, &mut block)) {
            None => {
                block.abandon_cluster();
                idle.push(block);
            }
            Some(Ok(Progress::Finished)) => {
                let children = block.launches.take();
                if !children.is_empty() {
                    let launched = progression.launched.lock();
                    launched
                        .unwrap_or_else(|poisoned| poisoned.into_inner())
                        .push((number, children));
                }
                idle.push(block);
            }
            Some(Ok(Progress::Unfinished | Progress::Waiting)) => {
                wants_new = true;
                open.push_back((number, block));
                std::thread::yield_now();
            }
            Some(Err(trap)) => {
                block.abandon_cluster();
                record(progression, number, block.executed, trap);
                idle.push(block);
            }
        }
    }
    for block in idle {
        collected.merge(block.observer);
        if let Some(observed) = block.launches.observed {
            collected.merge(observed);
        }
    }
    collected
}

/// Begins the block of a number, or the cluster of which it is the first.
pub(super) fn begin_cluster<'a, O: Observer>(
    run: &Run<'a>,
    number: u64,
    idle: &mut Vec<Block<'a, 'a, O>>,
    observer: &O,
) -> VecDeque<(u64, Block<'a, 'a, O>)> {
    let each = run.shape.blocks_per_cluster();
    let mut cluster: VecDeque<_> = (number..number + each)
        .map(|number| {
            let mut block = idle.pop().unwrap_or_else(|| {
                let observer = observer.fork();
                Block::new(run, observer)
            });
            block.begin(run.shape.block_index(number));
            (number, block)
        })
        .collect();
    let mut blocks: Vec<_> = cluster.iter_mut().map(|(_, block)| block).collect();
    Block::make_cluster(number / each, &mut blocks);
    cluster
}

fn record(progression: &Progression, number: u64, executed: u64, trap: Box<Trap>) {
    progression.end.fetch_min(number, Ordering::Relaxed);
    progression
        .last_step
        .fetch_min(executed.saturating_add(GRACE), Ordering::Relaxed);
    let mut first = progression
        .trap
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if first.as_ref().is_none_or(|(other, _)| number < *other) {
        *first = Some((number, trap));
    }
}

/// The first block of the next cluster.
fn take_next(progression: &Progression, each: u64) -> Option<u64> {
    let end = progression
        .end
        .load(Ordering::Relaxed)
        .min(progression.blocks);
    if progression.next.load(Ordering::Relaxed) >= end {
        return None;
    }
    let number = progression.next.fetch_add(each, Ordering::Relaxed);
    (number < end).then_some(number)
}

/// Runs a block for a turn, within the launch's limit of instructions.
fn step<O: Observer>(run: &Run<'_>, block: &mut Block<'_, '_, O>) -> Result<Progress, Box<Trap>> {
    let mut turn = match run.shape.cooperative {
        true => COOPERATIVE_TURN,
        false => BLOCK_TURN,
    };
    if run.max_steps != 0 {
        turn = turn.min(
            run.max_steps
                .saturating_sub(run.family.steps.load(Ordering::Relaxed)),
        );
    }
    let before = block.executed;
    let progress = block.run(turn)?;
    let steps = run
        .family
        .steps
        .fetch_add(block.executed - before, Ordering::Relaxed)
        + block.executed
        - before;
    if run.max_steps != 0 && progress != Progress::Finished && steps >= run.max_steps {
        return Err(block.out_of_steps(run.max_steps));
    }
    Ok(progress)
}
