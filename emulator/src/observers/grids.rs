//! Counts grids and threads: how many were launched, by kernels too, and how many of the threads had anything to do.

use std::ops::AddAssign;

use crate::observer::{AccessEvent, BlockEvent, GridLaunchEvent, Observer, Wants};
use crate::types::Space;

/// The grids and threads of a launch, those included that kernels launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridCounts {
    /// Grids launched by kernels.
    pub child_grids: u64,
    /// How deep they nest: 0 where kernels launched none, 1 where only the host's grid did.
    pub generations: u32,
    /// The most of them that waited or ran at one time, in the order in which the emulator ran them.
    pub pending: u64,
    /// Warps of all grids.
    pub warps: u64,
    /// Threads of all grids.
    pub threads: u64,
    /// Those of them that accessed global or shared memory.
    pub working_threads: u64,
}

impl AddAssign for GridCounts {
    fn add_assign(&mut self, other: Self) {
        self.child_grids += other.child_grids;
        self.generations = self.generations.max(other.generations);
        self.pending = self.pending.max(other.pending);
        self.warps += other.warps;
        self.threads += other.threads;
        self.working_threads += other.working_threads;
    }
}

/// Counts the grids and threads of a launch.
#[derive(Clone, Debug, Default)]
pub struct Grids {
    counts: GridCounts,
    /// The lanes of each warp of the block that have accessed memory.
    working: Vec<u32>,
}

impl Grids {
    /// What was counted.
    pub fn counts(&self) -> GridCounts {
        self.counts
    }
}

impl Observer for Grids {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.counts += other.counts;
    }

    fn block(&mut self, event: BlockEvent) {
        let threads = event.shape.iter().product::<u32>();
        let warps = threads.div_ceil(32);
        self.counts.warps += u64::from(warps);
        self.counts.threads += u64::from(threads);
        self.working.clear();
        self.working.resize(warps as usize, 0);
    }

    #[inline(always)]
    fn access(&mut self, event: AccessEvent<'_>) {
        if matches!(event.space, Space::Global | Space::Shared) {
            let working = &mut self.working[event.warp as usize];
            self.counts.working_threads += u64::from((event.lanes & !*working).count_ones());
            *working |= event.lanes;
        }
    }

    fn grid_launch(&mut self, event: GridLaunchEvent) {
        self.counts.child_grids += 1;
        self.counts.generations = self.counts.generations.max(event.generation);
        self.counts.pending = self.counts.pending.max(event.pending);
    }
}
