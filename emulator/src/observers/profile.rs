//! All that a profile is made of, observed in one launch.

use super::{
    AtomicTargets, BarrierWait, BarrierWaits, ByLine, Counters, GridCounts, Grids, Step, Steps,
};
use crate::observer::{
    AccessEvent, BarrierEvent, BlockEvent, BranchEvent, GridLaunchEvent, InstructionEvent,
    Observer, ReleaseEvent, Wants,
};

/// [`Counters`], [`BarrierWaits`] and [`AtomicTargets`] of a launch, as a whole and by PTX line; its [`Grids`]; and, if asked for, its
/// [`Steps`].
#[derive(Clone, Debug, Default)]
pub struct Profile {
    parts: ((ByLine, BarrierWaits), (AtomicTargets, Grids)),
    steps: Option<Steps>,
}

/// What was measured at one line, or in a whole launch: [`METRICS`](super::METRICS) are views of this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurements {
    /// The counters.
    pub counters: Counters,
    /// Barriers that completed, and how long warps waited at them.
    pub barrier_wait: BarrierWait,
    /// The most atomic operations on one address of global memory.
    pub atomics_on_one_address: u64,
    /// Grids and threads; a line has none of its own.
    pub grids: Option<GridCounts>,
}

impl Profile {
    /// A profile that also counts the warps and threads at work in each step.
    pub fn with_steps() -> Self {
        Self {
            steps: Some(Steps::default()),
            ..Self::default()
        }
    }

    /// The steps in their order, if the profile was made [with](Self::with_steps) them.
    pub fn steps(&self) -> Option<Vec<Step>> {
        self.steps.as_ref().map(Steps::all)
    }

    /// The whole launch.
    pub fn total(&self) -> Measurements {
        let ((by_line, waits), (targets, grids)) = &self.parts;
        Measurements {
            counters: by_line.total(),
            barrier_wait: waits.total(),
            atomics_on_one_address: targets.most(),
            grids: Some(grids.counts()),
        }
    }

    /// The PTX lines that were executed, in their order.
    pub fn lines(&self) -> Vec<(u32, Measurements)> {
        let ((by_line, waits), (targets, _)) = &self.parts;
        by_line
            .lines()
            .map(|(line, counters)| {
                let measurements = Measurements {
                    counters: *counters,
                    barrier_wait: waits.at(line),
                    atomics_on_one_address: if counters.global_atomics.requests == 0 {
                        0
                    } else {
                        targets.most_at(line)
                    },
                    grids: None,
                };
                (line, measurements)
            })
            .collect()
    }
}

impl Observer for Profile {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self {
            parts: self.parts.fork(),
            steps: self.steps.fork(),
        }
    }

    fn merge(&mut self, other: Self) {
        self.parts.merge(other.parts);
        self.steps.merge(other.steps);
    }

    fn block(&mut self, event: BlockEvent) {
        self.parts.block(event);
        self.steps.block(event);
    }

    #[inline(always)]
    fn instruction(&mut self, event: InstructionEvent) {
        self.parts.instruction(event);
    }

    #[inline(always)]
    fn branch(&mut self, event: BranchEvent) {
        self.parts.branch(event);
    }

    #[inline(always)]
    fn jump(&mut self, event: InstructionEvent) {
        self.parts.jump(event);
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        self.parts.access(event);
        self.steps.access(event);
    }

    fn barrier(&mut self, event: BarrierEvent) {
        self.parts.barrier(event);
    }

    fn release(&mut self, event: ReleaseEvent<'_>) {
        self.parts.release(event);
        self.steps.release(event);
    }

    fn grid_launch(&mut self, event: GridLaunchEvent) {
        self.parts.grid_launch(event);
    }
}
