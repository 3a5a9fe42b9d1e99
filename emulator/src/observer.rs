//! How observers see a running kernel: events that they may count, check or record, and never change.

use std::any::Any;
use std::ops::{BitOr, Range};
use std::sync::atomic::{Ordering, fence};

use crate::types::Space;

/// A block begins. All events belong to it until the next block begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockEvent {
    /// The number of its grid in the launch: 0 for the host's, then 1, 2 … in the order in which kernels launch theirs. Of several launches
    /// that run at the same time ([`launch_together`](crate::launch_together)) the host's grids have the first numbers.
    pub grid: u64,
    /// Which of those launches it comes of, counted from 0.
    pub launch: u32,
    /// The number of its device ([`Memory::device`](crate::Memory::device)).
    pub device: u8,
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

impl BlockEvent {
    /// Whether the host has launched its grid.
    pub(crate) fn is_of_host(&self) -> bool {
        self.grid == u64::from(self.launch)
    }
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
    /// `.gpu`, and where nothing is said: those of its device.
    Gpu,
    /// `.sys`: those of all devices.
    System,
}

/// How an access is ordered against those of other threads (PTX ISA §8 "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessOrder {
    /// Not at all.
    Weak,
    /// `ld.global.nc`: not at all, and with the promise that nobody writes there as long as the grid runs.
    ReadOnly,
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

    /// Whether it is ordered against nothing and atomic for nobody.
    pub(crate) fn is_weak(self) -> bool {
        matches!(self, Self::Weak | Self::ReadOnly)
    }

    /// For whom; a `.volatile` access is for all.
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Weak | Self::ReadOnly | Self::Volatile => Scope::System,
            Self::Relaxed(scope) | Self::AcquireRelease(scope) => scope,
        }
    }

    /// The same for others.
    pub(crate) fn with_scope(self, scope: Scope) -> Self {
        match self {
            Self::Weak | Self::ReadOnly | Self::Volatile => self,
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
    /// The address of each lane in `space`; those of other lanes mean nothing. Of global memory, [`Memory::device_of`](crate::Memory::device_of)
    /// tells the device. One in the shared memory of another block of the
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

/// What an observer wants beyond the events that cost nothing to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`Observer::access`], [`Observer::copy`] with its accesses and [`Observer::call`]: gathering the addresses costs time.
    pub accesses: bool,
    /// [`Observer::values`]: gathering the values costs time.
    pub values: bool,
    /// All blocks on one host thread, because the observer depends on their order.
    pub in_order: bool,
}

impl Wants {
    /// No more than the cheap events.
    pub const LITTLE: Self = Self {
        accesses: false,
        values: false,
        in_order: false,
    };
    /// The accesses as well.
    pub const ACCESSES: Self = Self {
        accesses: true,
        ..Self::LITTLE
    };
}

impl BitOr for Wants {
    type Output = Self;

    /// What either wants.
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self {
            accesses: self.accesses || other.accesses,
            values: self.values || other.values,
            in_order: self.in_order || other.in_order,
        }
    }
}

/// Calls a macro with all events: documentation, name, type.
macro_rules! for_each_event {
    ($callback:ident) => {
        $callback! {
            /// A block begins.
            block(BlockEvent);
            /// A warp executes an instruction.
            instruction(InstructionEvent);
            /// A warp executes a conditional branch.
            branch(BranchEvent);
            /// A warp executes an unconditional branch.
            jump(InstructionEvent);
            /// A warp accesses memory.
            access(AccessEvent<'_>);
            /// What the access moved that was told of last.
            values(ValuesEvent<'_>);
            /// Lanes of a warp issue asynchronous copies.
            copy(CopyEvent<'_>);
            /// Copies that were issued are complete.
            copied(CopyEvent<'_>);
            /// Lanes of a warp get values from each other's registers.
            exchange(ExchangeEvent<'_>);
            /// Lanes of a warp arrive at a block-wide barrier.
            barrier(BarrierEvent);
            /// A block-wide barrier lets its threads go on.
            release(ReleaseEvent<'_>);
            /// Lanes of a warp arrive at the barrier of their cluster, or have waited for it.
            cluster_barrier(ClusterBarrierEvent);
            /// Lanes of a warp act together.
            collective(CollectiveEvent);
            /// Lanes of a warp order their accesses (`fence`, `membar`).
            fence(FenceEvent);
            /// Lanes of a warp exit.
            exit(InstructionEvent);
            /// Lanes of a warp enter a function that has local memory; told to those who want accesses.
            call(CallEvent<'_>);
            /// A thread launches a grid.
            grid_launch(GridLaunchEvent);
            /// A grid that a kernel launched begins.
            grid(GridEvent<'_>);
            /// A thread has waited for the grids that its block has launched.
            grid_wait(GridWaitEvent<'_>);
            /// A thread prints.
            print(PrintEvent<'_>);
        }
    };
}

macro_rules! observer {
    ($($(#[$doc:meta])* $event:ident($type:ty);)*) => {
        /// Sees what a kernel does. Each block in flight has an instance: forked before the launch, merged after it.
        pub trait Observer: Send + 'static {
            /// What it wants, the same at all times and of all that are forked from it.
            fn wants(&self) -> Wants;
            /// An observer that has seen nothing, for another block.
            fn fork(&self) -> Self;
            /// Adds what the other has seen.
            fn merge(&mut self, other: Self);

            $(
                $(#[$doc])*
                #[inline(always)]
                fn $event(&mut self, _event: $type) {}
            )*
        }

        /// An [`Observer`] whose type is not known any more. Launches take it in this form, so that what executes kernels is not
        /// compiled again for each.
        pub trait Watch: Send + Any {
            /// [`Observer::wants`].
            fn wants(&self) -> Wants;
            /// [`Observer::fork`].
            fn fork_watch(&self) -> Box<dyn Watch>;
            /// [`Observer::merge`] with one of the same type; one of another type is dropped.
            fn merge_watch(&mut self, other: Box<dyn Watch>);

            $(
                #[doc = concat!("[`Observer::", stringify!($event), "`].")]
                fn $event(&mut self, event: $type);
            )*
        }

        impl<O: Observer> Watch for O {
            fn wants(&self) -> Wants {
                Observer::wants(self)
            }
            fn fork_watch(&self) -> Box<dyn Watch> {
                Box::new(self.fork())
            }
            fn merge_watch(&mut self, other: Box<dyn Watch>) {
                let other: Box<dyn Any> = other;
                if let Ok(other) = other.downcast() {
                    self.merge(*other);
                }
            }

            $(fn $event(&mut self, event: $type) {
                Observer::$event(self, event);
            })*
        }

        impl Observer for Watched {
            #[inline(always)]
            fn wants(&self) -> Wants {
                self.wants
            }
            fn fork(&self) -> Self {
                Self::of(&*self.observer)
            }
            fn merge(&mut self, other: Self) {
                self.observer.merge_watch(other.observer);
            }

            $(#[inline(always)]
            fn $event(&mut self, event: $type) {
                self.observer.$event(event);
            })*
        }

        /// Sees everything, or, where there is none, nothing.
        impl<O: Observer> Observer for Option<O> {
            fn wants(&self) -> Wants {
                self.as_ref().map_or(Wants::LITTLE, O::wants)
            }
            fn fork(&self) -> Self {
                self.as_ref().map(O::fork)
            }
            fn merge(&mut self, other: Self) {
                if let (Some(observer), Some(other)) = (self, other) {
                    observer.merge(other);
                }
            }

            $(#[inline(always)]
            fn $event(&mut self, event: $type) {
                if let Some(observer) = self {
                    observer.$event(event);
                }
            })*
        }

        /// Both see everything; for more than two, nest.
        impl<A: Observer, B: Observer> Observer for (A, B) {
            #[inline(always)]
            fn wants(&self) -> Wants {
                Observer::wants(&self.0) | Observer::wants(&self.1)
            }
            fn fork(&self) -> Self {
                (self.0.fork(), self.1.fork())
            }
            fn merge(&mut self, other: Self) {
                self.0.merge(other.0);
                self.1.merge(other.1);
            }

            $(#[inline(always)]
            fn $event(&mut self, event: $type) {
                Observer::$event(&mut self.0, event.clone());
                Observer::$event(&mut self.1, event);
            })*
        }
    };
}

for_each_event!(observer);

/// Any observer but [`Nothing`], as those see it who execute kernels.
pub(crate) struct Watched {
    wants: Wants,
    observer: Box<dyn Watch>,
}

impl Watched {
    /// One that has seen nothing, forked from this.
    pub fn of(observer: &dyn Watch) -> Self {
        Self {
            wants: observer.wants(),
            observer: observer.fork_watch(),
        }
    }

    /// What it has become.
    pub fn into_watch(self) -> Box<dyn Watch> {
        self.observer
    }
}

/// Observes nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Observer for Nothing {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::LITTLE
    }
    fn fork(&self) -> Self {
        Self
    }
    fn merge(&mut self, _: Self) {}
}
