//! Pictures of a small launch: which thread reads what and writes where, step by step, as text and as SVG.
//!
//! Nothing in a picture is drawn by hand. A lesson runs on the emulator while a [`Trace`](warpfold_emulator::Trace) records
//! it; the events fall into [steps](Step) at barriers, at exchanges of registers, and wherever a warp reads what it has just
//! written. Which elements of the input have flowed into a cell is found by running the lesson again with one element
//! changed at a time, and by looking which values differ.

mod elements;
mod execution;
mod flow;
mod geometry;
mod picture;
mod steps;
mod svg;
mod text;
mod usage;

pub use execution::{TraceError, trace};
pub use picture::{Block, Boundary, Cell, Content, Picture, Step, Work, Write};
