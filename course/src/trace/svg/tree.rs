//! The grids of a launch, generation by generation.

use super::drawing::Drawing;
use super::layout::{NOTE_SIZE, START};
use super::shapes::{colours, width_of};
use crate::trace::diagram::{Generation, Style};
use crate::trace::memory::Memory;

const HEIGHT: f64 = 32.0;
const BETWEEN: f64 = 20.0;

impl Drawing {
    pub(super) fn tree(&mut self, generations: &[Generation]) {
        let mut above: Vec<(f64, f64)> = Vec::new();
        for generation in generations {
            let middle = self.y + HEIGHT / 2.0;
            self.sheet
                .label_before(START - 8.0, middle, &generation.name);
            let (mut left, mut marks) = (START, Vec::new());
            for grid in &generation.grids {
                let first = format!("{}: {}", grid.name, grid.size);
                let width =
                    width_of(&first, NOTE_SIZE).max(width_of(&grid.launcher, NOTE_SIZE)) + 14.0;
                self.sheet
                    .cell((left, self.y), (width, HEIGHT), Memory::Shared, Style::Idle);
                self.sheet.note((left + 7.0, self.y + 13.0), &first);
                self.sheet.note((left + 7.0, self.y + 27.0), &grid.launcher);
                let centre = left + width / 2.0;
                if let Some(&parent) = grid.parent.and_then(|parent| above.get(parent)) {
                    self.sheet.arrow(parent, (centre, self.y), colours::INK);
                }
                marks.push((centre, self.y + HEIGHT));
                left += width + 16.0;
            }
            if generation.more > 0 {
                let text = format!("and {} more", generation.more);
                self.sheet.note((left, middle + 4.0), &text);
            }
            above = marks;
            self.y += HEIGHT + BETWEEN;
        }
    }
}
