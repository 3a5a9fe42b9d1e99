//! What takes part in a comparison.

use crate::answer::Answer;
use crate::arena::Arena;
use crate::element::Element;
use crate::error::PeersError;
use crate::record::{Finds, Maker};

/// Somebody's reduction, ready to be launched again and again on the input of an arena.
pub trait Contender<T: Element> {
    /// Who wrote it.
    fn maker(&self) -> Maker;

    /// What it is called.
    fn name(&self) -> &str;

    /// The milliseconds of one launch.
    fn time_ms(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<f64, PeersError>;

    /// Overwrites what the last launch has left, so that a launch that leaves nothing is found out.
    fn spoil(&mut self) -> Result<(), PeersError>;

    /// What the last launch has left.
    fn answer(&self) -> Result<Answer<T>, PeersError>;
}
