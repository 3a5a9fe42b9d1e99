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
    /// Conditional branches of the PTX that warps executed.
    pub branches: u64,
    /// Branches whose warp went both ways.
    pub divergent_branches: u64,
    /// Share of the branches that did not diverge; 100 where there is none.
    pub branch_efficiency_percent: f64,
    /// The branches that a GPU's assembler is expected to leave.
    pub assembled_branches: u64,
    /// Those of them whose warp went both ways.
    pub assembled_divergent_branches: u64,
    /// Share of them that did not diverge, as a GPU's profiler would show it; 100 where there is none.
    pub assembled_branch_efficiency_percent: f64,
    /// Bytes that threads read from global memory.
    pub global_load_bytes: u64,
    /// Bytes that threads wrote to global memory.
    pub global_store_bytes: u64,
    /// 32-byte sectors of global memory that warps asked for.
    pub global_sectors: u64,
    /// The sectors that it would have taken had the bytes of each request lain side by side.
    pub global_sectors_ideal: u64,
    /// Bytes of a sector that the request asked for, of 32; `null` where there was none.
    pub global_useful_bytes_per_sector: Option<f64>,
    /// Turns in which shared memory served its warps.
    pub shared_wavefronts: u64,
    /// The turns that it would have taken without bank conflicts.
    pub shared_wavefronts_ideal: u64,
    /// Barriers that warps arrived at.
    pub barriers: u64,
}

impl CounterFigures {
    /// The figures of one launch.
    pub fn new(counters: &Counters) -> Self {
        let (global, shared) = (counters.global(), counters.shared());
        Self {
            warp_instructions: counters.inst_executed,
            thread_instructions: counters.thread_inst_executed,
            branches: counters.branches,
            divergent_branches: counters.divergent_branches,
            branch_efficiency_percent: 100.0 * counters.branch_efficiency(),
            assembled_branches: counters.assembled_branches,
            assembled_divergent_branches: counters.assembled_divergent_branches,
            assembled_branch_efficiency_percent: 100.0 * counters.assembled_branch_efficiency(),
            global_load_bytes: counters.global_loads.bytes,
            global_store_bytes: counters.global_stores.bytes,
            global_sectors: global.sectors,
            global_sectors_ideal: global.ideal_sectors,
            global_useful_bytes_per_sector: (global.sectors != 0)
                .then(|| global.useful_bytes as f64 / global.sectors as f64),
            shared_wavefronts: shared.wavefronts,
            shared_wavefronts_ideal: shared.ideal_wavefronts,
            barriers: counters.barriers,
        }
    }

    /// Name and value of each figure, for a table.
    pub fn rows(&self) -> [(&'static str, String); 13] {
        [
            ("warp instructions", show::count(self.warp_instructions)),
            ("thread instructions", show::count(self.thread_instructions)),
            ("branches", show::count(self.branches)),
            ("divergent branches", show::count(self.divergent_branches)),
            (
                "branch efficiency",
                show::percent(self.branch_efficiency_percent),
            ),
            (
                "branch efficiency, assembled",
                show::percent(self.assembled_branch_efficiency_percent),
            ),
            ("global bytes loaded", show::count(self.global_load_bytes)),
            ("global bytes stored", show::count(self.global_store_bytes)),
            ("global sectors", show::count(self.global_sectors)),
            (
                "global sectors, ideal",
                show::count(self.global_sectors_ideal),
            ),
            ("shared wavefronts", show::count(self.shared_wavefronts)),
            (
                "shared wavefronts, ideal",
                show::count(self.shared_wavefronts_ideal),
            ),
            ("barriers", show::count(self.barriers)),
        ]
    }
}
