//! Counts what NVIDIA's profiler Nsight Compute counts on a GPU; [`metrics`](super::metrics) gives the names.

use std::ops::AddAssign;

use super::banks::conflicts;
use super::coalescing::coalesce;
use crate::observer::{
    AccessEvent, AccessKind, BarrierEvent, BranchEvent, BranchFate, InstructionEvent, Observer,
    Wants,
};
use crate::registers::{FULL, LANES, each_lane};
use crate::types::Space;

/// What a launch executed, counted on PTX instructions (a GPU's profiler counts the machine instructions made from them).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Warp instructions executed.
    pub inst_executed: u64,
    /// Thread instructions executed: the active lanes of each warp instruction, added up, with those that a guard keeps from
    /// having an effect.
    pub thread_inst_executed: u64,
    /// The same without the lanes that a guard keeps from having an effect.
    pub thread_inst_executed_pred_on: u64,
    /// Conditional branches executed by warps.
    pub branches: u64,
    /// Those at which the lanes of a warp went both ways.
    pub divergent_branches: u64,
    /// Unconditional branches executed by warps.
    pub jumps: u64,
    /// Executed conditional branches that are expected to be branches in the machine code too.
    pub assembled_branches: u64,
    /// Those at which the lanes of a warp went both ways.
    pub assembled_divergent_branches: u64,
    /// Loads from global memory.
    pub global_loads: GlobalTraffic,
    /// Stores to global memory.
    pub global_stores: GlobalTraffic,
    /// Atomic operations on global memory.
    pub global_atomics: GlobalTraffic,
    /// Loads from shared memory.
    pub shared_loads: SharedTraffic,
    /// Stores to shared memory.
    pub shared_stores: SharedTraffic,
    /// Atomic operations on shared memory.
    pub shared_atomics: SharedTraffic,
    /// Loads from constant memory.
    pub constant_loads: ConstantTraffic,
    /// Atomic operations of threads, on any memory.
    pub atomics: u64,
    /// How often sectors of global memory are served to atomics: once for each lane with the same address.
    pub global_atomic_passes: u64,
    /// Arrivals of warps at block-wide barriers.
    pub barriers: u64,
}

/// Accesses of one kind to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Warp instructions.
    pub requests: u64,
    /// The 32-byte sectors that they touch, each counted once per request.
    pub sectors: u64,
    /// The sectors that it would take if the bytes of each request lay side by side.
    pub ideal_sectors: u64,
    /// Bytes that threads asked for.
    pub bytes: u64,
    /// Bytes that requests asked for: a byte that several lanes share is counted once.
    pub useful_bytes: u64,
}

/// Accesses of one kind to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Warp instructions.
    pub requests: u64,
    /// The turns in which the banks serve them.
    pub wavefronts: u64,
    /// The turns that it would take without bank conflicts.
    pub ideal_wavefronts: u64,
    /// Bytes that threads asked for.
    pub bytes: u64,
}

/// Loads from constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstantTraffic {
    /// Warp instructions.
    pub requests: u64,
    /// The 4-byte words that they touch, each counted once per request: the cache of constant memory serves one at a time.
    pub words: u64,
}

impl Counters {
    /// The share of conditional branches at which a warp stayed together, from 0 to 1; 1 where there were no branches.
    pub fn branch_efficiency(&self) -> f64 {
        share_together(self.branches, self.divergent_branches)
    }

    /// The same for the branches that are expected to be left in the machine code.
    pub fn assembled_branch_efficiency(&self) -> f64 {
        share_together(self.assembled_branches, self.assembled_divergent_branches)
    }

    /// The same for all branches, conditional or not.
    pub fn branch_instruction_efficiency(&self) -> f64 {
        share_together(self.branches + self.jumps, self.divergent_branches)
    }

    /// All accesses to global memory.
    pub fn global(&self) -> GlobalTraffic {
        let mut all = self.global_loads;
        all += self.global_stores;
        all += self.global_atomics;
        all
    }

    /// All accesses to shared memory.
    pub fn shared(&self) -> SharedTraffic {
        let mut all = self.shared_loads;
        all += self.shared_stores;
        all += self.shared_atomics;
        all
    }
}

/// How many lanes: mostly all, and counting bits takes a dozen instructions where the host's processor need not have one for it.
#[inline(always)]
fn count(lanes: u32) -> u64 {
    match lanes {
        FULL => LANES as u64,
        _ => lanes.count_ones().into(),
    }
}

fn share_together(branches: u64, divergent: u64) -> f64 {
    if branches == 0 {
        1.0
    } else {
        1.0 - divergent as f64 / branches as f64
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.inst_executed += other.inst_executed;
        self.thread_inst_executed += other.thread_inst_executed;
        self.thread_inst_executed_pred_on += other.thread_inst_executed_pred_on;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.jumps += other.jumps;
        self.assembled_branches += other.assembled_branches;
        self.assembled_divergent_branches += other.assembled_divergent_branches;
        self.global_loads += other.global_loads;
        self.global_stores += other.global_stores;
        self.global_atomics += other.global_atomics;
        self.shared_loads += other.shared_loads;
        self.shared_stores += other.shared_stores;
        self.shared_atomics += other.shared_atomics;
        self.constant_loads += other.constant_loads;
        self.atomics += other.atomics;
        self.global_atomic_passes += other.global_atomic_passes;
        self.barriers += other.barriers;
    }
}

impl AddAssign for GlobalTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
        self.bytes += other.bytes;
        self.useful_bytes += other.useful_bytes;
    }
}

impl AddAssign for SharedTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.bytes += other.bytes;
    }
}

impl AddAssign for ConstantTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.words += other.words;
    }
}

impl Observer for Counters {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        *self += other;
    }

    #[inline(always)]
    fn instruction(&mut self, event: InstructionEvent) {
        self.inst_executed += 1;
        self.thread_inst_executed += count(event.active);
        self.thread_inst_executed_pred_on += count(event.lanes);
    }

    #[inline(always)]
    fn branch(&mut self, event: BranchEvent) {
        let is_divergent = u64::from(event.taken != 0 && event.not_taken != 0);
        let is_kept = u64::from(event.fate == BranchFate::Kept);
        self.branches += 1;
        self.divergent_branches += is_divergent;
        self.assembled_branches += is_kept;
        self.assembled_divergent_branches += is_kept & is_divergent;
    }

    #[inline(always)]
    fn jump(&mut self, _: InstructionEvent) {
        self.jumps += 1;
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        let lanes = count(event.lanes);
        let bytes = lanes * u64::from(event.bytes);
        if event.kind == AccessKind::Atomic {
            self.atomics += lanes;
        }
        match event.space {
            Space::Global => {
                let coalesced = coalesce(event.addresses, event.lanes, event.bytes);
                let traffic = match event.kind {
                    AccessKind::Load => &mut self.global_loads,
                    AccessKind::Store => &mut self.global_stores,
                    AccessKind::Atomic => &mut self.global_atomics,
                };
                *traffic += GlobalTraffic {
                    requests: 1,
                    sectors: coalesced.sectors.into(),
                    ideal_sectors: coalesced.ideal_sectors.into(),
                    bytes,
                    useful_bytes: coalesced.useful_bytes.into(),
                };
                if event.kind == AccessKind::Atomic {
                    self.global_atomic_passes += u64::from(coalesced.passes);
                }
            }
            Space::Shared => {
                let conflicts = conflicts(event.kind, event.addresses, event.lanes, event.bytes);
                let traffic = match event.kind {
                    AccessKind::Load => &mut self.shared_loads,
                    AccessKind::Store => &mut self.shared_stores,
                    AccessKind::Atomic => &mut self.shared_atomics,
                };
                *traffic += SharedTraffic {
                    requests: 1,
                    wavefronts: conflicts.wavefronts.into(),
                    ideal_wavefronts: conflicts.ideal_wavefronts.into(),
                    bytes,
                };
            }
            Space::Const => {
                let mut words = Vec::with_capacity(LANES);
                each_lane(event.lanes, |lane| {
                    let address = event.addresses[lane];
                    words.extend(address / 4..(address + u64::from(event.bytes)).div_ceil(4));
                });
                words.sort_unstable();
                words.dedup();
                self.constant_loads += ConstantTraffic {
                    requests: 1,
                    words: words.len() as u64,
                };
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn barrier(&mut self, _: BarrierEvent) {
        self.barriers += 1;
    }
}
