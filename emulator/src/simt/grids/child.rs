//! A grid that a kernel has launched.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::kernel::Kernel;
use crate::region::Region;
use crate::simt::run::Run;
use crate::simt::shape::Shape;

/// When a grid may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::simt) enum Stream {
    /// The default stream: after those that the same block has launched into it before are complete.
    OfBlock,
    /// `cudaStreamFireAndForget`: at once.
    Detached,
    /// `cudaStreamTailLaunch`: after the grid that launches it is complete but for its tail launches, and after those before it.
    Tail,
}

/// A grid that a kernel has launched.
#[derive(Debug)]
pub(in crate::simt) struct Child {
    pub kernel: Arc<Kernel>,
    pub shape: Shape,
    pub parameters: Vec<AtomicU64>,
    pub stream: Stream,
    /// The number of the grid, and the index of the block in it, that launched it.
    pub parent: u64,
    pub block: [u32; 3],
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
            code: &self.kernel.code,
            shape: &self.shape,
            parameters: Region::new(0, bytes, true, &self.parameters),
            ..*like
        }
    }
}
