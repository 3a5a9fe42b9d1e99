//! How far strong accesses and fences reach: those of `.cta` and `.cluster` scope are none for other blocks and clusters.

/// The threads that a strong access is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of the block with this number.
    Block(u32),
    /// Those of the cluster with this number.
    Cluster(u32),
    /// All.
    Gpu,
}

impl Reach {
    /// Whether two strong accesses, each of a thread of the block before it, are about each other's threads (*morally strong*, PTX ISA
    /// §8.7). One for a cluster and one for all are taken to be in the same cluster.
    pub fn is_mutual((block, reach): (u32, Self), (other_block, other): (u32, Self)) -> bool {
        block == other_block
            || match (reach, other) {
                (Self::Block(_), _) | (_, Self::Block(_)) => false,
                (Self::Cluster(one), Self::Cluster(other)) => one == other,
                (Self::Gpu, _) | (_, Self::Gpu) => true,
            }
    }
}
