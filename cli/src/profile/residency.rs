//! How many blocks of a kernel are resident on a multiprocessor at once.

use serde::Serialize;
use warpfold_emulator::{BlockNeeds, Multiprocessor, Resource};

/// The occupancy of one kernel on one architecture.
#[derive(Debug, Serialize)]
pub struct Residency {
    /// The compute capability.
    pub(super) sm: u32,
    /// Registers of a thread, if they are recorded.
    pub(super) registers: Option<u32>,
    /// Shared memory of a block, in bytes.
    pub(super) shared_bytes: u64,
    /// Resident blocks of a multiprocessor.
    pub(super) blocks: u32,
    /// Their warps.
    pub(super) warps: u32,
    /// The most that it has room for.
    pub(super) most_warps: u32,
    /// The one as a part of the other.
    pub(super) percent: f64,
    /// What there is no room of for one block more.
    pub(super) limited_by: Vec<&'static str>,
}

impl Residency {
    /// Of blocks that need this much.
    pub fn of(multiprocessor: &Multiprocessor, needs: &BlockNeeds) -> Self {
        let occupancy = multiprocessor.occupancy(needs);
        Self {
            sm: multiprocessor.sm,
            registers: needs.registers,
            shared_bytes: needs.shared_bytes,
            blocks: occupancy.blocks,
            warps: occupancy.warps,
            most_warps: occupancy.most_warps,
            percent: occupancy.percent(),
            limited_by: occupancy
                .limited_by
                .iter()
                .copied()
                .map(Resource::name)
                .collect(),
        }
    }
}
