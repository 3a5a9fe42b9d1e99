//! The metrics of a profile: their names, those of Nsight Compute, units and meanings, in one table.

use super::Measurements;

/// One number that a profile shows.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name here: lower case, words joined by underscores.
    pub name: &'static str,
    /// The name of the metric in Nsight Compute that counts the same on a GPU; `None` where there is none.
    pub ncu: Option<&'static str>,
    /// What it is a number of.
    pub unit: Unit,
    /// What it says, in one sentence.
    pub explanation: &'static str,
    value: fn(&Measurements) -> Option<f64>,
}

/// What a metric is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole things.
    Count,
    /// Things per thing.
    Ratio,
    /// Hundredths.
    Percent,
}

impl Metric {
    /// The metric of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// Its value; `None` where it has none, as a ratio to nothing. Counts are exact up to 2^53.
    pub fn value(&self, measurements: &Measurements) -> Option<f64> {
        (self.value)(measurements)
    }
}

/// Every metric, in the order in which a profile shows them.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "warp_instructions",
        ncu: Some("smsp__inst_executed.sum"),
        unit: Unit::Count,
        explanation: "instructions that warps executed, however many of their lanes took part",
        value: |of| count(of.counters.inst_executed),
    },
    Metric {
        name: "thread_instructions",
        ncu: Some("smsp__thread_inst_executed.sum"),
        unit: Unit::Count,
        explanation: "instructions that threads executed: the active lanes of each warp instruction, added up",
        value: |of| count(of.counters.thread_inst_executed),
    },
    Metric {
        name: "active_lanes",
        ncu: Some("smsp__thread_inst_executed_per_inst_executed.ratio"),
        unit: Unit::Ratio,
        explanation: "active lanes of a warp instruction on average: 32 where warps never diverge and are full",
        value: |of| ratio(of.counters.thread_inst_executed, of.counters.inst_executed),
    },
    Metric {
        name: "active_lanes_predicated_on",
        ncu: Some("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"),
        unit: Unit::Ratio,
        explanation: "the same without the lanes that an instruction's guard keeps from having an effect",
        value: |of| {
            ratio(
                of.counters.thread_inst_executed_pred_on,
                of.counters.inst_executed,
            )
        },
    },
    Metric {
        name: "warps_launched",
        ncu: Some("smsp__warps_launched.sum"),
        unit: Unit::Count,
        explanation: "warps of all grids, those included that kernels launched",
        value: |of| count(of.grids?.warps),
    },
    Metric {
        name: "inst_per_warp",
        ncu: Some("smsp__average_inst_executed_per_warp.ratio"),
        unit: Unit::Ratio,
        explanation: "instructions of a warp on average, from its first to its last",
        value: |of| ratio(of.counters.inst_executed, of.grids?.warps),
    },
    Metric {
        name: "threads_launched",
        ncu: Some("smsp__threads_launched.sum"),
        unit: Unit::Count,
        explanation: "threads of all grids, those included that kernels launched",
        value: |of| count(of.grids?.threads),
    },
    Metric {
        name: "threads_working",
        ncu: None,
        unit: Unit::Count,
        explanation: "those of them that accessed global or shared memory; the others had nothing to do",
        value: |of| count(of.grids?.working_threads),
    },
    Metric {
        name: "child_grids",
        ncu: None,
        unit: Unit::Count,
        explanation: "grids launched by kernels: each costs a GPU a launch, which no count of instructions shows",
        value: |of| count(of.grids?.child_grids),
    },
    Metric {
        name: "grid_generations",
        ncu: None,
        unit: Unit::Count,
        explanation: "how deep those grids nest; a generation cannot begin before the one that launches it",
        value: |of| count(of.grids?.generations.into()),
    },
    Metric {
        name: "child_grids_pending",
        ncu: None,
        unit: Unit::Count,
        explanation: "the most of them that waited or ran at one time; beyond the device's room for them a launch fails",
        value: |of| count(of.grids?.pending),
    },
    Metric {
        name: "branches",
        ncu: None,
        unit: Unit::Count,
        explanation: "conditional branches of the PTX that warps executed",
        value: |of| count(of.counters.branches),
    },
    Metric {
        name: "divergent_branches",
        ncu: None,
        unit: Unit::Count,
        explanation: "conditional branches at which some lanes of the warp jumped and others did not, so that it must go both ways",
        value: |of| count(of.counters.divergent_branches),
    },
    Metric {
        name: "branch_efficiency",
        ncu: None,
        unit: Unit::Percent,
        explanation: "share of the branches that did not diverge: 100 is best",
        value: |of| Some(100.0 * of.counters.branch_efficiency()),
    },
    Metric {
        name: "branch_instructions",
        ncu: None,
        unit: Unit::Count,
        explanation: "branches of the PTX that warps executed, conditional or not; code without optimisation has many of either kind",
        value: |of| count(of.counters.branches + of.counters.jumps),
    },
    Metric {
        name: "branch_instruction_efficiency",
        ncu: None,
        unit: Unit::Percent,
        explanation: "share of them that did not diverge: what profilers of older GPUs call the branch efficiency",
        value: |of| Some(100.0 * of.counters.branch_instruction_efficiency()),
    },
    Metric {
        name: "assembled_branches",
        ncu: Some("smsp__sass_branch_targets.sum"),
        unit: Unit::Count,
        explanation: "the branches that the driver's assembler is expected to keep; it turns the others into conditional exits, or into guards on the few instructions that they jump over",
        value: |of| count(of.counters.assembled_branches),
    },
    Metric {
        name: "assembled_divergent_branches",
        ncu: Some("smsp__sass_branch_targets_threads_divergent.sum"),
        unit: Unit::Count,
        explanation: "those of them at which a warp went both ways",
        value: |of| count(of.counters.assembled_divergent_branches),
    },
    Metric {
        name: "assembled_branch_efficiency",
        ncu: Some("smsp__sass_average_branch_targets_threads_uniform.pct"),
        unit: Unit::Percent,
        explanation: "share of them that did not diverge: what a GPU's profiler calls the branch efficiency",
        value: |of| Some(100.0 * of.counters.assembled_branch_efficiency()),
    },
    Metric {
        name: "global_load_requests",
        ncu: Some("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
        unit: Unit::Count,
        explanation: "warp instructions that load from global memory",
        value: |of| count(of.counters.global_loads.requests),
    },
    Metric {
        name: "global_load_sectors",
        ncu: Some("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
        unit: Unit::Count,
        explanation: "32-byte sectors that loads from global memory touch, each counted once per request",
        value: |of| count(of.counters.global_loads.sectors),
    },
    Metric {
        name: "global_load_sectors_per_request",
        ncu: Some("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
        unit: Unit::Ratio,
        explanation: "sectors per load: 4 where 32 lanes load 32 neighbouring 4-byte words, up to 32 where they are scattered",
        value: |of| {
            ratio(
                of.counters.global_loads.sectors,
                of.counters.global_loads.requests,
            )
        },
    },
    Metric {
        name: "global_store_requests",
        ncu: Some("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
        unit: Unit::Count,
        explanation: "warp instructions that store to global memory",
        value: |of| count(of.counters.global_stores.requests),
    },
    Metric {
        name: "global_store_sectors",
        ncu: Some("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
        unit: Unit::Count,
        explanation: "32-byte sectors that stores to global memory touch, each counted once per request",
        value: |of| count(of.counters.global_stores.sectors),
    },
    Metric {
        name: "global_store_sectors_per_request",
        ncu: Some("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
        unit: Unit::Ratio,
        explanation: "sectors per store",
        value: |of| {
            ratio(
                of.counters.global_stores.sectors,
                of.counters.global_stores.requests,
            )
        },
    },
    Metric {
        name: "global_sectors",
        ncu: Some("memory_l2_theoretical_sectors_global"),
        unit: Unit::Count,
        explanation: "sectors that all loads, stores and atomics on global memory touch, each counted once per request",
        value: |of| count(of.counters.global().sectors),
    },
    Metric {
        name: "global_sectors_ideal",
        ncu: Some("memory_l2_theoretical_sectors_global_ideal"),
        unit: Unit::Count,
        explanation: "sectors that they would touch if the bytes of each request lay side by side",
        value: |of| count(of.counters.global().ideal_sectors),
    },
    Metric {
        name: "global_sectors_excessive",
        ncu: Some("derived__memory_l2_theoretical_sectors_global_excessive"),
        unit: Unit::Count,
        explanation: "the difference: what better coalescing would save",
        value: |of| {
            let global = of.counters.global();
            count(global.sectors - global.ideal_sectors)
        },
    },
    Metric {
        name: "global_load_bytes",
        ncu: None,
        unit: Unit::Count,
        explanation: "bytes that threads load from global memory",
        value: |of| count(of.counters.global_loads.bytes),
    },
    Metric {
        name: "global_store_bytes",
        ncu: None,
        unit: Unit::Count,
        explanation: "bytes that threads store to global memory",
        value: |of| count(of.counters.global_stores.bytes),
    },
    Metric {
        name: "global_bytes",
        ncu: None,
        unit: Unit::Count,
        explanation: "both together, and those of atomics",
        value: |of| count(of.counters.global().bytes),
    },
    Metric {
        name: "global_useful_bytes_per_sector",
        ncu: None,
        unit: Unit::Ratio,
        explanation: "bytes of a sector that the request asked for, of 32; a byte that several lanes share counts once",
        value: |of| {
            let global = of.counters.global();
            ratio(global.useful_bytes, global.sectors)
        },
    },
    Metric {
        name: "shared_requests",
        ncu: None,
        unit: Unit::Count,
        explanation: "warp instructions that access shared memory",
        value: |of| count(of.counters.shared().requests),
    },
    Metric {
        name: "shared_wavefronts",
        ncu: Some("memory_l1_wavefronts_shared"),
        unit: Unit::Count,
        explanation: "turns in which the 32 four-byte banks of shared memory serve the requests of warps",
        value: |of| count(of.counters.shared().wavefronts),
    },
    Metric {
        name: "shared_wavefronts_ideal",
        ncu: Some("memory_l1_wavefronts_shared_ideal"),
        unit: Unit::Count,
        explanation: "turns that it would take without bank conflicts: one for each 128 bytes of a request",
        value: |of| count(of.counters.shared().ideal_wavefronts),
    },
    Metric {
        name: "shared_wavefronts_excessive",
        ncu: Some("derived__memory_l1_wavefronts_shared_excessive"),
        unit: Unit::Count,
        explanation: "the difference: what bank conflicts cost",
        value: |of| {
            let shared = of.counters.shared();
            count(shared.wavefronts - shared.ideal_wavefronts)
        },
    },
    Metric {
        name: "shared_load_wavefronts",
        ncu: Some("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
        unit: Unit::Count,
        explanation: "the turns of loads",
        value: |of| count(of.counters.shared_loads.wavefronts),
    },
    Metric {
        name: "shared_store_wavefronts",
        ncu: Some("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
        unit: Unit::Count,
        explanation: "the turns of stores",
        value: |of| count(of.counters.shared_stores.wavefronts),
    },
    Metric {
        name: "shared_atomic_wavefronts",
        ncu: Some("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"),
        unit: Unit::Count,
        explanation: "the turns of atomics, whose lanes take turns at a bank even for one word",
        value: |of| count(of.counters.shared_atomics.wavefronts),
    },
    Metric {
        name: "constant_loads",
        ncu: None,
        unit: Unit::Count,
        explanation: "warp instructions that load from constant memory",
        value: |of| count(of.counters.constant_loads.requests),
    },
    Metric {
        name: "constant_words",
        ncu: None,
        unit: Unit::Count,
        explanation: "the words that they touch, each counted once per request: the cache of constant memory serves one at a time",
        value: |of| count(of.counters.constant_loads.words),
    },
    Metric {
        name: "atomics",
        ncu: None,
        unit: Unit::Count,
        explanation: "atomic operations of threads, on any memory",
        value: |of| count(of.counters.atomics),
    },
    Metric {
        name: "global_atomic_requests",
        ncu: Some(
            "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum + l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        ),
        unit: Unit::Count,
        explanation: "warp instructions with atomics on global memory, with a result and without",
        value: |of| count(of.counters.global_atomics.requests),
    },
    Metric {
        name: "global_atomic_passes",
        ncu: Some(
            "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum + l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        ),
        unit: Unit::Count,
        explanation: "sectors that atomics on global memory send, one more for each further lane with the same address: 32 where a warp adds to one word",
        value: |of| count(of.counters.global_atomic_passes),
    },
    Metric {
        name: "atomics_on_one_address",
        ncu: None,
        unit: Unit::Count,
        explanation: "the most atomic operations on one address of global memory: they happen one after the other",
        value: |of| count(of.atomics_on_one_address),
    },
    Metric {
        name: "barriers",
        ncu: None,
        unit: Unit::Count,
        explanation: "arrivals of warps at block-wide barriers",
        value: |of| count(of.counters.barriers),
    },
    Metric {
        name: "barrier_waiting_warps",
        ncu: None,
        unit: Unit::Percent,
        explanation: "share of a block's warps that wait at a barrier, on average until its slowest arrives, were all instructions equally long",
        value: |of| of.barrier_wait.share().map(|share| 100.0 * share),
    },
];

fn count(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn ratio(numerator: u64, denominator: u64) -> Option<f64> {
    (denominator != 0).then(|| numerator as f64 / denominator as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::GridCounts;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }

    #[test]
    fn nothing_has_no_ratios_and_no_divergence() {
        let nothing = Measurements {
            grids: Some(GridCounts::default()),
            ..Measurements::default()
        };
        for metric in METRICS {
            let expected = match (metric.name, metric.unit) {
                (name, Unit::Percent) if name.ends_with("_efficiency") => Some(100.0),
                (_, Unit::Count) => Some(0.0),
                (_, Unit::Ratio | Unit::Percent) => None,
            };
            assert_eq!(metric.value(&nothing), expected, "{}", metric.name);
        }
    }
}
