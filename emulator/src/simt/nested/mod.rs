//! Grids that kernels launch: dynamic parallelism (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism").
//!
//! What a block launches stays with it until it has finished or waits for it. A grid may begin at any time after its launch, as
//! soon as the order of streams lets it; in the fixed order that is as late as possible, under a seed at random.

mod runtime;
mod tree;

pub(crate) use tree::run;
