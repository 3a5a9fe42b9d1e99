//! Grids that kernels launch: dynamic parallelism (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism").
//!
//! What a block launches stays with it until it has finished or waits for it. A grid may begin at any time after its launch, as
//! soon as the [`Order`] of streams lets it; in the fixed order that is as late as possible, under a seed at random.

mod order;
mod runtime;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::launch::{Run, Shape};
use crate::error::Trap;
use crate::launch::Nesting;
use crate::loaded::{Kernel, Launchable};
use crate::region::Region;

pub(super) use order::Order;
pub(crate) use tree::run;

/// What a grid that the host launches has in common with all that come of it.
pub(crate) struct Family<'a> {
    /// The number of the launch from the host, among those in the same memory.
    pub number: u64,
    launchable: &'a Launchable,
    limits: Nesting,
    /// The seed of a random schedule; without one, grids, blocks, warps and lanes take turns in a fixed order.
    pub schedule: Option<u64>,
    /// Instructions executed.
    pub(super) steps: AtomicU64,
    /// Grids launched whose blocks have not finished.
    pending: AtomicU64,
    /// Grids launched.
    launched: AtomicU64,
    /// Parameter buffers handed out.
    buffers: AtomicU64,
    /// Waits for grids.
    waits: AtomicU64,
}

impl<'a> Family<'a> {
    pub fn new(
        number: u64,
        launchable: &'a Launchable,
        limits: Nesting,
        schedule: Option<u64>,
    ) -> Self {
        Self {
            number,
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

    /// Takes note that the blocks of launched grids have finished.
    pub(super) fn finish(&self, grids: u64) {
        self.pending.fetch_sub(grids, Ordering::Relaxed);
    }
}

/// When a grid may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// The default stream: after those that the same block has launched into it before are complete.
    OfBlock,
    /// `cudaStreamFireAndForget`: at once.
    Detached,
    /// `cudaStreamTailLaunch`: after the grid that launches it is complete but for its tail launches, and after those before it.
    Tail,
}

/// A grid that a kernel has launched.
#[derive(Debug)]
pub(super) struct Child {
    pub kernel: Arc<Kernel>,
    pub shape: Shape,
    parameters: Vec<AtomicU64>,
    stream: Stream,
    /// The number of the grid, and the index of the block in it, that launched it.
    parent: u64,
    block: [u32; 3],
    /// The grids that it had to wait for.
    pub after: Vec<u64>,
}

impl Child {
    pub fn number(&self) -> u64 {
        self.shape.number
    }

    /// How to run it, in the manner of another grid of its family.
    pub fn run<'a>(&'a self, like: &Run<'a>) -> Run<'a> {
        let bytes = 8 * self.parameters.len() as u64;
        Run {
            program: &self.kernel.program,
            shape: &self.shape,
            parameters: Region::new(0, bytes, true, &self.parameters),
            ..*like
        }
    }
}

/// Room for the parameters of a launch, which the kernel fills in.
#[derive(Debug)]
struct Buffer {
    address: u64,
    kernel: Arc<Kernel>,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    words: Vec<AtomicU64>,
}

/// What a block has to do with the grids that it launches.
#[derive(Debug)]
pub(crate) struct Launches<O> {
    /// Parameter buffers that have not been used for a launch.
    buffers: Vec<Buffer>,
    /// Grids launched that nothing has been done about yet.
    children: Vec<Child>,
    /// Grids that threads of the block have waited for.
    complete: Vec<u64>,
    /// The last of these in the block's stream.
    last_in_stream: Option<u64>,
    /// The last error of each thread, by warp and lane.
    errors: HashMap<(usize, usize), u32>,
    /// The trap of a grid that a thread waits for.
    pub(super) trap: Option<Box<Trap>>,
    /// What was observed of the grids waited for.
    pub(super) observed: Option<O>,
}

impl<O> Default for Launches<O> {
    fn default() -> Self {
        Self {
            buffers: Vec::new(),
            children: Vec::new(),
            complete: Vec::new(),
            last_in_stream: None,
            errors: HashMap::new(),
            trap: None,
            observed: None,
        }
    }
}

impl<O> Launches<O> {
    /// Forgets the block before.
    pub fn begin(&mut self) {
        self.buffers.clear();
        self.children.clear();
        self.complete.clear();
        self.last_in_stream = None;
        self.errors.clear();
    }

    /// Takes out the grids launched since the last time.
    pub(super) fn take(&mut self) -> Vec<Child> {
        std::mem::take(&mut self.children)
    }

    /// The parameter buffer that an address lies in.
    pub(super) fn buffer(&self, address: u64) -> Option<Region<'_>> {
        self.buffers
            .iter()
            .map(Buffer::region)
            .find(|region| address.wrapping_sub(region.base) <= region.bytes)
    }
}

impl Buffer {
    fn region(&self) -> Region<'_> {
        let bytes = (self.kernel.program.functions[0].parameters.last())
            .map_or(0, |last| u64::from(last.offset + last.bytes));
        Region::new(self.address, bytes, false, &self.words)
    }
}
