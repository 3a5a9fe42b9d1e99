//! What the sanitizers report: findings, each with the places that have to do with it.

use std::fmt;

use crate::error::{Absence, Fault, FreePlace, Trap};
use crate::kernel::Kernel;
use crate::observer::BlockEvent;
use crate::source::Origin;
use crate::types::Space;

/// The sanitizers. They have the names of compute-sanitizer's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// Addresses that the kernel must not touch.
    Memcheck,
    /// Reads of memory that nothing has written.
    Initcheck,
    /// Accesses of two threads that nothing orders.
    Racecheck,
    /// Barriers and warp-wide instructions in which the wrong threads take part.
    Synccheck,
    /// Results that depend on the order in which blocks, warps and lanes advance.
    Schedules,
}

impl Tool {
    /// Those that watch one launch.
    pub const WATCHING: [Self; 4] = [
        Self::Memcheck,
        Self::Initcheck,
        Self::Racecheck,
        Self::Synccheck,
    ];

    /// The name, as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Initcheck => "initcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
            Self::Schedules => "schedules",
        }
    }
}

/// One thing that a kernel does wrong, however often it does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Who reports it.
    pub tool: Tool,
    /// What it is, in two to four words.
    pub kind: &'static str,
    /// What is wrong and how to put it right, in one sentence or two.
    pub message: String,
    /// The entry that was launched.
    pub kernel: String,
    /// The threads and lines of the first instance; first the thread that did the wrong thing, or did it last.
    pub places: Vec<Place>,
    /// The first instance's memory, where the finding is about memory.
    pub memory: Option<Bytes>,
    /// How many times it happened, counted by threads.
    pub count: u64,
    /// Whether the launch ended there, as it does at a trap. Nothing after it has been checked.
    pub ends_launch: bool,
}

/// What a thread did, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What it did there: `reads`.
    pub does: &'static str,
    /// The number of its grid in the launch: 0 for the host's, then 1, 2 … in the order in which kernels launch theirs.
    pub grid: u64,
    /// The number of its device ([`Memory::device`](crate::Memory::device)).
    pub device: u8,
    /// `%ctaid` of its block.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
    /// The PTX line, counted from 1.
    pub line: u32,
    /// That line, trimmed.
    pub text: String,
    /// What it was compiled from, if the PTX says.
    pub origin: Option<Origin>,
}

/// A few bytes of the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The state space.
    pub space: Space,
    /// The first byte's address in that space.
    pub address: u64,
    /// How many.
    pub bytes: u32,
}

impl Place {
    pub(crate) fn new(
        kernel: &Kernel,
        does: &'static str,
        block: [u32; 3],
        thread: [u32; 3],
        line: u32,
    ) -> Self {
        Self {
            does,
            grid: 0,
            device: 0,
            block,
            thread,
            line,
            text: kernel.line_text(line).unwrap_or_default().to_owned(),
            origin: kernel.origin(line),
        }
    }

    /// What a thread of a block does, where these kernels have run at the same time.
    pub(crate) fn of_block(
        block: &BlockEvent,
        kernels: &[&Kernel],
        does: &'static str,
        thread: [u32; 3],
        line: u32,
    ) -> Self {
        let kernel = kernels[block.launch as usize % kernels.len()];
        let grid = if block.is_of_host() { 0 } else { block.grid };
        Self::new(kernel, does, block.index, thread, line)
            .in_grid(grid)
            .on_device(block.device)
    }

    /// The same in another grid than the host's.
    pub(crate) fn in_grid(self, grid: u64) -> Self {
        Self { grid, ..self }
    }

    /// The same on the device of another number.
    pub(crate) fn on_device(self, device: u8) -> Self {
        Self { device, ..self }
    }
}

impl Finding {
    /// The findings, those as one that differ only in the threads, launches and devices: kernels that run on several devices do the same
    /// wrong on each.
    pub(crate) fn merged(findings: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for finding in findings {
            let lines = |finding: &Self| -> Vec<(u32, String)> {
                let places = finding.places.iter();
                places
                    .map(|place| (place.line, place.text.clone()))
                    .collect()
            };
            let is_alike = |other: &&mut Self| {
                (other.tool, other.kind, &other.kernel, &other.message)
                    == (
                        finding.tool,
                        finding.kind,
                        &finding.kernel,
                        &finding.message,
                    )
                    && lines(other) == lines(&finding)
            };
            match merged.iter_mut().find(is_alike) {
                Some(other) => other.count += finding.count,
                None => merged.push(finding),
            }
        }
        merged
    }

    /// A trap as the finding of the tool that it belongs to; `None` for one that is no fault of the kernel's own, such as
    /// the limit of a launch.
    pub fn of_trap(trap: &Trap, kernel: &Kernel) -> Option<Self> {
        let (tool, kind) = classify(&trap.fault)?;
        let here = Place::new(
            kernel,
            does(&trap.fault),
            trap.block,
            trap.thread,
            trap.line as u32,
        )
        .in_grid(trap.grid)
        .on_device(trap.device);
        let other = other_thread(&trap.fault).map(|(does, thread, line)| {
            Place::new(kernel, does, trap.block, thread, line)
                .in_grid(trap.grid)
                .on_device(trap.device)
        });
        let other = other.or_else(|| {
            let by = freed_by(&trap.fault)?;
            let place = Place::new(kernel, "has freed it", by.block, by.thread, by.line);
            Some(place.in_grid(by.grid).on_device(trap.device))
        });
        Some(Self {
            tool,
            kind,
            message: trap.fault.to_string(),
            kernel: trap.kernel.clone(),
            places: [here].into_iter().chain(other).collect(),
            memory: memory(&trap.fault),
            count: 1,
            ends_launch: true,
        })
    }
}

fn classify(fault: &Fault) -> Option<(Tool, &'static str)> {
    Some(match fault {
        Fault::OutOfBounds { .. } | Fault::OutsideParameter { .. } => {
            (Tool::Memcheck, "access out of bounds")
        }
        Fault::Freed { .. } => (Tool::Memcheck, "use of freed memory"),
        Fault::FreedTwice { .. } => (Tool::Memcheck, "double free"),
        Fault::NotAllocated { .. } => (Tool::Memcheck, "free of what was not allocated"),
        Fault::Null { .. } => (Tool::Memcheck, "null pointer"),
        Fault::SharedOffset { .. } => (Tool::Memcheck, "shared offset as a pointer"),
        Fault::NoPeerAccess { .. } => (Tool::Memcheck, "no access to a peer's memory"),
        Fault::WrongSpace { .. } => (Tool::Memcheck, "address of another space"),
        Fault::NoSpace { .. } => (Tool::Memcheck, "address in no space"),
        Fault::Misaligned { .. } => (Tool::Memcheck, "misaligned access"),
        Fault::ReadOnly { .. } => (Tool::Memcheck, "write to constant memory"),
        Fault::StackOverflow(_) => (Tool::Memcheck, "stack overflow"),
        Fault::PointerToOwnMemory { .. } => (Tool::Memcheck, "pointer out of reach"),
        Fault::TooDeep { .. } => (Tool::Memcheck, "grids nested too deeply"),
        Fault::TooManyPending { .. } => (Tool::Memcheck, "too many pending grids"),
        Fault::Trap => (Tool::Memcheck, "trap"),
        Fault::Assertion { .. } => (Tool::Memcheck, "failed assertion"),
        Fault::BadOperand(_) => (Tool::Memcheck, "bad operand"),
        Fault::MisusedBarrier(_) => (Tool::Synccheck, "misused barrier"),
        Fault::EndedBlock { .. } => (Tool::Memcheck, "use of an ended block's memory"),
        Fault::BarrierNeverCompleted { .. } | Fault::ClusterBarrierNeverCompleted { .. } => {
            (Tool::Synccheck, "barrier never completed")
        }
        Fault::DivergentBarrier { .. } => (Tool::Synccheck, "divergent barrier"),
        Fault::WarpSyncNeverCompleted { .. } => (Tool::Synccheck, "lanes never arrive"),
        Fault::NotInMask { .. } => (Tool::Synccheck, "wrong member mask"),
        Fault::StepLimit(_) => return None,
    })
}

fn does(fault: &Fault) -> &'static str {
    match fault {
        Fault::OutOfBounds { access, .. }
        | Fault::OutsideParameter { access, .. }
        | Fault::Freed { access, .. }
        | Fault::Null { access, .. }
        | Fault::SharedOffset { access, .. }
        | Fault::NoPeerAccess { access, .. }
        | Fault::WrongSpace { access, .. }
        | Fault::NoSpace { access, .. }
        | Fault::Misaligned { access, .. }
        | Fault::ReadOnly { access, .. } => match *access {
            "load" => "reads",
            "store" => "writes",
            _ => "updates",
        },
        Fault::BarrierNeverCompleted { .. }
        | Fault::ClusterBarrierNeverCompleted { .. }
        | Fault::WarpSyncNeverCompleted { .. } => "waits",
        Fault::FreedTwice { .. } | Fault::NotAllocated { .. } => "frees",
        _ => "is here",
    }
}

/// What another thread does that has to do with the fault, which thread, and at which line.
fn other_thread(fault: &Fault) -> Option<(&'static str, [u32; 3], u32)> {
    match *fault {
        Fault::BarrierNeverCompleted { ref missing, .. }
        | Fault::WarpSyncNeverCompleted { ref missing, .. } => match *missing {
            Absence::Waits { thread, line } => Some(("waits", thread, line)),
            Absence::Exited { thread, line } => Some(("has exited", thread, line)),
            Absence::NoThread => None,
        },
        Fault::DivergentBarrier {
            other_thread,
            other_line,
            ..
        } => Some(("waits", other_thread, other_line)),
        _ => None,
    }
}

/// Where the memory that the fault is about was freed.
fn freed_by(fault: &Fault) -> Option<FreePlace> {
    match *fault {
        Fault::Freed { by, .. } | Fault::FreedTwice { by, .. } => by,
        _ => None,
    }
}

fn memory(fault: &Fault) -> Option<Bytes> {
    let (space, address, bytes) = match *fault {
        Fault::OutOfBounds {
            space,
            address,
            bytes,
            ..
        }
        | Fault::OutsideParameter {
            space,
            address,
            bytes,
            ..
        }
        | Fault::Freed {
            space,
            address,
            bytes,
            ..
        }
        | Fault::Null {
            space,
            address,
            bytes,
            ..
        }
        | Fault::NoPeerAccess {
            space,
            address,
            bytes,
            ..
        }
        | Fault::WrongSpace {
            space,
            address,
            bytes,
            ..
        }
        | Fault::Misaligned {
            space,
            address,
            bytes,
            ..
        } => (space, address, bytes),
        Fault::SharedOffset { address, bytes, .. } | Fault::NoSpace { address, bytes, .. } => {
            (Space::Generic, address, bytes)
        }
        // What is freed has no bytes any more.
        Fault::FreedTwice { address, .. } | Fault::NotAllocated { address, .. } => {
            (Space::Global, address, 0)
        }
        _ => return None,
    };
    Some(Bytes {
        space,
        address,
        bytes: bytes as u32,
    })
}

/// A headline, and under it one line for each place.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tool.name(), self.kind)?;
        if let Some(memory) = self.memory {
            write!(
                f,
                " at {} address {:#x} ({} bytes)",
                memory.space.name(),
                memory.address,
                memory.bytes
            )?;
        }
        write!(f, " in kernel `{}`", self.kernel)?;
        match self.count {
            1 => {}
            count => write!(f, ", {count} times")?,
        }
        if self.ends_launch {
            f.write_str(", which ends the launch")?;
        }
        writeln!(f)?;
        let nested = self.places.iter().any(|place| place.grid != 0);
        let several = self.places.iter().any(|place| place.device != 0);
        let named: Vec<String> = self
            .places
            .iter()
            .map(|place| {
                let grid = match nested {
                    true => format!("grid {} ", place.grid),
                    false => String::new(),
                };
                let device = match several {
                    true => format!("device {} ", place.device),
                    false => String::new(),
                };
                format!(
                    "{device}{grid}block {} thread {} {}",
                    triple(place.block),
                    triple(place.thread),
                    place.does
                )
            })
            .collect();
        let width = named.iter().map(String::len).max().unwrap_or(0);
        for (name, place) in named.iter().zip(&self.places) {
            write!(f, "  {name:width$}  ")?;
            if let Some(origin) = &place.origin {
                write!(f, "{origin}  ")?;
            }
            let text: Vec<&str> = place.text.split_whitespace().collect();
            writeln!(f, "PTX line {}: {}", place.line, text.join(" "))?;
        }
        write!(f, "  {}", self.message)
    }
}

/// Indices without trailing zeros beyond the first: `(3)`, `(3, 1)`.
fn triple([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0, 0) => format!("({x})"),
        (_, 0) => format!("({x}, {y})"),
        _ => format!("({x}, {y}, {z})"),
    }
}
