//! What orders the grids that kernels launch: a launch hands on what the thread that launches knows; a complete grid hands on all
//! that it, and what it has launched, has done.

use crate::observers::Map;
use std::sync::Arc;

use super::clocks::Knowledge;

/// The grids of a launch, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Grids(Map<u64, Grid>);

#[derive(Debug, Default)]
struct Grid {
    /// What its blocks know when they begin.
    known: Arc<Knowledge>,
    /// The numbers that its blocks go by here.
    blocks: Vec<u32>,
    launched: Vec<u64>,
}

impl Grids {
    /// A thread launches a grid, which begins with what the thread knows.
    pub fn launch(&mut self, parent: u64, grid: u64, known: Knowledge) {
        self.0.entry(parent).or_default().launched.push(grid);
        self.0.entry(grid).or_default().known = Arc::new(known);
    }

    /// A grid begins, since others are complete.
    pub fn begin(&mut self, grid: u64, after: &[u64]) {
        let mut known = Knowledge::default();
        for &other in after {
            self.complete(other, &mut known);
        }
        Arc::make_mut(&mut self.0.entry(grid).or_default().known).add(&known);
    }

    /// A block of a grid begins. Returns what its threads know.
    pub fn begin_block(&mut self, grid: u64, block: u32) -> &Arc<Knowledge> {
        let grid = self.0.entry(grid).or_default();
        grid.blocks.push(block);
        &grid.known
    }

    /// Adds what a complete grid hands on.
    pub fn complete(&self, grid: u64, into: &mut Knowledge) {
        let mut rest = vec![grid];
        while let Some(grid) = rest.pop().and_then(|grid| self.0.get(&grid)) {
            into.add(&grid.known);
            for &block in &grid.blocks {
                into.add_block(block);
            }
            rest.extend(&grid.launched);
        }
    }
}
