//! The memories that cells are in, and what they are called.

use super::picture::Cell;
use serde::Serialize;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Memory {
    Input,
    Second,
    Constant,
    Output,
    Totals,
    Shared,
    Registers,
    Partials,
    Total,
    Next,
    Counter,
    Status,
}

impl Memory {
    pub fn of(cell: Cell) -> Self {
        match cell {
            Cell::Input(_) => Self::Input,
            Cell::Second(_) => Self::Second,
            Cell::Constant(_) => Self::Constant,
            Cell::Output(_) => Self::Output,
            Cell::Totals(_) => Self::Totals,
            Cell::Shared(_) => Self::Shared,
            Cell::Register(_) => Self::Registers,
            Cell::Partials(_) => Self::Partials,
            Cell::Total(_) => Self::Total,
            Cell::Next(_) => Self::Next,
            Cell::Counter(_) => Self::Counter,
            Cell::Status(_) => Self::Status,
        }
    }

    /// Whether it is one of the buffers of a few words that a launch has beside its arrays. Their cells stand alone, with their names
    /// and what they hold.
    pub fn is_named(self) -> bool {
        match self {
            Self::Input
            | Self::Second
            | Self::Constant
            | Self::Output
            | Self::Shared
            | Self::Registers => false,
            Self::Totals
            | Self::Partials
            | Self::Total
            | Self::Next
            | Self::Counter
            | Self::Status => true,
        }
    }

    /// Whether each block has its own.
    pub fn is_of_block(self) -> bool {
        matches!(self, Self::Shared | Self::Registers)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "global",
            Self::Second => "second",
            Self::Constant => "constant",
            Self::Output => "output",
            Self::Totals => "totals",
            Self::Shared => "shared",
            Self::Registers => "registers",
            Self::Partials => "partials",
            Self::Total => "total",
            Self::Next => "next total",
            Self::Counter => "counter",
            Self::Status => "status",
        }
    }
}

/// What a cell of a named buffer is called: `partials[1]`, `total`.
pub(super) fn cell_name(cell: Cell) -> String {
    let name = Memory::of(cell).name();
    match cell {
        Cell::Partials(index) | Cell::Totals(index) => format!("{name}[{index}]"),
        _ => name.to_owned(),
    }
}
