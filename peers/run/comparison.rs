//! Everybody on one input, in turn.

use crate::arena::Arena;
use crate::contender::Contender;
use crate::element::{self, Element};
use crate::error::PeersError;
use crate::library::Library;
use crate::ours;
use crate::process::Process;
use crate::record::{Finds, LeftOut, Record};
use crate::rounds::{Field, leave_out, place};
use crate::sums;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use warpfold::Device;

const SEED: u64 = 42;
/// Numbers of elements that the steps of the ladder add up: below, they all cost a launch, and above, the first of them take long.
const LADDER: RangeInclusive<usize> = 1 << 16..=1 << 28;
/// The most elements for which the host's part of a call is worth a look.
const IDLE: usize = 1 << 24;
/// The fewest timed launches, where as many are asked for.
const FEWEST_LAUNCHES: usize = 21;

/// Who takes part at all.
pub struct Comparison {
    /// Where ours run.
    pub machine: Device,
    /// Those in C++.
    pub library: Option<Rc<Library>>,
    /// Those that are asked.
    pub processes: Vec<Rc<RefCell<Process>>>,
    /// What the launches find.
    pub finds: Vec<Finds>,
    /// Timed launches of inputs that are not large.
    pub repeat: usize,
    /// Threads of a block, where the contender leaves it open.
    pub block: u32,
}

impl Comparison {
    /// Times everybody on n elements of a type, and puts it on record.
    pub fn compare<T: Element>(&self, n: usize, record: &mut Record) -> Result<(), PeersError> {
        let values =
            element::values::<T>(n, SEED).map_err(|source| PeersError::HostMemory { n, source })?;
        let mut arena = Arena::new(&self.machine, values)?;
        let contenders = self.contenders(&arena, record)?;
        let mut field = Field::new(contenders, &mut arena, record)?;
        let launches = launches(self.repeat, n);
        eprintln!(
            "{n} of {}: {} contenders, {launches} launches of each",
            element::name::<T>(),
            field.len()
        );
        for &finds in &self.finds {
            if finds != Finds::Idle || n <= IDLE {
                field.measure(&mut arena, finds, launches, record)?;
            }
        }
        drop(field);
        for process in &self.processes {
            // Where it does not answer any more, it has let go of everything.
            let _ = process.borrow_mut().close();
        }
        Ok(())
    }

    /// Everybody who takes part, with memory of their own; who does not is put on record.
    fn contenders<T: Element>(
        &self,
        arena: &Arena<'_, T>,
        record: &mut Record,
    ) -> Result<Vec<Box<dyn Contender<T> + '_>>, PeersError> {
        let (machine, n) = (&self.machine, arena.n());
        let place = place(arena, None);
        let mut all: Vec<Box<dyn Contender<T> + '_>> = Vec::new();
        for one in ours::ceilings(machine, n)? {
            all.push(Box::new(one));
        }
        let with_ladder = LADDER.contains(&n);
        if with_ladder {
            let (ladder, left_out) = ours::ladder(machine, n, self.block)?;
            for one in ladder {
                all.push(Box::new(one));
            }
            for LeftOut { name, at, reason } in left_out {
                leave_out(record, &name, at.as_ref(), &reason);
            }
        }
        for one in sums::all(machine, arena)? {
            all.push(Box::new(one));
        }
        if let Some(library) = &self.library {
            for one in library.contenders(machine, n, self.block, with_ladder) {
                match one {
                    Ok(one) => all.push(Box::new(one)),
                    Err(PeersError::Contender { name, message, .. }) => {
                        leave_out(record, &name, Some(&place), &message);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        for process in &self.processes {
            let opened = Process::open(process, arena);
            match opened {
                Ok(contenders) => {
                    for one in contenders {
                        all.push(Box::new(one));
                    }
                }
                Err(PeersError::Process { name, message }) => {
                    leave_out(record, name, Some(&place), &message);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}

/// Timed launches of each contender: as many as asked for up to 2^24 elements, and half as many with every fourfold beyond; an odd
/// number, which has a middle.
fn launches(repeat: usize, n: usize) -> usize {
    let fourfolds = (n >> 24).checked_ilog2().unwrap_or(0).div_ceil(2);
    (repeat >> fourfolds).max(FEWEST_LAUNCHES.min(repeat)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_inputs_are_launched_less_often() {
        let launches = [10, 24, 25, 26, 28, 30].map(|log2| launches(101, 1 << log2));
        assert_eq!(launches, [101, 101, 51, 51, 25, 21]);
        assert_eq!(super::launches(3, 1 << 30), 3);
    }
}
