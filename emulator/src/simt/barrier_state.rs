//! Who has arrived at the barriers of a block.

/// Barriers of a block.
pub(super) const BARRIERS: usize = 16;
/// Warps of the largest block.
const MAX_WARPS: usize = 32;

/// One barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierState {
    /// The lanes of each warp that have arrived.
    pub arrived: [u32; MAX_WARPS],
    /// The number of threads that they count as.
    pub count: u32,
    /// Threads that must arrive; 0 until the first does.
    pub expected: u32,
    /// Of the arrived threads, those whose predicate holds.
    pub holds: u32,
    /// Who arrived, in this order: warps with their lanes.
    pub who: Vec<(u32, u32)>,
}

impl BarrierState {
    /// Threads that have arrived.
    pub fn threads(&self) -> u32 {
        self.arrived.iter().map(|lanes| lanes.count_ones()).sum()
    }
}
