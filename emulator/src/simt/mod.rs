//! Execution: blocks of warps of 32 lanes, one instruction over all active lanes at a time.

mod access;
mod async_copy;
mod atomic;
mod barrier;
mod block;
mod builtin;
mod calls;
mod cluster;
mod collective;
mod diagnosis;
mod execute;
mod frame;
mod launch;
mod mbarrier;
mod moves;
mod nested;
mod print;
mod schedule;
mod spaces;
mod together;
mod warp;
mod workers;

pub(crate) use launch::{Run, Shape};
pub(crate) use nested::{Family, run};
pub(crate) use workers::cores;
