//! What warps, blocks and launches do: control flow, scheduling, collectives, barriers, memory, traps, counters.

#[path = "../common/mod.rs"]
mod common;

mod any_control;
mod atomics;
mod barriers;
mod calls;
mod clusters;
mod collectives;
mod control;
mod cooperative;
mod counters;
mod heap;
mod launches;
mod memory;
mod memory_traps;
mod parameters;
mod scheduling;
mod wide_atomics;
