//! Execution: blocks of warps of 32 lanes, one instruction over all active lanes at a time.

mod access;
mod barrier;
mod block;
mod calls;
mod collective;
mod launch;
mod warp;

pub(crate) use launch::{Run, Shape, run};
