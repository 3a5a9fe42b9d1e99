//! Every arithmetic form against plain Rust, on values at the edges of its types.
//!
//! A case is written as the manual writes it, `add.s32 d, a, b`, with a closure that says what it means. Where the manual leaves
//! a result open, the closure says what GPUs do.

#[path = "../common/mod.rs"]
mod common;

mod compare;
mod convert;
mod extended;
mod float;
mod format;
mod half;
mod integer;
mod logic;
mod narrow;
mod packed;
mod table;
mod video;
