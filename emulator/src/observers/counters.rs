//! Counts under the names of Nsight Compute's metrics.

use crate::observer::{
    AccessEvent, AccessKind, BarrierEvent, BranchEvent, InstructionEvent, Observer,
};
use crate::types::Space;

/// What a launch executed, counted on PTX instructions (a GPU's profiler counts the machine instructions made from them).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Warp instructions executed.
    pub inst_executed: u64,
    /// Thread instructions executed: the active lanes of each warp instruction, added up.
    pub thread_inst_executed: u64,
    /// Conditional branches executed by warps.
    pub branches: u64,
    /// Those at which the lanes of a warp went both ways.
    pub divergent_branches: u64,
    /// Bytes that threads loaded from global memory.
    pub global_load_bytes: u64,
    /// Bytes that threads stored to global memory.
    pub global_store_bytes: u64,
    /// Bytes that threads loaded from shared memory.
    pub shared_load_bytes: u64,
    /// Bytes that threads stored to shared memory.
    pub shared_store_bytes: u64,
    /// Atomic operations of threads, on any memory.
    pub atomics: u64,
    /// Arrivals of warps at block-wide barriers.
    pub barriers: u64,
}

impl Counters {
    /// The share of conditional branches at which a warp stayed together, from 0 to 1; 1 where there were no branches.
    pub fn branch_efficiency(&self) -> f64 {
        if self.branches == 0 {
            1.0
        } else {
            1.0 - self.divergent_branches as f64 / self.branches as f64
        }
    }
}

impl Observer for Counters {
    const ACCESSES: bool = true;

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.inst_executed += other.inst_executed;
        self.thread_inst_executed += other.thread_inst_executed;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.global_load_bytes += other.global_load_bytes;
        self.global_store_bytes += other.global_store_bytes;
        self.shared_load_bytes += other.shared_load_bytes;
        self.shared_store_bytes += other.shared_store_bytes;
        self.atomics += other.atomics;
        self.barriers += other.barriers;
    }

    #[inline(always)]
    fn instruction(&mut self, event: InstructionEvent) {
        self.inst_executed += 1;
        self.thread_inst_executed += u64::from(event.lanes.count_ones());
    }

    #[inline(always)]
    fn branch(&mut self, event: BranchEvent) {
        self.branches += 1;
        self.divergent_branches += u64::from(event.taken != 0 && event.not_taken != 0);
    }

    #[inline(always)]
    fn access(&mut self, event: AccessEvent<'_>) {
        let lanes = u64::from(event.lanes.count_ones());
        let bytes = lanes * u64::from(event.bytes);
        match (event.space, event.kind) {
            (_, AccessKind::Atomic) => self.atomics += lanes,
            (Space::Global, AccessKind::Load) => self.global_load_bytes += bytes,
            (Space::Global, AccessKind::Store) => self.global_store_bytes += bytes,
            (Space::Shared, AccessKind::Load) => self.shared_load_bytes += bytes,
            (Space::Shared, AccessKind::Store) => self.shared_store_bytes += bytes,
            _ => {}
        }
    }

    #[inline(always)]
    fn barrier(&mut self, _: BarrierEvent) {
        self.barriers += 1;
    }
}
