//! Pictures of a small launch: which thread reads what and writes where, step by step, as text and as SVG.
//!
//! Nothing in a picture is drawn by hand. A lesson runs on the emulator while a [`Trace`](warpfold_emulator::Trace) records
//! it; the events fall into [steps](Step) at barriers, at exchanges of registers, and wherever a warp reads what it has just
//! written. Which elements of the input have flowed into a cell is found by running the lesson again with one element
//! changed at a time, and by looking which values differ.

mod clocks;
mod diagram;
mod elements;
mod events;
mod execution;
mod flow;
mod fold;
mod memory;
mod picture;
mod steps;
mod svg;
mod text;
mod usage;

pub use execution::{MOST_ELEMENTS, TraceError, trace};
pub use picture::{
    Access, Block, Boundary, Cell, Content, Grid, Launcher, Picture, Step, Work, Write,
};
#[doc(hidden)]
pub use svg::{Covered, Covering};
