//! Whose work counts: what has a part in what a launch leaves.

use super::picture::{Block, Cell, Step};
use super::steps::elements_of;
use std::collections::HashSet;

/// Finds the work that has a part in what the launch leaves: backwards, from those who write it.
pub(super) fn mark_used(blocks: &mut [Block]) {
    let writes = |is_wanted: fn(Cell) -> bool| {
        let work = blocks.iter().flat_map(|block| &block.steps);
        let mut writes = work
            .flat_map(|step| &step.work)
            .flat_map(|work| &work.writes);
        writes.any(|write| is_wanted(write.cell))
    };
    let is_result: fn(Cell) -> bool = if writes(|cell| matches!(cell, Cell::Total(_))) {
        |cell| matches!(cell, Cell::Total(_) | Cell::Next(_) | Cell::Status(_))
    } else if writes(|cell| matches!(cell, Cell::Partials(_))) {
        |cell| matches!(cell, Cell::Partials(_) | Cell::Status(_))
    } else {
        return;
    };
    mark_deciding(blocks);
    // What later steps need.
    let mut needed = Needed::default();
    let count = blocks.first().map_or(0, |block| block.steps.len());
    for step in (0..count).rev() {
        // Blocks begin in this order: of two in one step, the later one may need what the other has left.
        for (block, steps) in blocks.iter_mut().enumerate().rev() {
            needed.look_back(block, &mut steps.steps[step], is_result);
        }
    }
}

/// The cells whose contents are needed later, by block; those of global memory are everybody's.
#[derive(Default)]
struct Needed(HashSet<(Option<usize>, Cell)>);

impl Needed {
    fn key(block: usize, cell: Cell) -> (Option<usize>, Cell) {
        let is_own = matches!(cell, Cell::Shared(_) | Cell::Register(_));
        (is_own.then_some(block), cell)
    }

    fn contains(&self, block: usize, cell: Cell) -> bool {
        self.0.contains(&Self::key(block, cell))
    }

    /// Marks the work of one step before what has been looked at already.
    fn look_back(&mut self, block: usize, step: &mut Step, is_result: fn(Cell) -> bool) {
        for work in &mut step.work {
            let own = Cell::Register(work.thread);
            let feeds_register = !work.reads.is_empty() || work.from_register;
            work.is_used = work.is_used
                || !work.launches.is_empty()
                || work
                    .writes
                    .iter()
                    .any(|write| is_result(write.cell) || self.contains(block, write.cell))
                || feeds_register && self.contains(block, own);
        }
        // What is made anew here is not needed from before.
        for work in &step.work {
            for write in &work.writes {
                let is_new = match write.cell {
                    Cell::Register(_) => !work.from_register && elements_of(write).is_some(),
                    _ => true,
                };
                if is_new {
                    self.0.remove(&Self::key(block, write.cell));
                }
            }
        }
        // What lanes bring to an exchange without any element in it might as well not be there.
        let empty: HashSet<Cell> = step
            .registers
            .iter()
            .filter(|write| elements_of(write).is_some_and(<[usize]>::is_empty))
            .map(|write| write.cell)
            .collect();
        for work in step.work.iter().filter(|work| work.is_used) {
            let reads = work.reads.iter().filter(|cell| !empty.contains(cell));
            self.0.extend(reads.map(|&cell| Self::key(block, cell)));
            if work.from_register {
                let own = Cell::Register(work.thread);
                self.0.insert(Self::key(block, own));
            }
        }
    }
}

/// Marks the work that finds out whose turn it is, and no other: accesses to a counter, and reads of the words of shared memory in
/// which the thread that counts leaves what it has found.
fn mark_deciding(blocks: &mut [Block]) {
    for block in blocks {
        let mut verdicts: HashSet<Cell> = HashSet::new();
        for step in &mut block.steps {
            let mut changes = Vec::new();
            for work in &mut step.work {
                let counts = |cell: Cell| matches!(cell, Cell::Counter(_));
                let writes = || work.writes.iter();
                work.is_used = writes().any(|write| counts(write.cell))
                    || work
                        .reads
                        .iter()
                        .any(|&cell| counts(cell) || verdicts.contains(&cell));
                changes.extend(
                    writes()
                        .filter(|write| matches!(write.cell, Cell::Shared(_)))
                        .map(|write| {
                            let holds_none = elements_of(write).is_some_and(<[usize]>::is_empty);
                            (write.cell, work.is_used && holds_none)
                        }),
                );
            }
            for (cell, is_verdict) in changes {
                if is_verdict {
                    verdicts.insert(cell);
                } else {
                    verdicts.remove(&cell);
                }
            }
        }
    }
}
