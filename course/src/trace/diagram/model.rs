//! What there is to draw.

use crate::trace::memory::Memory;
use crate::trace::picture::Boundary;

/// How much room there is.
pub(in crate::trace) trait Room {
    /// Whether this many groups, with this many columns in all, fit if a cell has room for a number of `value` characters and a set of
    /// elements of `elements`.
    fn is_enough_for_numbers(
        &self,
        groups: usize,
        columns: usize,
        value: usize,
        elements: usize,
    ) -> bool;
    /// Whether they fit without.
    fn is_enough(&self, groups: usize, columns: usize) -> bool;
}

/// A picture to be drawn.
pub(in crate::trace) struct Diagram {
    pub lesson: &'static str,
    pub title: &'static str,
    /// What was launched, part by part.
    pub subtitle: Vec<String>,
    /// Whether cells have their values and elements.
    pub is_full: bool,
    pub groups: Vec<Group>,
    /// The grids, if kernels have launched any.
    pub tree: Tree,
    pub scenes: Vec<Scene>,
    /// Sentences below.
    pub notes: Vec<String>,
}

/// The columns of a warp.
pub(in crate::trace) struct Group {
    /// Whose they are: `block 0`.
    pub name: String,
    /// Who does the same: `and 7 blocks like this`.
    pub note: String,
    /// The first column.
    pub first: usize,
    pub columns: usize,
}

/// Which grid has launched which.
#[derive(Default)]
pub(in crate::trace) struct Tree {
    /// Each grid is followed by those that it has launched.
    pub grids: Vec<GridMark>,
    /// How many more each generation has.
    pub more: Vec<usize>,
}

pub(in crate::trace) struct GridMark {
    /// `grid 1`.
    pub name: String,
    /// `1 block of 4 threads`.
    pub size: String,
    /// Who launched it: `by thread 0 of block 1 of grid 0`.
    pub launcher: String,
    pub generation: usize,
    /// The place of the one that launched it.
    pub parent: Option<usize>,
}

/// A step.
#[derive(Default)]
pub(in crate::trace) struct Scene {
    /// `3`, or of several that are folded `8 to 11`.
    pub name: String,
    /// Whether it stands for several.
    pub is_folded: bool,
    /// Whether those are not drawn because a page has no room for them.
    pub is_cut: bool,
    /// Whether it is the first of its generation, and which that is.
    pub generation: Option<String>,
    pub boundary: Boundary,
    /// The line of source that it comes from, and its text.
    pub origin: Option<String>,
    /// How far from what they write the threads read: `+4`.
    pub distance: Option<String>,
    /// Who works, line by line.
    pub summary: Vec<String>,
    /// What is read as a whole, from top to bottom.
    pub read_bands: Vec<Band>,
    /// Single cells that are read.
    pub read_chips: Vec<Chip>,
    /// The cells that are read.
    pub source: Source,
    pub threads: Vec<Thread>,
    pub moves: Vec<Move>,
    /// The cells that are written.
    pub target: Option<Row>,
    pub write_bands: Vec<Band>,
    /// Single cells that are written, and launches.
    pub write_chips: Vec<Chip>,
    /// How many elements the written cells are made of.
    pub made_of: Option<String>,
    pub strips: Vec<Strip>,
}

/// The row of cells that arrows begin in.
#[derive(Default)]
pub(in crate::trace) enum Source {
    /// There is none.
    #[default]
    Nothing,
    /// The last row of the scene above, of this memory.
    Above(Memory),
    /// A row of its own.
    Row(Row),
}

/// A row of cells.
pub(in crate::trace) struct Row {
    pub memory: Memory,
    pub cells: Vec<CellMark>,
}

pub(in crate::trace) struct CellMark {
    pub column: usize,
    pub style: Style,
    pub value: String,
    pub elements: String,
}

/// How a cell or a thread stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Style {
    /// It was there before the launch.
    Initial,
    /// It is written, or works, in this step.
    Active,
    /// The same, but nothing comes of it.
    InVain,
    /// It is not touched, or idle.
    Idle,
}

pub(in crate::trace) struct Thread {
    /// Its place among the columns, of which it may be between two.
    pub at: f64,
    pub number: u32,
    pub style: Style,
}

/// What a thread reads and writes, as far as there are lines for it.
pub(in crate::trace) struct Move {
    /// Its place in the scene's threads.
    pub thread: usize,
    pub is_used: bool,
    /// Columns of the source.
    pub from: Vec<usize>,
    /// The column of the source where it has kept something in a register.
    pub kept: Option<usize>,
    /// Chips that it reads.
    pub from_chips: Vec<usize>,
    /// Columns of the target.
    pub to: Vec<usize>,
    /// Chips that it writes.
    pub to_chips: Vec<usize>,
}

/// Cells that lanes side by side read or write together.
pub(in crate::trace) struct Band {
    pub group: usize,
    pub memory: Memory,
    /// The first column of the lanes, and the one after the last.
    pub columns: (usize, usize),
    /// What is accessed, in the longest words first.
    pub texts: Vec<String>,
    pub is_used: bool,
}

/// A cell that stands alone, with its name.
pub(in crate::trace) struct Chip {
    pub memory: Memory,
    /// Where it would stand best.
    pub at: f64,
    pub text: String,
    pub elements: String,
    pub is_used: bool,
}

/// How a warp's lanes hit memory.
pub(in crate::trace) struct Strip {
    /// What is accessed, and what that costs.
    pub text: String,
    /// How many other accesses of the step do and cost the same.
    pub more: usize,
    pub hits: Hits,
}

pub(in crate::trace) enum Hits {
    /// For each sector that is touched: its number, and which of its eight words are wanted.
    Sectors(Vec<(u64, u8)>),
    /// For each of the 32 banks, the lanes that want a word of it, those of one word together.
    Banks(Vec<Vec<Vec<u32>>>),
    /// For each word of constant memory that is touched, the lanes that want it.
    Words(Vec<(u64, Vec<u32>)>),
}
