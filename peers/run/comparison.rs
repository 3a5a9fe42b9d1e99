//! Everybody on one input, in turn.

use crate::arena::Arena;
use crate::contender::Contender;
use crate::element::{self, Element};
use crate::error::PeersError;
use crate::library::Library;
use crate::ours;
use crate::process::Process;
use crate::record::{Finds, LeftOut, Measurement, Record};
use crate::sums;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use warpfold::device::Times;
use warpfold::machine::Machine;

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
    pub machine: Machine,
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
        let mut arena = Arena::new(self.machine.device(), values)?;
        let mut contenders = Vec::new();
        for mut contender in self.contenders(&arena, record)? {
            match verify(contender.as_mut(), &mut arena, Finds::Warm) {
                Ok(()) => contenders.push(contender),
                Err(error) if error.is_of_one() || error.is_wrong_peer(contender.maker()) => {
                    let name = format!("{} at {n} of {}", contender.name(), element::name::<T>());
                    leave_out(record, &name, &error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let launches = launches(self.repeat, n);
        eprintln!(
            "{n} of {}: {} contenders, {launches} launches of each",
            element::name::<T>(),
            contenders.len()
        );
        for &finds in self
            .finds
            .iter()
            .filter(|&&finds| finds != Finds::Idle || n <= IDLE)
        {
            for contender in &mut contenders {
                verify(contender.as_mut(), &mut arena, finds)?;
            }
            let mut times = vec![Vec::new(); contenders.len()];
            for _ in 0..launches {
                for (contender, times) in contenders.iter_mut().zip(&mut times) {
                    times.push(contender.time_ms(&mut arena, finds)?);
                }
            }
            for (contender, elapsed_ms) in contenders.iter().zip(times) {
                arena.check(contender.name(), contender.answer()?)?;
                let times = Times { elapsed_ms };
                record.measurements.push(Measurement {
                    maker: contender.maker(),
                    name: contender.name().to_owned(),
                    element_type: element::name::<T>().to_owned(),
                    n,
                    finds,
                    launches,
                    median_ms: times.median_ms(),
                    fastest_ms: times.fastest_ms(),
                });
            }
        }
        drop(contenders);
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
            for LeftOut { name, reason } in left_out {
                leave_out(record, &name, &reason);
            }
        }
        for one in sums::all(machine, arena)? {
            all.push(Box::new(one));
        }
        if let Some(library) = &self.library {
            for one in library.contenders(machine.device(), n, self.block, with_ladder)? {
                all.push(Box::new(one));
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
                Err(error) if error.is_of_one() => {
                    leave_out(record, process.borrow().name, &error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}

/// Whether one launch leaves the right answer.
fn verify<T: Element>(
    contender: &mut (dyn Contender<T> + '_),
    arena: &mut Arena<'_, T>,
    finds: Finds,
) -> Result<(), PeersError> {
    contender.spoil()?;
    contender.time_ms(arena, finds)?;
    arena.check(contender.name(), contender.answer()?)
}

/// Puts it on record that somebody does not take part, once.
pub fn leave_out(record: &mut Record, name: &str, reason: &str) {
    let left_out = LeftOut {
        name: name.to_owned(),
        reason: reason.to_owned(),
    };
    if !record.left_out.contains(&left_out) {
        record.left_out.push(left_out);
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
