//! A compiled kernel: flat instructions whose operands are row numbers and whose branches are instruction numbers.

use crate::address::Address;
use crate::row::Row;
use std::collections::HashMap;

use crate::alu::{Execute, Video};
use crate::observer::{AccessOrder, BranchFate, Scope};
use crate::registers::Rows;
use crate::syntax::Location;
use crate::types::Scalar;

/// "No instruction": where control flow does not reconverge.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// An entry with every function that it can reach.
#[derive(Debug)]
pub(crate) struct KernelCode {
    /// The entry first.
    pub functions: Vec<FunctionCode>,
    /// Whether it is the same in every memory that the module is loaded into, and nothing that it calls is left out.
    pub is_final: bool,
    /// Numbers of functions by their addresses.
    pub by_address: HashMap<u64, u32>,
    /// Whether a function takes the address of a parameter.
    pub copies_parameters: bool,
    /// The entries whose addresses it takes, in order to launch them.
    pub taken_entries: Vec<String>,
    /// Whether it may wait for grids that it has launched.
    pub waits_for_grids: bool,
    pub static_shared_bytes: u32,
    /// Whether the shared memory is used that belongs to the system.
    pub reserves_shared: bool,
    /// Offset of `extern .shared` arrays: past the static ones.
    pub dynamic_shared_offset: u32,
}

impl KernelCode {
    /// Shared memory of a block whose launch asks for `dynamic` bytes of it.
    pub fn shared_bytes(&self, dynamic: u32) -> u64 {
        match dynamic {
            0 => u64::from(self.static_shared_bytes),
            _ => u64::from(self.dynamic_shared_offset) + u64::from(dynamic),
        }
    }
}

/// One function.
#[derive(Debug)]
pub(crate) struct FunctionCode {
    pub name: String,
    pub instructions: Vec<Instruction>,
    /// The PTX line of each instruction.
    pub lines: Vec<u32>,
    /// The source line of each instruction, where the PTX says.
    pub locations: Vec<Option<Location>>,
    pub narrow_rows: usize,
    pub wide_rows: usize,
    pub predicate_rows: usize,
    pub narrow_values: Vec<(u32, Value)>,
    pub wide_values: Vec<(u32, Value)>,
    pub true_predicates: Vec<u32>,
    /// Local memory of one thread's frame.
    pub local_bytes: u32,
    /// What the frame's place in local memory is a multiple of.
    pub local_align: u32,
    /// The parameters whose addresses the function takes.
    pub copies: Vec<ParameterCopy>,
    /// Parameter memory of one thread's frame: its own parameters and results (not an entry's), and those of its calls.
    pub parameter_bytes: u32,
    pub parameters: Vec<Slice>,
    pub returns: Vec<Slice>,
}

/// A piece of a frame's parameter memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub offset: u32,
    pub bytes: u32,
}

/// A parameter's copy in local memory: what the parameter's address leads to (PTX ISA §5.1.6.4, "Device Function Parameters").
/// The parameter itself keeps its value.
#[derive(Debug)]
pub(crate) struct ParameterCopy {
    pub name: String,
    /// The parameter.
    pub from: Slice,
    /// Where the copy begins in the frame's local memory.
    pub local: u32,
}

/// Bytes of local memory before and after each copy, which nothing may access.
pub(crate) const COPY_GUARD_BYTES: u32 = 32;

/// What a row holds from the start of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Constant(u64),
    Special(Special),
    /// An address in the frame's local memory.
    Local(u32),
    /// Offset of the dynamic shared memory, plus this much.
    DynamicShared(u64),
}

/// Special registers that do not change while a thread runs (PTX ISA §10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    ThreadIndex(u8),
    BlockDim(u8),
    BlockIndex(u8),
    GridDim(u8),
    Lane,
    Warp,
    Warps,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicSharedBytes,
    TotalSharedBytes,
    /// Where the shared memory begins that the system's own code uses.
    ReservedShared,
    ReservedSharedEnd,
    /// The multiprocessor that a block is on, as if blocks were dealt out in turn.
    Multiprocessor,
    /// How many of them the device has.
    Multiprocessors,
    /// Clusters of blocks: their shape, how many there are, which one it is, and the block's place in it.
    ClusterDim(u8),
    Clusters(u8),
    ClusterIndex(u8),
    IndexInCluster(u8),
    RankInCluster,
    BlocksInCluster,
    /// Address of a cooperative launch's workspace, low half; 0 for other launches.
    WorkspaceLow,
    /// The same, high half.
    WorkspaceHigh,
}

/// Registers that must be read anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Instructions that the warp has executed, low half.
    Cycles,
    /// The same, high half.
    CyclesHigh,
    /// The same, whole.
    Cycles64,
    /// Nanoseconds of the host's clock since the launch began.
    Nanoseconds,
    NanosecondsLow,
    NanosecondsHigh,
}

/// One instruction with its guard: 0 without one, else `(predicate + 1) << 1 | negated`.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub guard: u32,
    pub op: Op,
}

#[derive(Debug)]
pub(crate) enum Op {
    Alu {
        execute: Execute,
        rows: Rows,
        extra: u32,
    },
    Video {
        rows: Rows,
        video: Box<Video>,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    Branch {
        target: u32,
        reconverge: u32,
        fate: BranchFate,
    },
    BranchTable(Box<BranchTable>),
    Call(Box<Call>),
    Builtin(Box<BuiltinCall>),
    Return,
    Exit,
    Trap,
    Barrier(Box<Barrier>),
    /// `barrier.cluster.arrive`
    ArriveAtCluster,
    /// `barrier.cluster.wait`
    WaitForCluster,
    /// `mapa`
    MapAddress {
        d: Row,
        a: Row,
        rank: u32,
    },
    /// `getctarank`
    RankOfAddress {
        d: u32,
        a: Row,
    },
    Collective(Box<Collective>),
    ActiveMask {
        d: u32,
    },
    Fence(Fence),
    Clock {
        d: Row,
        clock: Clock,
    },
    /// `mov.b64 d, {a, b}`
    Pack {
        d: Row,
        bits: u32,
        parts: Box<[Row]>,
    },
    /// `mov.b64 {a, b}, d`; a part may be the sink `_`.
    Unpack {
        a: Row,
        bits: u32,
        parts: Box<[Option<Row>]>,
    },
    /// `mov.b128`: the halves, each from a row to a row.
    MovePair {
        d: [Option<Row>; 2],
        a: [Row; 2],
    },
    Mbarrier(Box<Mbarrier>),
    /// `mbarrier.pending_count`
    MbarrierPending {
        d: u32,
        a: u32,
    },
    AsyncCopy(Box<AsyncCopy>),
    /// `cp.async.commit_group`, `cp.async.bulk.commit_group`
    CommitCopies {
        bulk: bool,
    },
    /// `cp.async.wait_group` and its like: all groups but the last N, or all copies.
    WaitForCopies {
        bulk: bool,
        but: Option<u32>,
    },
    /// `isspacep`
    IsSpace {
        d: u32,
        a: Row,
        window: (u64, u64),
    },
    /// `nanosleep`: lets others go first.
    Pause,
    /// Counts as executed and does nothing: prefetches, hints.
    Nothing,
}

/// A load or a store.
#[derive(Debug)]
pub(crate) struct Access {
    pub address: Address,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub element_bytes: u8,
    /// Whether narrow elements are sign-extended when loaded.
    pub signed: bool,
    /// One register per element of the vector; `None` is the sink `_`.
    pub registers: Box<[Option<Row>]>,
    pub order: AccessOrder,
    /// Whether 128 bits are accessed as one.
    pub is_whole: bool,
}

impl Access {
    /// Bytes of the whole vector.
    pub fn bytes(&self) -> u64 {
        u64::from(self.element_bytes) * self.registers.len() as u64
    }

    /// Whether a load may wait for what others write.
    pub fn observes(&self) -> bool {
        !self.order.is_weak()
    }
}

/// `cp.async`, `cp.async.bulk` and `cp.reduce.async.bulk` (PTX ISA §9.7.9.25), `st.async` (§9.7.9.12) and `red.async` (§9.7.13).
#[derive(Debug)]
pub(crate) struct AsyncCopy {
    pub from: CopySource,
    pub to: Address,
    /// How each element that comes is combined with the one at the destination; without it, it replaces that.
    pub reduction: Option<Reduction>,
    /// Any multiple of 16 bytes, aligned to 16; else 4, 8 or 16, aligned to their number.
    pub is_bulk: bool,
    /// The mbarrier that is told of the bytes.
    pub completes: Option<Address>,
    /// Narrow row: the ranks of the blocks of the cluster that all get the copy, at the same offset, and tell their mbarriers.
    pub multicast: Option<u32>,
}

/// What an asynchronous copy writes.
#[derive(Debug)]
pub(crate) enum CopySource {
    Memory {
        from: Address,
        /// Narrow row: bytes to write.
        bytes: u32,
        /// Narrow row: bytes to read; zeros make up for the rest.
        source_bytes: u32,
        /// Predicate as a source, for lanes that read nothing.
        ignored: Option<u32>,
    },
    /// Elements of 4 or 8 bytes, as wide as their rows.
    Registers(Box<[Row]>),
}

/// How elements are combined that come asynchronously.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub operation: AtomicOperation,
    pub ty: Scalar,
    pub order: AccessOrder,
}

/// An operation on a barrier in shared memory (PTX ISA §9.7.13.15).
#[derive(Debug)]
pub(crate) struct Mbarrier {
    pub address: Address,
    pub kind: MbarrierKind,
    /// Count, bytes, state or parity; 1 without it.
    pub operand: Option<Row>,
    /// Wide row that receives the barrier as it was.
    pub state: Option<u32>,
    /// Receives the answer of a test.
    pub predicate: Option<u32>,
    /// Whether the thread's asynchronous copies have to be complete first.
    pub after_copies: bool,
}

impl Mbarrier {
    /// Whether it looks if a phase is over.
    pub fn tests(&self) -> bool {
        matches!(
            self.kind,
            MbarrierKind::TestState | MbarrierKind::TestParity
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MbarrierKind {
    Init,
    /// More bytes are to come.
    Expect,
    /// Bytes have come.
    Complete,
    /// Threads arrive, for this phase or, dropped, for good.
    Arrive {
        dropped: bool,
    },
    ExpectAndArrive,
    /// Whether the phase of a state is over.
    TestState,
    /// Whether the phase of a parity is over.
    TestParity,
}

/// `fence` and `membar` (PTX ISA §9.7.13.4). On the emulator, which orders every access, all do the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fence {
    pub scope: Scope,
    /// Whether it has an order with its like.
    pub is_sequential: bool,
}

/// `atom` and `red` (PTX ISA §9.7.13).
#[derive(Debug)]
pub(crate) struct Atomic {
    pub address: Address,
    pub operation: AtomicOperation,
    pub order: AccessOrder,
    /// Of one element. Of 128 bits, the rows below are the two halves.
    pub ty: Scalar,
    /// Receive the old values, one of each element of the vector; `red` has none.
    pub d: Box<[Option<Row>]>,
    pub b: Box<[Row]>,
    /// The new value of `cas`.
    pub c: Box<[Row]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOperation {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

impl AtomicOperation {
    /// The operation that a modifier names.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "add" => Self::Add,
            "min" => Self::Min,
            "max" => Self::Max,
            "inc" => Self::Inc,
            "dec" => Self::Dec,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "exch" => Self::Exchange,
            "cas" => Self::CompareAndSwap,
            _ => return None,
        })
    }
}

#[derive(Debug)]
pub(crate) struct BranchTable {
    pub index: u32,
    pub targets: Box<[u32]>,
    pub reconverge: u32,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub callee: Callee,
    pub arguments: Vec<Slice>,
    pub results: Vec<Slice>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Callee {
    /// Index into [`KernelCode::functions`].
    Function(u32),
    /// Row with a function's address.
    Pointer(u32),
}

/// A call of a function that the device runtime provides.
#[derive(Debug)]
pub(crate) struct BuiltinCall {
    pub function: Builtin,
    pub arguments: Vec<Slice>,
    pub results: Vec<Slice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    /// `int vprintf(const char *format, const void *arguments)`
    Print,
    /// `void __assertfail(const char *condition, const char *file, unsigned line, const char *function, size_t character_bytes)`
    AssertFail,
    /// `void *malloc(size_t bytes)`
    Allocate,
    /// `void free(void *address)`
    Free,
    /// `void *cudaGetParameterBufferV2(void *kernel, dim3 grid, dim3 block, unsigned shared_bytes)`
    ParameterBuffer,
    /// `cudaError_t cudaLaunchDeviceV2(void *buffer, cudaStream_t stream)`
    LaunchGrid,
    /// `cudaError_t cudaGetLastError(void)`
    TakeError,
    /// `cudaError_t cudaPeekAtLastError(void)`
    PeekError,
    /// `cudaError_t cudaDeviceSynchronize(void)`, which devices have had up to CUDA 11.
    WaitForGrids,
}

impl Builtin {
    /// The function of this name, with the bytes of its results and of its arguments.
    pub fn of(name: &str) -> Option<(Self, &'static [u32], &'static [u32])> {
        Some(match name {
            "vprintf" => (Self::Print, &[4], &[8, 8]),
            "__assertfail" => (Self::AssertFail, &[], &[8, 8, 4, 8, 8]),
            "malloc" => (Self::Allocate, &[8], &[8]),
            "free" => (Self::Free, &[], &[8]),
            // The names up to CUDA 11, and those since.
            "cudaGetParameterBufferV2" | "__cudaCDP2GetParameterBufferV2" => {
                (Self::ParameterBuffer, &[8], &[8, 12, 12, 4])
            }
            "cudaLaunchDeviceV2" | "__cudaCDP2LaunchDeviceV2" => (Self::LaunchGrid, &[4], &[8, 8]),
            "cudaGetLastError" | "__cudaCDP2GetLastError" => (Self::TakeError, &[4], &[]),
            "cudaPeekAtLastError" | "__cudaCDP2PeekAtLastError" => (Self::PeekError, &[4], &[]),
            "cudaDeviceSynchronize" | "__cudaDeviceSynchronizeDeprecationAvoidance" => {
                (Self::WaitForGrids, &[4], &[])
            }
            _ => return None,
        })
    }
}

/// A block-wide barrier (PTX ISA §9.7.13.1).
#[derive(Debug)]
pub(crate) struct Barrier {
    pub id: u32,
    /// Row with the number of threads; all of the block without it.
    pub count: Option<u32>,
    pub kind: BarrierKind,
    /// All threads of a warp must execute the same barrier instruction.
    pub aligned: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// Counts the threads whose predicate holds.
    Count {
        d: u32,
        predicate: u32,
    },
    /// Whether it holds for all.
    And {
        d: u32,
        predicate: u32,
    },
    /// Whether it holds for any.
    Or {
        d: u32,
        predicate: u32,
    },
}

/// An instruction by which the lanes of a mask act together.
#[derive(Debug)]
pub(crate) struct Collective {
    /// Narrow row of the member mask; without one, the active lanes.
    pub members: Option<u32>,
    pub kind: CollectiveKind,
}

/// The kinds; predicates as sources are `number << 1 | negated`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    /// `bar.warp.sync`
    Barrier,
    Shuffle {
        mode: ShuffleMode,
        d: u32,
        valid: Option<u32>,
        a: u32,
        b: u32,
        c: u32,
    },
    VoteAll {
        d: u32,
        predicate: u32,
    },
    VoteAny {
        d: u32,
        predicate: u32,
    },
    VoteUniform {
        d: u32,
        predicate: u32,
    },
    Ballot {
        d: u32,
        predicate: u32,
    },
    MatchAny {
        d: u32,
        a: Row,
    },
    MatchAll {
        d: u32,
        valid: Option<u32>,
        a: Row,
    },
    Reduce {
        operation: AtomicOperation,
        ty: Scalar,
        d: u32,
        a: u32,
    },
    /// The least or the greatest of single-precision values.
    ReduceFloat {
        want_max: bool,
        of_magnitudes: bool,
        nan_propagates: bool,
        d: u32,
        a: u32,
    },
    Elect {
        d: Option<u32>,
        elected: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}
