//! What a block has to do with the grids that it launches.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::child::Child;
use crate::error::Trap;
use crate::kernel::Kernel;
use crate::region::Region;

/// Room for the parameters of a launch, which the kernel fills in.
#[derive(Debug)]
pub(in crate::simt) struct Buffer {
    pub address: u64,
    pub kernel: Arc<Kernel>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    pub words: Vec<AtomicU64>,
}

/// What a block has to do with the grids that it launches.
#[derive(Debug)]
pub(crate) struct Launches<O> {
    /// Parameter buffers that have not been used for a launch.
    pub buffers: Vec<Buffer>,
    /// Grids launched that nothing has been done about yet.
    pub children: Vec<Child>,
    /// Grids that threads of the block have waited for.
    pub complete: Vec<u64>,
    /// The last of these in the block's stream.
    pub last_in_stream: Option<u64>,
    /// The last error of each thread, by warp and lane.
    pub errors: HashMap<(usize, usize), u32>,
    /// The trap of a grid that a thread waits for.
    pub trap: Option<Box<Trap>>,
    /// What was observed of the grids waited for.
    pub observed: Option<O>,
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
    pub fn take(&mut self) -> Vec<Child> {
        std::mem::take(&mut self.children)
    }

    /// The parameter buffer that an address lies in.
    pub fn buffer(&self, address: u64) -> Option<Region<'_>> {
        self.buffers
            .iter()
            .map(Buffer::region)
            .find(|region| address.wrapping_sub(region.base) <= region.bytes)
    }
}

impl Buffer {
    pub fn region(&self) -> Region<'_> {
        let bytes = (self.kernel.code.functions[0].parameters.last())
            .map_or(0, |last| u64::from(last.offset + last.bytes));
        Region::new(self.address, bytes, false, &self.words)
    }
}
