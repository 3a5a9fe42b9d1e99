//! Which grid has launched which.

use super::model::{GridMark, Tree};
use crate::trace::elements::count;
use crate::trace::picture::{Grid, Picture};
use std::collections::BTreeMap;

/// The most grids of a generation that are drawn.
const MOST: usize = 4;

/// The grids; none where the host's is alone.
pub(super) fn tree(picture: &Picture) -> Tree {
    if picture.grids.len() < 2 {
        return Tree::default();
    }
    let mut drawn: BTreeMap<u64, usize> = BTreeMap::new();
    let mut more = Vec::new();
    // A grid has a higher number than the one that launches it.
    for grid in &picture.grids {
        let generation = grid.generation as usize;
        more.resize(more.len().max(generation + 1), 0);
        let is_of_generation = |&&other: &&usize| other == generation;
        let has_room = drawn.values().filter(is_of_generation).count() < MOST;
        let has_parent = grid
            .launched_by
            .is_none_or(|by| drawn.contains_key(&by.grid));
        if has_room && has_parent {
            drawn.insert(grid.number, generation);
        } else {
            more[generation] += 1;
        }
    }
    let shown: Vec<&Grid> = picture
        .grids
        .iter()
        .filter(|grid| drawn.contains_key(&grid.number))
        .collect();
    let mut grids = Vec::new();
    descend(&shown, None, None, &mut grids);
    Tree { grids, more }
}

/// Adds the grids that a grid has launched, each with all below it.
fn descend(shown: &[&Grid], launcher: Option<u64>, parent: Option<usize>, to: &mut Vec<GridMark>) {
    let children = shown
        .iter()
        .filter(|grid| grid.launched_by.map(|by| by.grid) == launcher);
    for grid in children {
        let place = to.len();
        to.push(GridMark {
            name: format!("grid {}", grid.number),
            size: sizes(grid.blocks, grid.threads),
            launcher: match grid.launched_by {
                None => "by the host".to_owned(),
                Some(by) => format!(
                    "by thread {} of block {} of grid {}",
                    by.thread, by.block, by.grid
                ),
            },
            generation: grid.generation as usize,
            parent,
        });
        descend(shown, Some(grid.number), Some(place), to);
    }
}

/// `2 blocks of 8 threads`.
pub(super) fn sizes(blocks: u32, threads: u32) -> String {
    format!(
        "{} of {}",
        count(blocks as usize, "block"),
        count(threads as usize, "thread")
    )
}
