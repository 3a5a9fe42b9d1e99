//! Grids that kernels launch: dynamic parallelism (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism").
//!
//! A block keeps what it launches until it has finished or waits for it. A grid may begin at any time after its launch that its stream
//! allows: in the fixed order it begins as late as possible, under a seed at random.

mod runtime;
mod tree;

pub(crate) use tree::{run, run_together};
