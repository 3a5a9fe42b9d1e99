//! How far strong accesses and fences reach: those of `.cta`, `.cluster` and `.gpu` scope are none for other blocks, clusters and devices.

/// The threads that a strong access is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of the block with this number.
    Block(u32),
    /// Those of the cluster with this number.
    Cluster(u32),
    /// Those of the device with this number.
    Gpu(u8),
    /// All.
    System,
}

/// Who makes a strong access, and for whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strong {
    /// The number of its block.
    pub block: u32,
    /// That of its device.
    pub device: u8,
    pub reach: Reach,
}

impl Strong {
    /// Whether two strong accesses are about each other's threads (*morally strong*, PTX ISA §8.7). One for a cluster and one for all of
    /// the device are taken to be in the same cluster.
    pub fn is_mutual(self, other: Self) -> bool {
        self.block == other.block
            || match (self.reach, other.reach) {
                (Reach::Block(_), _) | (_, Reach::Block(_)) => false,
                (Reach::System, Reach::System) => true,
                _ if self.device != other.device => false,
                (Reach::Cluster(one), Reach::Cluster(other)) => one == other,
                _ => true,
            }
    }
}
