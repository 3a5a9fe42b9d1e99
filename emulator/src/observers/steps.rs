//! How much of a block has work in each step between its barriers.

use crate::observer::{AccessEvent, BlockEvent, Observer, ReleaseEvent, Wants};
use crate::registers::LANES;
use crate::types::Space;

/// One step: what the blocks of the host's grid do from one block-wide barrier to the next.
///
/// A thread is active in a step if it accesses global or shared memory there, and a warp if any of its threads is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Blocks that come to this step.
    pub blocks: u64,
    /// Their warps.
    pub warps: u64,
    /// Those of the warps that are active.
    pub active_warps: u64,
    /// The blocks' threads.
    pub threads: u64,
    /// Those of the threads that are active.
    pub active_threads: u64,
}

/// [`Step`]s by their number.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    steps: Vec<Step>,
    /// The block that runs; `None` before the first, and in grids that kernels launch.
    block: Option<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    threads: u32,
    /// How many of its barriers have let their threads go on.
    step: usize,
    /// The active lanes of each warp in this step.
    active: Vec<u32>,
}

impl Steps {
    /// The steps in their order. What follows a block's last barrier is a step only where a thread is active in it.
    pub fn all(&self) -> Vec<Step> {
        let mut complete = self.clone();
        complete.end_block();
        complete.steps
    }

    /// Counts what the block has done since its last barrier, and begins the next step.
    fn end_step(&mut self) {
        let Some(block) = &mut self.block else {
            return;
        };
        if self.steps.len() <= block.step {
            self.steps.resize(block.step + 1, Step::default());
        }
        let step = &mut self.steps[block.step];
        step.blocks += 1;
        step.warps += block.active.len() as u64;
        step.threads += u64::from(block.threads);
        for lanes in &mut block.active {
            step.active_warps += u64::from(*lanes != 0);
            step.active_threads += u64::from(lanes.count_ones());
            *lanes = 0;
        }
        block.step += 1;
    }

    fn end_block(&mut self) {
        let is_active = |block: &Block| block.active.iter().any(|&lanes| lanes != 0);
        if self.block.as_ref().is_some_and(is_active) {
            self.end_step();
        }
        self.block = None;
    }
}

impl Observer for Steps {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        let others = other.all();
        if self.steps.len() < others.len() {
            self.steps.resize(others.len(), Step::default());
        }
        for (step, other) in self.steps.iter_mut().zip(others) {
            step.blocks += other.blocks;
            step.warps += other.warps;
            step.active_warps += other.active_warps;
            step.threads += other.threads;
            step.active_threads += other.active_threads;
        }
    }

    fn block(&mut self, event: BlockEvent) {
        self.end_block();
        let threads = event.shape.iter().product::<u32>();
        self.block = (event.grid == 0).then(|| Block {
            threads,
            step: 0,
            active: vec![0; threads.div_ceil(LANES as u32) as usize],
        });
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        if let (Some(block), Space::Global | Space::Shared) = (&mut self.block, event.space) {
            block.active[event.warp as usize] |= event.lanes;
        }
    }

    fn release(&mut self, _: ReleaseEvent<'_>) {
        self.end_step();
    }
}
