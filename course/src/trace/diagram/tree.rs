//! Which grid has launched which.

use super::model::{Generation, GridMark};
use crate::trace::picture::{Grid, Picture};

/// The most grids of a generation that are drawn.
const MOST: usize = 4;

/// The grids by generation; none where the host's is alone.
pub(super) fn generations(picture: &Picture) -> Vec<Generation> {
    let deepest = picture.grids.iter().map(|grid| grid.generation).max();
    let Some(deepest @ 1..) = deepest else {
        return Vec::new();
    };
    let mut above: Vec<u64> = Vec::new();
    let mut generations = Vec::new();
    for generation in 0..=deepest {
        let of_generation = || {
            let grids = picture.grids.iter();
            grids.filter(move |grid| grid.generation == generation)
        };
        let drawn: Vec<&Grid> = of_generation().take(MOST).collect();
        generations.push(Generation {
            name: format!("generation {generation}"),
            more: of_generation().count() - drawn.len(),
            grids: drawn.iter().map(|grid| mark(grid, &above)).collect(),
        });
        above = drawn.iter().map(|grid| grid.number).collect();
    }
    generations
}

fn mark(grid: &Grid, above: &[u64]) -> GridMark {
    let parent = grid.launched_by.map(|by| by.grid);
    let parent = parent.and_then(|parent| above.iter().position(|&number| number == parent));
    let launcher = match grid.launched_by {
        None => "by the host".to_owned(),
        // A branch leads to the grid, if it is drawn.
        Some(by) if parent.is_some() => format!("by thread {} of block {}", by.thread, by.block),
        Some(by) => format!(
            "by thread {} of block {}, grid {}",
            by.thread, by.block, by.grid
        ),
    };
    GridMark {
        name: format!("grid {}", grid.number),
        size: sizes(grid.blocks, grid.threads),
        launcher,
        parent,
    }
}

/// `2 blocks of 8 threads`.
pub(super) fn sizes(blocks: u32, threads: u32) -> String {
    let plural = |count: u32| if count == 1 { "" } else { "s" };
    format!(
        "{blocks} block{} of {threads} thread{}",
        plural(blocks),
        plural(threads)
    )
}
