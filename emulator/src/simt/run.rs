//! What a grid is run with, and what it has in common with the grids that come of it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::shape::Shape;
use crate::code::KernelCode;
use crate::kernel::Launchable;
use crate::launch::Nesting;
use crate::memories::Memories;
use crate::region::Region;

/// Everything that a grid needs.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub code: &'a KernelCode,
    pub shape: &'a Shape,
    pub memory: Memories<'a>,
    pub parameters: Region<'a>,
    /// What it has in common with the grids that it launches.
    pub family: &'a Family<'a>,
    pub threads: usize,
    /// 0: no limit.
    pub max_steps: u64,
}

/// What a grid that the host launches has in common with all that come of it.
pub(crate) struct Family<'a> {
    /// The number of the launch from the host, among those in the same memory.
    pub number: u64,
    /// The number of the launch among those that run at the same time.
    pub launch: u32,
    /// How many run at the same time.
    pub launches: u32,
    pub launchable: &'a Launchable,
    pub limits: Nesting,
    /// The seed of a random schedule; without one, grids, blocks, warps and lanes take turns in a fixed order.
    pub schedule: Option<u64>,
    /// Instructions executed.
    pub steps: AtomicU64,
    /// Grids launched whose blocks have not finished.
    pub pending: AtomicU64,
    /// Grids launched.
    launched: AtomicU64,
    /// Parameter buffers handed out.
    pub buffers: AtomicU64,
    /// Waits for grids.
    pub waits: AtomicU64,
}

impl<'a> Family<'a> {
    pub fn new(
        number: u64,
        [launch, launches]: [u32; 2],
        launchable: &'a Launchable,
        limits: Nesting,
        schedule: Option<u64>,
    ) -> Self {
        Self {
            number,
            launch,
            launches,
            launchable,
            limits,
            schedule,
            steps: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            launched: AtomicU64::new(0),
            buffers: AtomicU64::new(0),
            waits: AtomicU64::new(0),
        }
    }

    /// The number of the next grid that a kernel launches: no other grid has it, of whichever launch it comes.
    pub(super) fn next_grid(&self) -> u64 {
        let before = self.launched.fetch_add(1, Ordering::Relaxed);
        u64::from(self.launch) + u64::from(self.launches) * (before + 1)
    }

    /// Takes note that the blocks of launched grids have finished.
    pub(super) fn finish(&self, grids: u64) {
        self.pending.fetch_sub(grids, Ordering::Relaxed);
    }
}
