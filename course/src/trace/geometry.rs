//! Where cells stand in a picture: each memory is a band of rows, as wide as a block has threads.

use super::picture::{Boundary, Cell, Picture, Work};
use std::collections::BTreeSet;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Band {
    Input,
    Registers,
    Shared,
    Partials,
    Total,
    Next,
    Counter,
    Status,
}

impl Band {
    pub const ALL: [Self; 8] = [
        Self::Input,
        Self::Registers,
        Self::Shared,
        Self::Partials,
        Self::Total,
        Self::Next,
        Self::Counter,
        Self::Status,
    ];

    pub fn of(cell: Cell) -> Self {
        match cell {
            Cell::Input(_) => Self::Input,
            Cell::Register(_) => Self::Registers,
            Cell::Shared(_) => Self::Shared,
            Cell::Partials(_) => Self::Partials,
            Cell::Total(_) => Self::Total,
            Cell::Next(_) => Self::Next,
            Cell::Counter(_) => Self::Counter,
            Cell::Status(_) => Self::Status,
        }
    }

    /// Whether it is one of the buffers of a few words that a launch has beside its input. Their cells stand alone, with their
    /// names and what they hold.
    pub fn is_named(self) -> bool {
        match self {
            Self::Input | Self::Registers | Self::Shared => false,
            Self::Partials | Self::Total | Self::Next | Self::Counter | Self::Status => true,
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "global",
            Self::Registers => "registers",
            Self::Shared => "shared",
            Self::Partials => "partials",
            Self::Total => "total",
            Self::Next => "next",
            Self::Counter => "counter",
            Self::Status => "status",
        }
    }
}

/// What a cell of a named buffer is called: `partials[1]`, `total`.
pub(super) fn cell_name(cell: Cell) -> String {
    let name = Band::of(cell).name();
    match cell {
        Cell::Partials(index) => format!("{name}[{index}]"),
        _ => name.to_owned(),
    }
}

/// Where a cell stands in the part of the picture that belongs to its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub band: Band,
    /// The row of the band.
    pub row: usize,
    pub column: usize,
}

/// The places of all cells of a picture.
pub(super) struct Geometry<'p> {
    picture: &'p Picture,
    /// The cells that each block ever reads or writes.
    touched: Vec<BTreeSet<Cell>>,
    /// Columns of a block: one per thread.
    pub columns: usize,
    /// Rows that the input takes.
    pub input_rows: usize,
}

impl<'p> Geometry<'p> {
    pub fn new(picture: &'p Picture) -> Self {
        let touched = picture
            .blocks
            .iter()
            .map(|block| {
                let work = block.steps.iter().flat_map(|step| &step.work);
                work.flat_map(|work| {
                    let written = work.writes.iter().map(|write| write.cell);
                    work.reads.iter().copied().chain(written)
                })
                .collect()
            })
            .collect();
        let mut geometry = Self {
            picture,
            touched,
            columns: picture.block as usize,
            input_rows: 0,
        };
        geometry.input_rows = (0..picture.blocks.len())
            .flat_map(|block| geometry.cells(block, Band::Input))
            .map(|(place, _)| place.row + 1)
            .max()
            .unwrap_or_default();
        geometry
    }

    /// Where a cell stands.
    pub fn place(&self, block: usize, cell: Cell) -> Place {
        let band = Band::of(cell);
        let index = cell.index() - self.first(block, band);
        Place {
            band,
            row: index / self.columns,
            column: index % self.columns,
        }
    }

    /// The cells of a band that a block ever touches, with their places.
    pub fn cells(&self, block: usize, band: Band) -> impl Iterator<Item = (Place, Cell)> {
        self.touched[block]
            .iter()
            .filter(move |&&cell| Band::of(cell) == band)
            .map(move |&cell| (self.place(block, cell), cell))
    }

    /// The first element or word of the band that the block touches; of the registers, that of thread 0.
    fn first(&self, block: usize, band: Band) -> usize {
        if band == Band::Registers {
            return 0;
        }
        self.touched[block]
            .iter()
            .find(|&&cell| Band::of(cell) == band)
            .map_or(0, |cell| cell.index())
    }

    /// What there is to say of a step.
    pub fn summary(&self, step: usize) -> Summary {
        let work: Vec<(usize, &Work)> = self.picture.work(step).collect();
        let in_vain = work.iter().filter(|(_, work)| !work.is_used).count();
        Summary {
            boundary: self.picture.boundary(step),
            distance: self.distance(&work),
            working: work.len(),
            in_vain,
        }
    }

    /// How far from what they write the threads read, where that is the same for all: `+4`, `+8 … +56`.
    fn distance(&self, work: &[(usize, &Work)]) -> Option<String> {
        let mut common: Option<Vec<i64>> = None;
        for &(block, work) in work {
            let index = |cell: Cell| {
                let place = self.place(block, cell);
                (place.row * self.columns + place.column) as i64
            };
            for write in &work.writes {
                let near = |&&cell: &&Cell| Band::of(cell) == Band::of(write.cell);
                let mut distances: Vec<i64> = work
                    .reads
                    .iter()
                    .filter(near)
                    .map(|&cell| index(cell) - index(write.cell))
                    .filter(|&distance| distance != 0)
                    .collect();
                distances.sort_unstable();
                match &common {
                    // A lane at the end of an exchange that gets its own value back reads nothing.
                    _ if distances.is_empty() => {}
                    Some(common) if *common != distances => return None,
                    _ => common = Some(distances),
                }
            }
        }
        match common?[..] {
            [] => None,
            [only] => Some(format!("{only:+}")),
            [first, second] => Some(format!("{first:+}, {second:+}")),
            [first, .., last] => Some(format!("{first:+} … {last:+}")),
        }
    }
}

/// What there is to say of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// What lies before it.
    pub boundary: Boundary,
    /// How far from what they write the threads read.
    pub distance: Option<String>,
    /// Threads at work.
    pub working: usize,
    /// Those whose work has no part in the result.
    pub in_vain: usize,
}

impl Summary {
    /// How many of so many threads work: `4 of 16 threads work`.
    pub fn threads(&self, threads: usize) -> String {
        let plural = if self.working == 1 { "s" } else { "" };
        let work = format!("{} of {threads} threads work{plural}", self.working);
        match self.in_vain {
            0 => work,
            in_vain => format!("{work}, {in_vain} in vain"),
        }
    }
}
