//! The emulator's counters, as tables and JSON show them.

use super::show;
use serde::Serialize;
use warpfold_emulator::Counters;

/// What the emulator counted while a kernel ran.
#[derive(Clone, Debug, Serialize)]
pub struct CounterFigures {
    /// Instructions that warps executed, whatever number of their threads took part.
    pub warp_instructions: u64,
    /// Instructions that threads executed.
    pub thread_instructions: u64,
    /// Conditional branches that warps executed.
    pub branches: u64,
    /// Branches whose warp went both ways.
    pub divergent_branches: u64,
    /// Share of the branches that did not diverge; 100 where there is none.
    pub branch_efficiency_percent: f64,
    /// Bytes that threads read from global memory.
    pub global_load_bytes: u64,
    /// Bytes that threads wrote to global memory.
    pub global_store_bytes: u64,
    /// Barriers that warps arrived at.
    pub barriers: u64,
}

impl CounterFigures {
    /// The figures of one launch.
    pub fn new(counters: &Counters) -> Self {
        Self {
            warp_instructions: counters.inst_executed,
            thread_instructions: counters.thread_inst_executed,
            branches: counters.branches,
            divergent_branches: counters.divergent_branches,
            branch_efficiency_percent: 100.0 * counters.branch_efficiency(),
            global_load_bytes: counters.global_loads.bytes,
            global_store_bytes: counters.global_stores.bytes,
            barriers: counters.barriers,
        }
    }

    /// Name and value of each figure, for a table.
    pub fn rows(&self) -> [(&'static str, String); 8] {
        [
            ("warp instructions", show::count(self.warp_instructions)),
            ("thread instructions", show::count(self.thread_instructions)),
            ("branches", show::count(self.branches)),
            ("divergent branches", show::count(self.divergent_branches)),
            (
                "branch efficiency",
                show::percent(self.branch_efficiency_percent),
            ),
            ("global bytes loaded", show::count(self.global_load_bytes)),
            ("global bytes stored", show::count(self.global_store_bytes)),
            ("barriers", show::count(self.barriers)),
        ]
    }
}
