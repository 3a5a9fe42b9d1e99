//! How observers see a running kernel: events that they may count, check or record, and never change.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

use crate::types::Space;

/// A block begins. All events belong to it until the next block begins.
#[derive(Clone, Copy, Debug)]
pub struct BlockEvent {
    /// The number of its grid in the launch: 0 for the host's, then 1, 2 … in the order in which kernels launch theirs.
    pub grid: u64,
    /// `%ctaid` of the block.
    pub index: [u32; 3],
    /// `%ntid`: its shape.
    pub shape: [u32; 3],
    /// Bytes of shared memory that it has, static and dynamic.
    pub shared_bytes: u64,
    /// The number in the grid of the cluster that it belongs to.
    pub cluster: u64,
    /// Its rank in that.
    pub rank: u32,
    /// How many blocks that has.
    pub cluster_blocks: u32,
}

/// A warp executes an instruction.
#[derive(Clone, Copy, Debug)]
pub struct InstructionEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lanes that execute it: bit i for lane i.
    pub lanes: u32,
    /// The lanes that stand at it. Its guard may keep some of them from executing it.
    pub active: u32,
    /// The lanes of the warp that have not exited.
    pub live: u32,
}

/// A warp executes a conditional branch.
#[derive(Clone, Copy, Debug)]
pub struct BranchEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lanes that jump; of a branch through a table, those that go where the first lane goes.
    pub taken: u32,
    /// The other lanes: they go on with the next instruction, or elsewhere.
    pub not_taken: u32,
    /// What a GPU's machine code is expected to have in its place.
    pub fate: BranchFate,
}

/// What ptxas, the assembler in NVIDIA's driver, is expected to make of a conditional branch of the PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BranchFate {
    /// It stays a branch: it jumps back, or over a long body, or over one with an instruction that gets no guard (another branch, an
    /// atomic, a fence, a barrier, an exchange between lanes), or over one that both loads from and stores to global memory.
    #[default]
    Kept,
    /// A conditional exit: one of its ways leads to the end of the function at once.
    Exit,
    /// None: the few instructions that it jumps over get its condition as their guard.
    Predicated,
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

impl AccessKind {
    /// The name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        }
    }
}

/// For which threads a strong access or a fence counts (PTX ISA §8.5 "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`: those of the block.
    Block,
    /// `.cluster`: those of its cluster.
    Cluster,
    /// `.gpu`, `.sys`, and where nothing is said: all of the launch.
    Gpu,
}

/// How an access is ordered against those of other threads (PTX ISA §8 "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessOrder {
    /// Not at all.
    Weak,
    /// `.volatile`: done as written, in the order written, and ordered against nothing else.
    Volatile,
    /// `.relaxed`, and atomics that name no order: they do not race with each other.
    Relaxed(Scope),
    /// `.acquire`, `.release` or both.
    AcquireRelease(Scope),
}

impl AccessOrder {
    /// Keeps the host's accesses before it apart from those after it, where the order asks for that.
    pub(crate) fn fence(self) {
        if matches!(self, Self::AcquireRelease(_)) {
            fence(Ordering::SeqCst);
        }
    }

    /// For whom; a `.volatile` access is for all.
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Weak | Self::Volatile => Scope::Gpu,
            Self::Relaxed(scope) | Self::AcquireRelease(scope) => scope,
        }
    }

    /// The same for others.
    pub(crate) fn with_scope(self, scope: Scope) -> Self {
        match self {
            Self::Weak | Self::Volatile => self,
            Self::Relaxed(_) => Self::Relaxed(scope),
            Self::AcquireRelease(_) => Self::AcquireRelease(scope),
        }
    }
}

/// Lanes of a warp order their accesses (`fence`, `membar`).
#[derive(Clone, Copy, Debug)]
pub struct FenceEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The lanes that take part.
    pub lanes: u32,
    /// For whom.
    pub scope: Scope,
    /// Whether it is a `membar` or `fence.sc`, which have an order among themselves.
    pub is_sequential: bool,
}

/// A memory instruction of a warp.
#[derive(Clone, Copy, Debug)]
pub struct AccessEvent<'a> {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// What it does.
    pub kind: AccessKind,
    /// How it is ordered.
    pub order: AccessOrder,
    /// Where the addresses point: global, shared, local, const or param, never generic.
    pub space: Space,
    /// Bytes that each lane accesses: 1 to 32; an asynchronous copy any number, and a bulk copy any multiple of 16.
    pub bytes: u32,
    /// The lanes that take part.
    pub lanes: u32,
    /// The address of each lane in `space`; those of other lanes mean nothing. One in the shared memory of another block of the
    /// cluster has that block's rank, plus 1, in bits 24 and up.
    pub addresses: &'a [u64; 32],
    /// Whether it belongs to the completion of asynchronous copies that [`Observer::copied`] told of last.
    pub completes_copies: bool,
}

/// Lanes of a warp copy memory asynchronously. The copies are issued ([`Observer::copy`]), and complete at any later time
/// ([`Observer::copied`], for all of them or some at a time). After that, what they read and wrote is told as accesses: a load and a
/// store or an atomic operation for all lanes with as many bytes, and then an atomic operation on the mbarriers. A multicast is a copy
/// into each of the blocks.
#[derive(Clone, Copy, Debug)]
pub struct CopyEvent<'a> {
    /// The number of the issue in the block.
    pub number: u64,
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line of the copy, counted from 1.
    pub line: u32,
    /// The lanes whose copies these are.
    pub lanes: u32,
    /// Where they read.
    pub from_space: Space,
    /// The first address that each lane's copy reads.
    pub from: &'a [u64; 32],
    /// How many bytes it reads: none where registers are stored, or where another of the copies of a multicast is told to read.
    pub from_bytes: &'a [u32; 32],
    /// Where they write.
    pub to_space: Space,
    /// The first address that each lane's copy writes.
    pub to: &'a [u64; 32],
    /// How many bytes it writes: zeros after those that it has read.
    pub to_bytes: &'a [u32; 32],
    /// How they write: a reduction is an atomic operation on each element there.
    pub to_kind: AccessKind,
    /// How that is ordered.
    pub to_order: AccessOrder,
    /// The mbarrier in shared memory that is told of each lane's bytes; without it, the lane waits for a group.
    pub mbarriers: Option<&'a [u64; 32]>,
    /// Whether they are part of a multicast, of which each block has a part.
    pub is_multicast: bool,
}

/// Lanes of a warp arrive at a block-wide barrier.
#[derive(Clone, Copy, Debug)]
pub struct BarrierEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lanes that arrive.
    pub lanes: u32,
    /// The lanes of the warp that have not exited.
    pub live: u32,
    /// The barrier's number.
    pub barrier: u32,
    /// Whether they wait for the others. The lanes of a `bar.arrive` go on at once.
    pub waits: bool,
    /// Whether the instruction asks that all lanes of the warp execute it together (`.aligned`, and every `bar`).
    pub aligned: bool,
}

/// All have arrived at a block-wide barrier.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseEvent<'a> {
    /// The barrier's number.
    pub barrier: u32,
    /// Who arrived, including those that did not wait: warps with their lanes, in the order of arrival.
    pub arrived: &'a [(u32, u32)],
}

/// Lanes of a warp arrive at the barrier of their cluster, or have waited for it.
#[derive(Clone, Copy, Debug)]
pub struct ClusterBarrierEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lanes.
    pub lanes: u32,
    /// The cluster's number in the grid.
    pub cluster: u64,
    /// How often the barrier will have been completed when those who arrive now go on.
    pub phase: u32,
    /// Whether they have waited, and all others have come.
    pub waits: bool,
}

/// The lanes of a member mask act together: a shuffle, a vote, a match, a reduction or a warp barrier.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1; of several (warp barriers may be) that of the last to arrive.
    pub line: u32,
    /// The lanes that act.
    pub lanes: u32,
    /// Whether it is a warp barrier, which orders the accesses of its lanes; the others order nothing.
    pub is_barrier: bool,
    /// The member mask that each of them gave; lanes that have exited may be named in it too.
    pub mask: u32,
}

/// What a memory instruction moved: told after its [`AccessEvent`], once for each element of a vector; of an
/// asynchronous copy, for every 4 bytes; of an asynchronous reduction, for each element of its type.
#[derive(Clone, Copy, Debug)]
pub struct ValuesEvent<'a> {
    /// The warp's number in its block.
    pub warp: u32,
    /// The lanes that take part.
    pub lanes: u32,
    /// What each lane loaded or stored, or what its atomic operation left in memory; those of other lanes mean nothing.
    pub values: &'a [u64; 32],
}

/// Lanes of a warp get values from each other's registers: a shuffle, or a reduction over the warp.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeEvent<'a> {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lanes that act.
    pub lanes: u32,
    /// For each of them the lanes whose values its result is made of: bit i for lane i.
    pub sources: &'a [u32; 32],
    /// What each lane brings.
    pub values: &'a [u32; 32],
}

/// A thread launches a grid.
#[derive(Clone, Copy, Debug)]
pub struct GridLaunchEvent {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lane.
    pub lane: u32,
    /// The number of the new grid.
    pub grid: u64,
    /// How many grids deep it is: 1 for what the host's grid launches.
    pub generation: u32,
    /// How many grids launched by kernels wait or run now, this one included.
    pub pending: u64,
}

/// A grid that a kernel launched begins. One of the forks of an observer is told, at a time when it has no block.
#[derive(Clone, Copy, Debug)]
pub struct GridEvent<'a> {
    /// Its number.
    pub grid: u64,
    /// The grids that it had to wait for: they are complete, with all that they have launched.
    pub after: &'a [u64],
}

/// A thread has waited for the grids that its block has launched.
#[derive(Clone, Copy, Debug)]
pub struct GridWaitEvent<'a> {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// The lane.
    pub lane: u32,
    /// The numbers of these grids, which are complete, with all that they have launched.
    pub grids: &'a [u64],
}

/// Lanes of a warp enter a function, which has local memory of its own.
#[derive(Clone, Debug)]
pub struct CallEvent<'a> {
    /// The warp's number in its block.
    pub warp: u32,
    /// The lanes, a bit for each.
    pub lanes: u32,
    /// The addresses of that memory, which holds anything at all.
    pub local: Range<u64>,
    /// What of it holds parameters that the caller has passed.
    pub copies: &'a [Range<u64>],
}

/// A thread prints (`printf`).
#[derive(Clone, Copy, Debug)]
pub struct PrintEvent<'a> {
    /// The warp's number in its block.
    pub warp: u32,
    /// The PTX line, counted from 1.
    pub line: u32,
    /// `%ctaid` of the block.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
    /// What it prints, formatted.
    pub text: &'a str,
}

/// Sees what a kernel does. Each block in flight has an instance: forked before the launch, merged after it.
pub trait Observer: Send {
    /// Whether [`Observer::access`] wants to be called: gathering the addresses costs time.
    const ACCESSES: bool;
    /// Whether [`Observer::values`] wants to be called: gathering the values costs time.
    const VALUES: bool = false;
    /// Whether blocks must run on one host thread, because the observer depends on their order.
    const IN_ORDER: bool = false;

    /// An observer that has seen nothing, for another block.
    fn fork(&self) -> Self;
    /// Adds what the other has seen.
    fn merge(&mut self, other: Self);

    /// A block begins.
    #[inline(always)]
    fn block(&mut self, _event: BlockEvent) {}
    /// A warp executes an instruction.
    #[inline(always)]
    fn instruction(&mut self, _event: InstructionEvent) {}
    /// A warp executes a conditional branch.
    #[inline(always)]
    fn branch(&mut self, _event: BranchEvent) {}
    /// A warp accesses memory.
    #[inline(always)]
    fn access(&mut self, _event: AccessEvent<'_>) {}
    /// What the access moved that was told of last.
    #[inline(always)]
    fn values(&mut self, _event: ValuesEvent<'_>) {}
    /// Lanes of a warp issue asynchronous copies.
    #[inline(always)]
    fn copy(&mut self, _event: CopyEvent<'_>) {}
    /// Copies that were issued are complete.
    #[inline(always)]
    fn copied(&mut self, _event: CopyEvent<'_>) {}
    /// Lanes of a warp get values from each other's registers.
    #[inline(always)]
    fn exchange(&mut self, _event: ExchangeEvent<'_>) {}
    /// Lanes of a warp arrive at a block-wide barrier.
    #[inline(always)]
    fn barrier(&mut self, _event: BarrierEvent) {}
    /// A block-wide barrier lets its threads go on.
    #[inline(always)]
    fn release(&mut self, _event: ReleaseEvent<'_>) {}
    /// Lanes of a warp arrive at the barrier of their cluster, or have waited for it.
    #[inline(always)]
    fn cluster_barrier(&mut self, _event: ClusterBarrierEvent) {}
    /// Lanes of a warp act together.
    #[inline(always)]
    fn collective(&mut self, _event: CollectiveEvent) {}
    /// Lanes of a warp order their accesses (`fence`, `membar`).
    #[inline(always)]
    fn fence(&mut self, _event: FenceEvent) {}
    /// Lanes of a warp exit.
    #[inline(always)]
    fn exit(&mut self, _event: InstructionEvent) {}
    /// Lanes of a warp enter a function that has local memory; told to those who want accesses.
    #[inline(always)]
    fn call(&mut self, _event: CallEvent<'_>) {}
    /// A thread launches a grid.
    #[inline(always)]
    fn grid_launch(&mut self, _event: GridLaunchEvent) {}
    /// A grid that a kernel launched begins.
    #[inline(always)]
    fn grid(&mut self, _event: GridEvent<'_>) {}
    /// A thread has waited for the grids that its block has launched.
    #[inline(always)]
    fn grid_wait(&mut self, _event: GridWaitEvent<'_>) {}
    /// A thread prints.
    #[inline(always)]
    fn print(&mut self, _event: PrintEvent<'_>) {}
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

/// Sees everything, or, where there is none, nothing.
impl<O: Observer> Observer for Option<O> {
    const ACCESSES: bool = O::ACCESSES;
    const VALUES: bool = O::VALUES;
    const IN_ORDER: bool = O::IN_ORDER;

    fn fork(&self) -> Self {
        self.as_ref().map(O::fork)
    }
    fn merge(&mut self, other: Self) {
        if let (Some(observer), Some(other)) = (self, other) {
            observer.merge(other);
        }
    }
    fn block(&mut self, event: BlockEvent) {
        self.iter_mut().for_each(|observer| observer.block(event));
    }
    fn instruction(&mut self, event: InstructionEvent) {
        self.iter_mut()
            .for_each(|observer| observer.instruction(event));
    }
    fn branch(&mut self, event: BranchEvent) {
        self.iter_mut().for_each(|observer| observer.branch(event));
    }
    fn access(&mut self, event: AccessEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.access(event));
    }
    fn values(&mut self, event: ValuesEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.values(event));
    }
    fn copy(&mut self, event: CopyEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.copy(event));
    }
    fn copied(&mut self, event: CopyEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.copied(event));
    }
    fn exchange(&mut self, event: ExchangeEvent<'_>) {
        self.iter_mut()
            .for_each(|observer| observer.exchange(event));
    }
    fn barrier(&mut self, event: BarrierEvent) {
        self.iter_mut().for_each(|observer| observer.barrier(event));
    }
    fn release(&mut self, event: ReleaseEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.release(event));
    }
    fn cluster_barrier(&mut self, event: ClusterBarrierEvent) {
        self.iter_mut()
            .for_each(|observer| observer.cluster_barrier(event));
    }
    fn collective(&mut self, event: CollectiveEvent) {
        self.iter_mut()
            .for_each(|observer| observer.collective(event));
    }
    fn fence(&mut self, event: FenceEvent) {
        self.iter_mut().for_each(|observer| observer.fence(event));
    }
    fn exit(&mut self, event: InstructionEvent) {
        self.iter_mut().for_each(|observer| observer.exit(event));
    }
    fn call(&mut self, event: CallEvent<'_>) {
        self.iter_mut()
            .for_each(|observer| observer.call(event.clone()));
    }
    fn grid_launch(&mut self, event: GridLaunchEvent) {
        self.iter_mut()
            .for_each(|observer| observer.grid_launch(event));
    }
    fn grid(&mut self, event: GridEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.grid(event));
    }
    fn grid_wait(&mut self, event: GridWaitEvent<'_>) {
        self.iter_mut()
            .for_each(|observer| observer.grid_wait(event));
    }
    fn print(&mut self, event: PrintEvent<'_>) {
        self.iter_mut().for_each(|observer| observer.print(event));
    }
}

/// Both see everything; for more than two, nest.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACCESSES: bool = A::ACCESSES || B::ACCESSES;
    const VALUES: bool = A::VALUES || B::VALUES;
    const IN_ORDER: bool = A::IN_ORDER || B::IN_ORDER;

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }
    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
        self.1.merge(other.1);
    }
    #[inline(always)]
    fn block(&mut self, event: BlockEvent) {
        self.0.block(event);
        self.1.block(event);
    }
    #[inline(always)]
    fn instruction(&mut self, event: InstructionEvent) {
        self.0.instruction(event);
        self.1.instruction(event);
    }
    #[inline(always)]
    fn branch(&mut self, event: BranchEvent) {
        self.0.branch(event);
        self.1.branch(event);
    }
    #[inline(always)]
    fn access(&mut self, event: AccessEvent<'_>) {
        self.0.access(event);
        self.1.access(event);
    }
    #[inline(always)]
    fn values(&mut self, event: ValuesEvent<'_>) {
        self.0.values(event);
        self.1.values(event);
    }
    fn copy(&mut self, event: CopyEvent<'_>) {
        self.0.copy(event);
        self.1.copy(event);
    }
    fn copied(&mut self, event: CopyEvent<'_>) {
        self.0.copied(event);
        self.1.copied(event);
    }
    #[inline(always)]
    fn exchange(&mut self, event: ExchangeEvent<'_>) {
        self.0.exchange(event);
        self.1.exchange(event);
    }
    #[inline(always)]
    fn barrier(&mut self, event: BarrierEvent) {
        self.0.barrier(event);
        self.1.barrier(event);
    }
    #[inline(always)]
    fn release(&mut self, event: ReleaseEvent<'_>) {
        self.0.release(event);
        self.1.release(event);
    }
    fn cluster_barrier(&mut self, event: ClusterBarrierEvent) {
        self.0.cluster_barrier(event);
        self.1.cluster_barrier(event);
    }
    #[inline(always)]
    fn collective(&mut self, event: CollectiveEvent) {
        self.0.collective(event);
        self.1.collective(event);
    }
    #[inline(always)]
    fn fence(&mut self, event: FenceEvent) {
        self.0.fence(event);
        self.1.fence(event);
    }
    #[inline(always)]
    fn exit(&mut self, event: InstructionEvent) {
        self.0.exit(event);
        self.1.exit(event);
    }
    fn call(&mut self, event: CallEvent<'_>) {
        self.0.call(event.clone());
        self.1.call(event);
    }
    fn grid_launch(&mut self, event: GridLaunchEvent) {
        self.0.grid_launch(event);
        self.1.grid_launch(event);
    }
    fn grid(&mut self, event: GridEvent<'_>) {
        self.0.grid(event);
        self.1.grid(event);
    }
    fn grid_wait(&mut self, event: GridWaitEvent<'_>) {
        self.0.grid_wait(event);
        self.1.grid_wait(event);
    }
    fn print(&mut self, event: PrintEvent<'_>) {
        self.0.print(event);
        self.1.print(event);
    }
}
