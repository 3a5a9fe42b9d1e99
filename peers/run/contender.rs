//! What takes part in a comparison.

use crate::arena::{Answer, Arena};
use crate::error::PeersError;
use crate::record::{Cache, Maker};

/// What stands where a sum has not been written yet.
pub const NOT_WRITTEN: i32 = 0x5eed_0bad;

/// Somebody's reduction, ready to be launched again and again on the input of an arena.
pub trait Contender {
    /// Who wrote it.
    fn maker(&self) -> Maker;

    /// What it is called.
    fn name(&self) -> &str;

    /// The milliseconds of one launch.
    fn time_ms(&mut self, arena: &mut Arena, cache: Cache) -> Result<f64, PeersError>;

    /// Overwrites what the last launch has left, so that a launch that leaves nothing is found out.
    fn spoil(&mut self) -> Result<(), PeersError>;

    /// What the last launch has left.
    fn answer(&self) -> Result<Answer, PeersError>;
}
