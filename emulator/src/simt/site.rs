//! Who executes an instruction, and what may fail in one of its lanes.

use crate::error::Fault;

/// An instruction being executed: who, and where it stands in the text.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub warp: usize,
    /// Frame of the registers.
    pub frame: u32,
    /// The lanes that execute it.
    pub lanes: u32,
    pub line: u32,
    /// What the warp's clock shows.
    pub clock: u64,
}

/// What may fail in one lane: the fault, and the lane that caused it.
pub(super) type Faulty<T> = Result<T, (Fault, u32)>;
