//! Asynchronous copies: when they are complete, who may look, and what is counted.

#[path = "../common/mod.rs"]
mod common;

mod bulk;
mod cluster;
mod compiled;
mod findings;
mod ncu;
mod pending;
mod policies;
mod reductions;
