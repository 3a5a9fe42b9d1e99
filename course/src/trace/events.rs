//! What a block did, in terms of cells.

use super::picture::{Cell, Content};
use std::collections::HashSet;
use warpfold_emulator::AccessKind;

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;

/// An event of a block, in terms of cells.
pub(super) enum Event {
    /// Lanes of a warp access memory.
    Access {
        warp: u32,
        /// Of the PTX.
        line: u32,
        kind: AccessKind,
        /// For each lane.
        bytes: u32,
        /// How many cells that is.
        width: usize,
        is_copy: bool,
        /// Lane, cell, and what was moved.
        moves: Vec<(u32, Cell, Content)>,
        /// Where each lane's first cell is in its buffer, in bytes.
        offsets: Vec<(u32, u64)>,
    },
    /// Lanes of a warp exchange registers: lane, the mask of the lanes that its result comes from, and what it brings.
    Exchange {
        warp: u32,
        lanes: Vec<(u32, u32, Content)>,
    },
    /// Lanes of a warp meet.
    WarpBarrier { warp: u32 },
    /// These warps meet.
    BlockBarrier { warps: Vec<u32> },
    /// A lane launches a grid.
    GridLaunch { warp: u32, lane: u32, grid: u64 },
    /// A warp has waited for these grids.
    GridWait { warp: u32, grids: Vec<u64> },
}

/// What one block of a launch did.
pub(super) struct Events<'e> {
    /// The number of its grid.
    pub grid: u64,
    /// Its own in that.
    pub number: usize,
    pub threads: u32,
    pub events: &'e [Event],
}

/// Pairs of PTX lines whose accesses nothing orders, the earlier first.
pub(super) type Races = HashSet<[u32; 2]>;
