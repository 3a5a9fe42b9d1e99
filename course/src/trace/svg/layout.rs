//! Sizes and places on the sheet, in pixels.

use super::shapes::{SMALL_CHARACTER, VALUE_CHARACTER};
use crate::trace::diagram::{Diagram, Room, Source};

/// The free edge of the sheet.
pub(super) const MARGIN: f64 = 16.0;
/// Where the columns begin: on their left are what is said of a step, and the names of rows.
pub(super) const START: f64 = 272.0;
/// The widest sheet.
pub(super) const MOST_WIDTH: f64 = 1200.0;
/// The highest sheet.
pub(super) const MOST_HEIGHT: f64 = 1600.0;
/// Between groups.
pub(super) const GROUP_GAP: f64 = 24.0;
/// The least width of a column whose cells show their values and elements, and of others the least and the most.
pub(super) const LEAST_FULL_CELL: f64 = 42.0;
pub(super) const LEAST_CELL: f64 = 9.0;
pub(super) const MOST_CELL: f64 = 21.0;
/// Font sizes of notes and of the title.
pub(super) const NOTE_SIZE: u32 = 11;
pub(super) const TITLE_SIZE: u32 = 16;

/// The room on a sheet.
pub(super) struct SvgRoom;

impl SvgRoom {
    /// The width that this many groups leave for columns.
    fn left(groups: usize) -> f64 {
        MOST_WIDTH - MARGIN - START - (groups - 1) as f64 * GROUP_GAP
    }

    /// The width of a cell with numbers of this length, and sets of that.
    fn full_cell(value: usize, elements: usize) -> f64 {
        let value = value as f64 * VALUE_CHARACTER;
        let elements = elements as f64 * SMALL_CHARACTER;
        (value.max(elements) + 6.0).max(LEAST_FULL_CELL).ceil()
    }
}

impl Room for SvgRoom {
    fn is_enough_for_numbers(
        &self,
        groups: usize,
        columns: usize,
        value: usize,
        elements: usize,
    ) -> bool {
        columns as f64 * Self::full_cell(value, elements) <= Self::left(groups)
    }

    fn is_enough(&self, groups: usize, columns: usize) -> bool {
        columns as f64 * LEAST_CELL <= Self::left(groups)
    }
}

/// How large things are, and where columns stand.
pub(super) struct Layout {
    /// Width of a cell, and distance of columns.
    pub cell: f64,
    pub is_full: bool,
    /// For each group its first column and how many it has.
    pub groups: Vec<(usize, usize)>,
}

impl Layout {
    pub fn new(diagram: &Diagram) -> Self {
        let length = |text: &str| text.chars().count();
        let cells = diagram.scenes.iter().flat_map(|scene| {
            let source = match &scene.source {
                Source::Row(row) => Some(row),
                _ => None,
            };
            source
                .into_iter()
                .chain(&scene.target)
                .flat_map(|row| &row.cells)
        });
        let (value, elements) = cells.fold((0, 0), |(value, elements), cell| {
            (
                value.max(length(&cell.value)),
                elements.max(length(&cell.elements)),
            )
        });
        let groups: Vec<(usize, usize)> = diagram
            .groups
            .iter()
            .map(|group| (group.first, group.columns))
            .collect();
        let columns: usize = groups.iter().map(|(_, columns)| columns).sum();
        let small = (SvgRoom::left(groups.len().max(1)) / columns.max(1) as f64).floor();
        Self {
            cell: if diagram.is_full {
                SvgRoom::full_cell(value, elements)
            } else {
                small.clamp(LEAST_CELL, MOST_CELL)
            },
            is_full: diagram.is_full,
            groups,
        }
    }

    /// Where a group begins and ends.
    pub fn group(&self, group: usize) -> (f64, f64) {
        let (first, columns) = self.groups[group];
        let start = START + group as f64 * GROUP_GAP + first as f64 * self.cell;
        (start, start + columns as f64 * self.cell)
    }

    /// Where the last column ends.
    pub fn end(&self) -> f64 {
        self.group(self.groups.len() - 1).1
    }

    /// The middle of a column, or of a place between two.
    pub fn x(&self, at: f64) -> f64 {
        START + self.group_of(at) as f64 * GROUP_GAP + (at + 0.5) * self.cell
    }

    /// The group of a column, or of a place between two.
    pub fn group_of(&self, at: f64) -> usize {
        let up_to = |&(first, _): &(usize, usize)| first as f64 <= at;
        self.groups.partition_point(up_to) - 1
    }

    /// The radius of a thread.
    pub fn radius(&self) -> f64 {
        (self.cell / 2.0 - 1.0).min(if self.is_full { 11.0 } else { 7.0 })
    }

    /// Height of a cell.
    pub fn cell_height(&self) -> f64 {
        if self.is_full { 34.0 } else { 12.0 }
    }
}
