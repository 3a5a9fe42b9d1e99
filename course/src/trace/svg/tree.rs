//! The grids of a launch, generation by generation, each below the one that has launched it.

use super::drawing::Drawing;
use super::layout::{MARGIN, MOST_WIDTH, NOTE_SIZE, START};
use super::shapes::{Point, colours, width_of};
use crate::trace::diagram::{GridMark, Style, Tree};
use crate::trace::elements::count;
use crate::trace::memory::Memory;

const HEIGHT: f64 = 32.0;
/// Between generations, and more for each parent, whose branches turn at a level of their own.
const BETWEEN: f64 = 14.0;
const LEVEL: f64 = 5.0;
/// Between the boxes of a generation.
const GAP: f64 = 14.0;

impl Drawing {
    pub(super) fn tree(&mut self, tree: &Tree) {
        let width = tree.grids.iter().map(width).fold(0.0, f64::max);
        // The middle of the lower edge of each grid that is drawn already.
        let mut feet: Vec<Point> = vec![(START, 0.0); tree.grids.len()];
        for (generation, more) in tree.more.iter().enumerate() {
            let grids = tree.grids.iter().enumerate();
            let grids = grids.filter(|(_, grid)| grid.generation == generation);
            let grids: Vec<(usize, &GridMark)> = grids.collect();
            let mut parents: Vec<usize> =
                grids.iter().filter_map(|(_, grid)| grid.parent).collect();
            parents.dedup();
            if generation > 0 {
                self.y += BETWEEN + LEVEL * parents.len() as f64;
            }
            let middle = self.y + HEIGHT / 2.0;
            let name = format!("generation {generation}");
            if *more > 0 {
                self.sheet.label_before(START - 8.0, middle - 7.0, &name);
                let text = format!("and {} more", count(*more, "grid"));
                self.sheet.label_before(START - 8.0, middle + 7.0, &text);
            } else {
                self.sheet.label_before(START - 8.0, middle, &name);
            }
            let (mut left, mut rest) = (START, MOST_WIDTH - MARGIN + GAP);
            rest -= (width + GAP) * grids.len() as f64;
            for (place, grid) in grids {
                // Below its parent, where there is room.
                let half = width / 2.0;
                let parent = grid.parent.map(|parent| feet[parent]);
                let centre = parent.map_or(0.0, |(x, _)| x);
                let centre = centre.min(rest + half).max(left + half);
                self.grid(grid, (centre, width));
                let rank = parents.iter().position(|&other| Some(other) == grid.parent);
                if let (Some(parent), Some(rank)) = (parent, rank) {
                    // The levels of those further left are lower, so that no branch crosses another.
                    let level = self.y - BETWEEN + 4.0 - LEVEL * rank as f64;
                    self.branch(parent, level, (centre, self.y));
                }
                feet[place] = (centre, self.y + HEIGHT);
                left = centre + half + GAP;
                rest += 2.0 * half + GAP;
            }
            self.y += HEIGHT;
        }
        if !tree.grids.is_empty() {
            self.y += 20.0;
        }
    }

    fn grid(&mut self, grid: &GridMark, (centre, width): (f64, f64)) {
        let left = centre - width / 2.0;
        let size = (width, HEIGHT);
        self.sheet
            .cell((left, self.y), size, Memory::Shared, Style::Idle);
        self.sheet
            .note((left + 7.0, self.y + 13.0), &first_line(grid));
        self.sheet.note((left + 7.0, self.y + 27.0), &grid.launcher);
    }

    /// The way from a grid to one that it has launched: down, to the side, and down.
    fn branch(&mut self, (x, y): Point, level: f64, end: Point) {
        let mut start = (x, y);
        if (x - end.0).abs() > 1.0 {
            self.sheet.line(start, (x, level), colours::INK, false);
            start = (end.0, level);
            self.sheet.line((x, level), start, colours::INK, false);
        }
        self.sheet.arrow(start, end, colours::INK);
    }
}

fn first_line(grid: &GridMark) -> String {
    format!("{}: {}", grid.name, grid.size)
}

/// The width that its box needs; all get the widest.
fn width(grid: &GridMark) -> f64 {
    let lines = [&first_line(grid), &grid.launcher];
    let widths = lines.map(|line| width_of(line, NOTE_SIZE));
    widths[0].max(widths[1]) + 14.0
}
