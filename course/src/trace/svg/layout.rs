//! Sizes and places on the sheet, in pixels.

use super::shapes::{SMALL_CHARACTER, VALUE_CHARACTER};
use crate::trace::elements;
use crate::trace::geometry::{Band, Geometry};
use crate::trace::picture::{Content, Picture};

/// The free edge of the sheet.
pub(super) const MARGIN: f64 = 16.0;
/// Width of the labels on the left.
const LABELS: f64 = 160.0;
/// Between blocks.
const BLOCK_GAP: f64 = 24.0;
/// The least width of a cell that shows its value and its elements.
const LEAST_FULL_CELL: f64 = 42.0;
/// Width of a cell that only shows how many elements it is made of.
const SMALL_CELL: f64 = 21.0;
/// What all cells side by side may take, to show more than that.
const MOST_FULL_WIDTH: f64 = 1300.0;

/// How large things are, and where columns stand.
pub(super) struct Layout {
    /// Width of a cell, and distance of columns.
    pub cell: f64,
    columns: usize,
    blocks: usize,
    is_full: bool,
    width: f64,
}

impl Layout {
    pub fn new(picture: &Picture, geometry: &Geometry<'_>) -> Self {
        let needed = picture
            .contents()
            .map(|content| {
                let value = content.value.to_string().chars().count() as f64;
                let elements = label(&content).chars().count() as f64;
                (value * VALUE_CHARACTER).max(elements * SMALL_CHARACTER) + 6.0
            })
            .fold(LEAST_FULL_CELL, f64::max)
            .ceil();
        let is_full = needed * picture.threads() as f64 <= MOST_FULL_WIDTH;
        let mut layout = Self {
            cell: if is_full { needed } else { SMALL_CELL },
            columns: geometry.columns,
            blocks: picture.blocks.len(),
            is_full,
            width: 0.0,
        };
        layout.widen(layout.end());
        layout
    }

    /// Width of the sheet.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Makes the sheet wide enough for something that ends here.
    pub fn widen(&mut self, end: f64) {
        self.width = self.width.max(end + MARGIN);
    }

    /// Where the columns of a block begin and end.
    pub fn block(&self, block: usize) -> (f64, f64) {
        let width = self.columns as f64 * self.cell;
        let start = MARGIN + LABELS + block as f64 * (width + BLOCK_GAP);
        (start, start + width)
    }

    /// Where the last column ends.
    pub fn end(&self) -> f64 {
        self.block(self.blocks - 1).1
    }

    /// The middle of a column.
    pub fn column(&self, block: usize, column: usize) -> f64 {
        self.block(block).0 + (column as f64 + 0.5) * self.cell
    }

    /// The radius of a thread.
    pub fn radius(&self) -> f64 {
        (self.cell / 2.0 - 1.5).min(11.0)
    }

    /// Whether cells show their value and their elements, or only how many elements there are.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Room for the lines from cells to threads: the more columns, the flatter they would get.
    pub fn reach(&self) -> f64 {
        if self.is_full { 38.0 } else { 50.0 }
    }

    /// Height of a cell of the input: all of it has to fit above the first step.
    pub fn input_height(&self) -> f64 {
        if self.is_full { 34.0 } else { 12.0 }
    }

    /// Between two rows of the input.
    pub fn between_input_rows(&self) -> f64 {
        if self.is_full { 8.0 } else { 4.0 }
    }

    /// Height of any other cell.
    pub fn cell_height(&self, band: Band) -> f64 {
        if self.is_full || band.is_named() {
            34.0
        } else {
            SMALL_CELL
        }
    }

    /// A cell is as wide as its column; only those of named buffers, which stand alone, may be wider.
    pub fn cell_width(&self, band: Band, labels: &[String]) -> f64 {
        let longest = labels.iter().map(|label| label.chars().count()).max();
        if band.is_named() {
            (longest.unwrap_or_default() as f64 * VALUE_CHARACTER + 10.0).max(self.cell)
        } else {
            self.cell
        }
    }

    /// What stands in a cell, line by line.
    pub fn labels(&self, band: Band, content: &Content) -> Vec<String> {
        if self.is_full || band.is_named() {
            return vec![content.value.to_string(), label(content)];
        }
        let count = content.elements.as_ref().map(Vec::len);
        count.map(|count| count.to_string()).into_iter().collect()
    }

    /// What the numbers in cells are.
    pub fn explanation(&self) -> &'static str {
        if self.is_full {
            "In a cell: its value, and below it the elements of the input that it is made of."
        } else {
            "In a cell: how many elements of the input it is made of."
        }
    }
}

fn label(content: &Content) -> String {
    elements::label(content.elements.as_deref().unwrap_or_default())
}
