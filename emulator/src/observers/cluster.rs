//! The shared memory of a cluster as one memory, for observers that follow all blocks of it.

use crate::observer::BlockEvent;
use crate::registers::LANES;
use crate::window::RANK_SHIFT;

/// Where the clusters' memories are put: past all global memory.
const FIRST: u64 = 1 << 60;
/// Those of launches that run at the same time are this far apart.
const LAUNCH_SHIFT: u32 = 52;
/// As many address bits as the blocks of a cluster need.
const CLUSTER_SHIFT: u32 = RANK_SHIFT + 8;

/// A block's place in a cluster of several.
#[derive(Clone, Copy, Debug)]
pub(super) struct InCluster {
    base: u64,
    own: u64,
}

impl InCluster {
    /// That of a block that begins; `None` where its cluster has no other blocks.
    pub fn of(event: &BlockEvent) -> Option<Self> {
        let first = FIRST + (u64::from(event.launch) << LAUNCH_SHIFT);
        let base = first + (event.cluster << CLUSTER_SHIFT);
        (event.cluster_blocks > 1).then(|| Self {
            base,
            own: base + (u64::from(event.rank + 1) << RANK_SHIFT),
        })
    }

    /// The places of the block's addresses in shared memory, its own and others', among those of all clusters.
    pub fn places(&self, addresses: &[u64; LANES]) -> [u64; LANES] {
        addresses.map(|address| match address >> RANK_SHIFT {
            0 => self.own + address,
            _ => self.base.wrapping_add(address),
        })
    }

    /// Where the block's own memory is.
    pub fn own(&self) -> u64 {
        self.own
    }
}

/// The offset in its block's shared memory of a place that [`InCluster::places`] gave.
pub(super) fn offset(place: u64) -> u64 {
    place & ((1 << RANK_SHIFT) - 1)
}
