//! What can go wrong, as values: with the PTX text, with the guest's memory, with a launch, with a running kernel.

use crate::source::Origin;
use crate::types::Space;

/// What is wrong with a PTX text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}{}", if text.is_empty() { String::new() } else { format!(" in `{text}`") })]
pub struct PtxError {
    /// The line, counted from 1.
    pub line: usize,
    /// That line, trimmed; empty when the message says it all.
    pub text: String,
    /// What is wrong with it.
    pub message: String,
    /// Whether the text is valid as far as known, but needs something that the emulator does not implement.
    pub unsupported: bool,
}

/// A misuse of the guest's memory by the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The allocation does not fit.
    #[error("cannot allocate {bytes} bytes: {in_use} of the emulator's {limit} bytes are in use")]
    Exhausted {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes allocated before.
        in_use: usize,
        /// All there is.
        limit: usize,
    },
    /// The range is not inside one live allocation.
    #[error("{bytes} bytes at address {address:#x} are not inside one live allocation")]
    OutOfBounds {
        /// First guest address.
        address: u64,
        /// Length in bytes.
        bytes: usize,
    },
    /// The address is not the start of a live allocation.
    #[error("address {address:#x} is not the start of a live allocation")]
    NotAllocated {
        /// The address given.
        address: u64,
    },
}

/// Why a launch did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A module that cannot be loaded or an entry that cannot be compiled.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The module's variables do not fit into the memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A launch that no device would take, in one sentence.
    #[error("{0}")]
    Invalid(String),
    /// The kernel did something that it must not.
    #[error(transparent)]
    Trap(#[from] Box<Trap>),
}

/// A fault of a running kernel, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{fault}, in kernel `{kernel}`{}{}, block ({}, {}, {}), thread ({}, {}, {}), {}PTX line {line}: `{text}`",
    in_grid(*grid), on_device(*device), block[0], block[1], block[2], thread[0], thread[1], thread[2],
    origin.as_ref().map_or_else(String::new, |origin| format!("{origin}, "))
)]
pub struct Trap {
    /// What happened.
    pub fault: Fault,
    /// The entry that was launched.
    pub kernel: String,
    /// The number of the grid in the launch: 0 for the host's, then 1, 2 … in the order in which kernels launch theirs.
    pub grid: u64,
    /// The number of the device ([`Memory::device`](crate::Memory::device)).
    pub device: u8,
    /// `%ctaid` of the block.
    pub block: [u32; 3],
    /// `%tid` of the thread: the first one that faulted.
    pub thread: [u32; 3],
    /// The PTX line, counted from 1.
    pub line: usize,
    /// That line, trimmed.
    pub text: String,
    /// What it was compiled from, if the PTX says.
    pub origin: Option<Origin>,
}

/// The kinds of trap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An access outside every live allocation, or across the end of one.
    #[error("{access} of {bytes} bytes out of bounds at {} address {address:#x}{}", space.name(), hint(*address, *nearest))]
    OutOfBounds {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
        /// The allocation that begins nearest below, or, where there is none, above; or, at 0, the whole of a memory that is one: first
        /// address and length in bytes.
        nearest: Option<(u64, u64)>,
    },
    /// An access that goes by the address of a function's parameter and leaves the parameter.
    #[error("{access} of {bytes} bytes out of bounds at {} address {address:#x}: the parameter `{parameter}` of `{function}` has {length} bytes at {base:#x}", space.name())]
    OutsideParameter {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
        /// The parameter.
        parameter: String,
        /// The function.
        function: String,
        /// First address of the parameter's copy in the thread's local memory.
        base: u64,
        /// Its length in bytes.
        length: u32,
    },
    /// An access to an allocation that has been freed, by the host or by a kernel.
    #[error("{access} of {bytes} bytes at {} address {address:#x}, in an allocation of {allocated} bytes at {base:#x} that has been freed{}", space.name(), freed_by(*by))]
    Freed {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
        /// First address of the allocation that was.
        base: u64,
        /// Its length in bytes.
        allocated: u64,
        /// Where it was freed, if in the same launch.
        by: Option<FreePlace>,
    },
    /// `free` of what has been freed before.
    #[error("free of {address:#x}, which has been freed before{}", freed_by(*by))]
    FreedTwice {
        /// The address given.
        address: u64,
        /// Where it was freed, if in the same launch.
        by: Option<FreePlace>,
    },
    /// `free` of an address that `malloc` did not return, or whose allocation was freed so long ago that it is forgotten.
    #[error("free of {address:#x}, where no live allocation of `malloc` begins{}", hint(*address, *nearest))]
    NotAllocated {
        /// The address given.
        address: u64,
        /// As of [`Fault::OutOfBounds`].
        nearest: Option<(u64, u64)>,
    },
    /// An access through a null pointer, or a few bytes past one.
    #[error("{access} of {bytes} bytes through a null pointer, at {} address {address:#x}: check what the host passes{}", space.name(), if *is_in_shared { ", or, should it be a place in shared memory, convert its offset with cvta.shared first" } else { "" })]
    Null {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
        /// Whether it might be an offset in the block's shared memory as well.
        is_in_shared: bool,
    },
    /// A generic access to a small number that would be a place in the block's shared memory.
    #[error(
        "{access} of {bytes} bytes at generic address {address:#x}, which is an offset in shared memory and no generic address: convert it with cvta.shared first"
    )]
    SharedOffset {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The guest address.
        address: u64,
    },
    /// An access in one state space with an address of another.
    #[error("{access} of {bytes} bytes in {} memory at address {address:#x}, which is a generic address of {} memory: {}", space.name(), meant.name(), wrong_space_advice(*space))]
    WrongSpace {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
        /// Where the address points when it is taken as a generic one.
        meant: Space,
    },
    /// A generic access to an address that no state space is mapped at.
    #[error(
        "{access} of {bytes} bytes at generic address {address:#x}, which belongs to no state space: it was never a pointer"
    )]
    NoSpace {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The guest address.
        address: u64,
    },
    /// An access to the memory of another device to which the host has not enabled peer access.
    #[error("{access} of {bytes} bytes at {} address {address:#x}, which is in {}memory of device {device}: {}", space.name(), if *is_heap { "the heap in the " } else { "the " }, peer_advice(*device, *from, *is_heap))]
    NoPeerAccess {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes.
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
        /// The number of the device that the memory is of.
        device: u8,
        /// The number of the kernel's own device.
        from: u8,
        /// Whether it is in the heap from which kernels of that device allocate, which other devices never reach.
        is_heap: bool,
    },
    /// An access whose address is not a multiple of its width.
    #[error("{access} of {bytes} bytes misaligned at {} address {address:#x}", space.name())]
    Misaligned {
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Width of the access in bytes (of the whole vector).
        bytes: usize,
        /// The state space of the instruction.
        space: Space,
        /// The guest address.
        address: u64,
    },
    /// A store to memory that the kernel may only read.
    #[error("{access} to read-only memory at address {address:#x}")]
    ReadOnly {
        /// `store` or `atomic`.
        access: &'static str,
        /// The guest address.
        address: u64,
    },
    /// `trap` was executed: in Rust kernels a failed bounds check, an overflow or an explicit panic.
    #[error("the kernel executed a trap")]
    Trap,
    /// An `assert` did not hold.
    #[error("assertion `{condition}` failed at {file}:{line} in `{function}`")]
    Assertion {
        /// The condition, as the source spells it.
        condition: String,
        /// The source file.
        file: String,
        /// The line in it.
        line: u32,
        /// The function.
        function: String,
    },
    /// Some threads wait at a barrier that the others never reach.
    #[error(
        "barrier {barrier} is never completed: {waiting} of {expected} threads wait and {missing}"
    )]
    BarrierNeverCompleted {
        /// Number of the barrier, 0 to 15.
        barrier: u32,
        /// Threads that arrived.
        waiting: u32,
        /// Threads that must arrive.
        expected: u32,
        /// What the first of the others does instead.
        missing: Absence,
    },
    /// Threads wait at the barrier of their cluster, and no block of it can go on.
    #[error(
        "the barrier of the cluster is never completed: {arrived} of {expected} threads have arrived, and no block of the cluster can go on"
    )]
    ClusterBarrierNeverCompleted {
        /// Threads that arrived.
        arrived: u32,
        /// Threads that must arrive.
        expected: u32,
    },
    /// An access to the shared memory of a block of the cluster that has ended.
    #[error(
        "access to the shared memory of block {rank} of the cluster, which has ended: a barrier of the cluster (barrier.cluster) before its end would keep it"
    )]
    EndedBlock {
        /// The block's rank in the cluster.
        rank: u32,
    },
    /// Threads of one warp arrived at different barrier instructions.
    #[error(
        "barrier {barrier} was reached by one warp at two places, this one and line {other_line}"
    )]
    DivergentBarrier {
        /// Number of the barrier, 0 to 15.
        barrier: u32,
        /// A thread that waits at the other barrier instruction.
        other_thread: [u32; 3],
        /// The PTX line of that.
        other_line: u32,
    },
    /// A `.sync` instruction waits for lanes that never come.
    #[error("lanes {absent:#010x} of the mask {mask:#010x} never arrive: {missing}")]
    WarpSyncNeverCompleted {
        /// The member mask of the instruction.
        mask: u32,
        /// Those of it that have not exited and are elsewhere.
        absent: u32,
        /// What the first of the absent lanes does instead.
        missing: Absence,
    },
    /// A lane executed a `.sync` instruction whose mask does not name it.
    #[error("lane {lane} is not in its own member mask {mask:#010x}")]
    NotInMask {
        /// The lane.
        lane: u32,
        /// The mask it gave.
        mask: u32,
    },
    /// A bad operand that only shows at run time: a branch index, a function's address, the size of a copy.
    #[error("{0}")]
    BadOperand(String),
    /// A barrier that does not exist, or at which threads arrive in a way that it does not allow.
    #[error("{0}")]
    MisusedBarrier(String),
    /// A grid launched from the device, deeper than grids may nest.
    #[error(
        "launch of `{child}` at depth {}, where this launch lets grids nest {limit} deep: CUDA promises 24, whatever a GPU lets pass", limit + 1
    )]
    TooDeep {
        /// The kernel to be launched.
        child: String,
        /// The limit.
        limit: u32,
    },
    /// A grid launched from the device while too many others wait or run.
    #[error(
        "launch of `{child}` while {limit} grids launched from the device wait or run, which is the limit of this launch (a GPU returns error 69, cudaErrorLaunchPendingCountExceeded): the host can raise it"
    )]
    TooManyPending {
        /// The kernel to be launched.
        child: String,
        /// The limit.
        limit: u64,
    },
    /// A pointer to memory that only the launching block or thread can reach, passed to a grid.
    #[error(
        "launch of `{child}` with the address {address:#x} as parameter {parameter}, which is in the {} memory of the thread that launches it, where a child grid cannot reach: pass global memory", space.name()
    )]
    PointerToOwnMemory {
        /// The kernel to be launched.
        child: String,
        /// The parameter's number, from 0.
        parameter: usize,
        /// Shared or local.
        space: Space,
        /// The generic address.
        address: u64,
    },
    /// More instructions than the launch allows.
    #[error("stopped after {0} warp instructions, the limit of this launch")]
    StepLimit(u64),
    /// Calls nested too deeply: this many of them are open, or their local memory is more than a thread has.
    #[error("the stack overflows: {0} calls are open")]
    StackOverflow(usize),
}

/// Where a kernel freed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreePlace {
    /// The number of the grid in the launch.
    pub grid: u64,
    /// `%ctaid` of the block.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
    /// The PTX line of the call, counted from 1.
    pub line: u32,
}

/// Why a thread that others wait for does not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// It waits elsewhere.
    Waits {
        /// `%tid` of the thread.
        thread: [u32; 3],
        /// The PTX line at which it waits.
        line: u32,
    },
    /// It has exited.
    Exited {
        /// `%tid` of the thread.
        thread: [u32; 3],
        /// The PTX line at which the last lane of its warp to exit did so.
        line: u32,
    },
    /// There is no such thread.
    NoThread,
}

impl std::fmt::Display for Absence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Waits {
                thread: [x, y, z],
                line,
            } => write!(f, "thread ({x}, {y}, {z}) waits at line {line}"),
            Self::Exited {
                thread: [x, y, z],
                line,
            } => write!(
                f,
                "thread ({x}, {y}, {z}) has exited (its warp last exited at line {line})"
            ),
            Self::NoThread => f.write_str("the others are no running threads of this block"),
        }
    }
}

/// The grid for messages, where there may be several.
pub(crate) fn on_device(device: u8) -> String {
    match device {
        0 => String::new(),
        device => format!(" on device {device}"),
    }
}

fn peer_advice(device: u8, from: u8, is_heap: bool) -> String {
    if is_heap {
        "what a kernel allocates is for kernels of its own device only".to_owned()
    } else {
        format!(
            "device {from} may not access it before the host has enabled peer access from {from} to {device} (cuCtxEnablePeerAccess)"
        )
    }
}

fn in_grid(grid: u64) -> String {
    match grid {
        0 => String::new(),
        grid => format!(", grid {grid}"),
    }
}

fn freed_by(by: Option<FreePlace>) -> String {
    match by {
        None => String::new(),
        Some(by) => format!(
            " at line {}{} by block ({}, {}, {}), thread ({}, {}, {})",
            by.line,
            in_grid(by.grid),
            by.block[0],
            by.block[1],
            by.block[2],
            by.thread[0],
            by.thread[1],
            by.thread[2]
        ),
    }
}

fn wrong_space_advice(space: Space) -> &'static str {
    match space {
        Space::Global => {
            "use a generic instruction, or one of that space with the converted address"
        }
        _ => "convert it with cvta.to first",
    }
}

fn hint(address: u64, nearest: Option<(u64, u64)>) -> String {
    match nearest {
        Some((0, bytes)) => format!(" (that memory has {bytes} bytes)"),
        Some((base, _)) if base > address => format!(
            " ({} bytes before the first allocation, which begins at {base:#x})",
            base - address
        ),
        Some((base, bytes)) => {
            format!(" (the nearest allocation below has {bytes} bytes at {base:#x})")
        }
        None => String::new(),
    }
}
