//! The shape of a grid: its blocks, their clusters, and the numbers of threads, blocks and clusters in them.

use crate::clock::HostInstant;
use crate::code::{Special, Value};

/// Shape and contents of a launch, common to all blocks.
#[derive(Debug)]
pub(crate) struct Shape {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    /// Blocks of a cluster along x, y and z.
    pub cluster: [u32; 3],
    /// Whether all blocks are resident together.
    pub cooperative: bool,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
    /// Where the blocks of a cooperative launch have memory for a barrier of the grid; 0: nowhere.
    pub workspace: u64,
    /// The number of the grid in its launch from the host: 0, or, of one that a kernel launched, more.
    pub number: u64,
    /// The number of the host's launch that it comes of, among those that run at the same time.
    pub launch: u32,
    /// How many launches from the device it is away from the host's.
    pub depth: u32,
    pub started: HostInstant,
}

impl Shape {
    /// The number of the grid for messages: 0 for any that the host has launched.
    pub fn number_in_launch(&self) -> u64 {
        match self.depth {
            0 => 0,
            _ => self.number,
        }
    }

    /// `%ctaid` of a block by its number: cluster by cluster.
    pub fn block_index(&self, number: u64) -> [u32; 3] {
        let each = self.blocks_per_cluster();
        let cluster = place_of(number / each, self.clusters());
        let rank = place_of(number % each, self.cluster);
        core::array::from_fn(|axis| cluster[axis] * self.cluster[axis] + rank[axis])
    }

    /// The number of blocks in a cluster.
    pub fn blocks_per_cluster(&self) -> u64 {
        self.cluster
            .iter()
            .map(|&extent| u64::from(extent))
            .product()
    }

    /// The number of a block's cluster.
    pub fn cluster_of(&self, index: [u32; 3]) -> u64 {
        let [x, y, z] = core::array::from_fn(|axis| u64::from(index[axis] / self.cluster[axis]));
        let [columns, rows, _] = self.clusters().map(u64::from);
        x + columns * (y + rows * z)
    }

    /// Clusters along x, y and z.
    pub fn clusters(&self) -> [u32; 3] {
        core::array::from_fn(|axis| self.grid[axis] / self.cluster[axis])
    }

    /// The multiprocessor that a block is on, as if blocks were dealt out in turn.
    pub fn multiprocessor(&self, index: [u32; 3]) -> u32 {
        let [x, y, z] = index.map(u64::from);
        let [columns, rows, _] = self.grid.map(u64::from);
        let number = x + columns * (y + rows * z);
        (number % u64::from(self.multiprocessors)) as u32
    }

    /// A special value that is not the same for every block.
    pub fn value_of_block(&self, index: [u32; 3], value: Value) -> Option<u32> {
        let Value::Special(special) = value else {
            return None;
        };
        let within = |axis: usize| index[axis] % self.cluster[axis];
        match special {
            Special::BlockIndex(axis) => Some(index[axis as usize]),
            Special::Multiprocessor => Some(self.multiprocessor(index)),
            Special::ClusterIndex(axis) => Some(index[axis as usize] / self.cluster[axis as usize]),
            Special::IndexInCluster(axis) => Some(within(axis as usize)),
            Special::RankInCluster => {
                let [x, y, _] = self.cluster;
                Some(within(0) + x * (within(1) + y * within(2)))
            }
            _ => None,
        }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }
}

/// A number's place in a box of these extents, x running fastest.
fn place_of(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(u64::from);
    [
        (number % x) as u32,
        (number / x % y) as u32,
        (number / x / y) as u32,
    ]
}

/// `%tid` of a thread by its number in the block.
pub(super) fn thread_index(block: [u32; 3], thread: u32) -> [u32; 3] {
    [
        thread % block[0],
        thread / block[0] % block[1],
        thread / block[0] / block[1],
    ]
}
