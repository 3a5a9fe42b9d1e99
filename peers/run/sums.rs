//! What the library makes of the flagship, as contenders.

use crate::answer::Answer;
use crate::arena::{Arena, Input, MOST_SKIPPED};
use crate::contender::Contender;
use crate::element::Element;
use crate::error::PeersError;
use crate::record::{Finds, Maker};
use warpfold::Device;
use warpfold::device::Buffer;
use warpfold::sum::{self, Mode};
use warpfold_kernels::catalogue::Operator;

/// A way to call [`warpfold::sum()`].
pub struct Library<'m, T: Element> {
    name: String,
    ours: sum::Sum<'m, T>,
    mode: Mode,
    input: Input,
    /// The elements that it skips, where it does not begin with the first; as many zeros are at the end of what it reads.
    skipped: Vec<T>,
    /// What it adds up to spoil its result.
    spoiler: Buffer<T>,
}

/// In either mode, where the mode makes a difference, and from the first elements on, where the input is not aligned as its words are.
pub fn all<'m, T: Element>(
    machine: &'m Device,
    arena: &Arena<'_, T>,
) -> Result<Vec<Library<'m, T>>, PeersError> {
    let sum = |name: &str, mode, skip: usize| {
        let head = arena.head();
        Ok::<_, PeersError>(Library {
            name: name.to_owned(),
            ours: sum::Sum::new(machine)?,
            mode,
            input: Input::Shared { skip },
            skipped: head[..skip.min(head.len())].to_vec(),
            spoiler: machine.upload(&[T::NO_PARTIAL])?,
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

impl<T: Element> Contender<T> for Library<'_, T> {
    fn maker(&self) -> Maker {
        Maker::Warpfold
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn time_ms(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<f64, PeersError> {
        arena.time_ms(finds, &self.input, |stream, input| {
            Ok(self.ours.queue(stream, input, self.mode)?)
        })
    }

    fn spoil(&mut self) -> Result<(), PeersError> {
        self.ours.of(&self.spoiler, self.mode)?;
        Ok(())
    }

    fn answer(&self) -> Result<Answer<T>, PeersError> {
        let mut parts = vec![self.ours.result()?];
        parts.extend(&self.skipped);
        Ok(Answer::Sum(T::finish(Operator::Sum, &parts)))
    }
}
