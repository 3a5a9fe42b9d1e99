//! How observers see a running kernel: events that they may count, check or record, and never change.

use crate::types::Space;

/// An executed warp instruction.
#[derive(Clone, Copy, Debug)]
pub struct InstructionEvent {
    /// Its PTX line, counted from 1.
    pub line: u32,
    /// The lanes that execute it: bit i for lane i.
    pub lanes: u32,
}

/// An executed conditional branch.
#[derive(Clone, Copy, Debug)]
pub struct BranchEvent {
    /// Its PTX line, counted from 1.
    pub line: u32,
    /// The lanes that jump.
    pub taken: u32,
    /// The lanes that go on with the next instruction.
    pub not_taken: u32,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one.
    Atomic,
}

/// A memory instruction of a warp.
#[derive(Clone, Copy, Debug)]
pub struct AccessEvent<'a> {
    /// Its PTX line, counted from 1.
    pub line: u32,
    /// What it does.
    pub kind: AccessKind,
    /// Where the addresses point: global, shared, local, const or param, never generic.
    pub space: Space,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// The lanes that take part.
    pub lanes: u32,
    /// The address of each lane in `space`; those of other lanes mean nothing.
    pub addresses: &'a [u64; 32],
}

/// A warp's arrival at a block-wide barrier.
#[derive(Clone, Copy, Debug)]
pub struct BarrierEvent {
    /// Its PTX line, counted from 1.
    pub line: u32,
    /// The lanes that arrive.
    pub lanes: u32,
}

/// Sees what a kernel does. One instance per host thread: forked before the launch, merged behind it.
pub trait Observer: Send {
    /// Whether [`Observer::access`] wants to be called: gathering the addresses costs time.
    const ACCESSES: bool;

    /// An observer that has seen nothing, for another host thread.
    fn fork(&self) -> Self;
    /// Adds what the other has seen.
    fn merge(&mut self, other: Self);

    /// A warp executes an instruction.
    #[inline(always)]
    fn instruction(&mut self, _event: InstructionEvent) {}
    /// A warp executes a conditional branch.
    #[inline(always)]
    fn branch(&mut self, _event: BranchEvent) {}
    /// A warp accesses memory.
    #[inline(always)]
    fn access(&mut self, _event: AccessEvent<'_>) {}
    /// A warp arrives at a block-wide barrier.
    #[inline(always)]
    fn barrier(&mut self, _event: BarrierEvent) {}
}

/// Observes nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Observer for Nothing {
    const ACCESSES: bool = false;
    fn fork(&self) -> Self {
        Self
    }
    fn merge(&mut self, _: Self) {}
}
