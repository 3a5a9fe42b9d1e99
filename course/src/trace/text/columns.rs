//! Where columns stand in a terminal.

use crate::trace::diagram::{Diagram, Room};

/// Width of the labels on the left.
pub(super) const LABEL: usize = 14;
/// Characters for each column, where there is room for arrows.
const SLOT: usize = 4;
/// Characters between groups.
const GAP: usize = 1;

/// The room in a terminal with this many columns.
pub(super) struct TextRoom(pub usize);

impl Room for TextRoom {
    fn is_enough_for_numbers(&self, groups: usize, columns: usize, value: usize, _: usize) -> bool {
        value <= 2 * SLOT && LABEL + columns * SLOT + (groups - 1) * GAP <= self.0
    }

    fn is_enough(&self, groups: usize, columns: usize) -> bool {
        LABEL + columns + (groups - 1) * GAP <= self.0
    }
}

/// Where columns stand.
pub(super) struct Columns {
    /// Characters for each.
    slot: usize,
    /// For each group its first column.
    firsts: Vec<usize>,
    /// The width of the terminal.
    pub width: usize,
    /// Where the last column ends.
    pub end: usize,
}

impl Columns {
    pub fn new(diagram: &Diagram, width: usize) -> Self {
        let firsts = diagram.groups.iter().map(|group| group.first).collect();
        let mut columns = Self {
            slot: if diagram.is_full { SLOT } else { 1 },
            firsts,
            width,
            end: 0,
        };
        if let Some(last) = diagram.groups.last() {
            columns.end = columns.slot(last.first + last.columns - 1) + columns.slot;
        }
        columns
    }

    /// Where a column begins. Numbers end on the character after that.
    pub fn slot(&self, column: usize) -> usize {
        let group = self.firsts.partition_point(|&first| first <= column) - 1;
        LABEL + group * GAP + column * self.slot
    }

    /// Where a thread that stands among the columns begins.
    pub fn slot_at(&self, at: f64) -> usize {
        let half = at.fract() * self.slot as f64;
        self.slot(at.floor() as usize) + half as usize
    }

    /// Where a group begins.
    pub fn start(&self, group: usize) -> usize {
        self.slot(self.firsts[group])
    }
}
