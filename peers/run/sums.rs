//! What the library makes of the flagship, as contenders.

use crate::answer::Answer;
use crate::arena::{Arena, Input, MOST_SKIPPED};
use crate::contender::Contender;
use crate::element::Element;
use crate::error::PeersError;
use crate::record::{Finds, Maker};
use warpfold::device::Buffer;
use warpfold::machine::Machine;
use warpfold::sum::{Mode, Summer};
use warpfold_kernels::catalogue::Operator;

/// A way to call [`warpfold::sum`].
pub struct Sum<'m, T: Element> {
    name: String,
    summer: Summer<'m, T>,
    mode: Mode,
    input: Input,
    /// Elements before what it reads, where it begins behind the first; as many zeros are at the end of what it reads.
    skipped: Vec<T>,
    /// What it adds up to spoil its result.
    spoiler: Buffer<T>,
}

/// In either mode, where the mode makes a difference, and from the first elements on, where the input is not aligned as its words are.
pub fn all<'m, T: Element>(
    machine: &'m Machine,
    arena: &Arena<'_, T>,
) -> Result<Vec<Sum<'m, T>>, PeersError> {
    let sum = |name: &str, mode, skip: usize| {
        let head = arena.head();
        Ok::<_, PeersError>(Sum {
            name: name.to_owned(),
            summer: Summer::new(machine)?,
            mode,
            input: Input::Shared { skip },
            skipped: head[..skip.min(head.len())].to_vec(),
            spoiler: machine.device().upload(&[T::NO_PARTIAL])?,
        })
    };
    let mut all = vec![sum("warpfold::sum", Mode::Fast, 0)?];
    if T::ADDEND.rounds() {
        all.push(sum(
            "warpfold::sum (deterministic)",
            Mode::Deterministic,
            0,
        )?);
    }
    for skip in 1..=MOST_SKIPPED {
        all.push(sum(
            &format!("warpfold::sum, {skip} off"),
            Mode::Fast,
            skip,
        )?);
    }
    Ok(all)
}

impl<T: Element> Contender<T> for Sum<'_, T> {
    fn maker(&self) -> Maker {
        Maker::Warpfold
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn time_ms(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<f64, PeersError> {
        arena.time_ms(finds, &self.input, |stream, input| {
            Ok(self.summer.queue(stream, input, self.mode)?)
        })
    }

    fn spoil(&mut self) -> Result<(), PeersError> {
        self.summer.sum(&self.spoiler, self.mode)?;
        Ok(())
    }

    fn answer(&self) -> Result<Answer<T>, PeersError> {
        let mut parts = vec![self.summer.result()?];
        parts.extend(&self.skipped);
        Ok(Answer::Sum(T::finish(Operator::Sum, &parts)))
    }
}
