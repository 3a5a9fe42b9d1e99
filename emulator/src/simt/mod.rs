//! Execution: blocks of warps of 32 lanes, one instruction over all active lanes at a time.

mod access;
mod async_copy;
mod atomic;
mod barrier;
mod barrier_state;
mod block;
mod builtin;
mod calls;
mod cluster;
mod collective;
mod copies;
mod diagnosis;
mod execute;
mod frame;
mod grid;
mod grids;
mod lookup;
mod mbarrier;
mod membership;
mod moves;
mod nested;
mod print;
mod run;
mod schedule;
mod shape;
mod site;
mod spaces;
mod together;
mod warp;
mod workers;

pub(crate) use nested::{run, run_together};
pub(crate) use run::{Family, Run};
pub(crate) use shape::Shape;
pub(crate) use workers::cores;
