//! Running a lesson under a trace.

use super::flow::Flow;
use super::picture::{Block, Cell, Content, Picture};
use super::steps::{self, Event};
use super::usage;
use crate::case::{Case, LoadedCase};
use crate::lesson::{self, LessonError};
use crate::number::Number;
use crate::oracle::Oracle;
use crate::reducible::{Partial, Reducible};
use std::collections::HashSet;
use std::ops::Range;
use warpfold::Device;
use warpfold::device::{Argument, DeviceError};
use warpfold_emulator::{Racecheck, Space, Trace, TraceEvent};
use warpfold_kernels::catalogue::{Entries, Finish, Lesson, Operator, Role, Variant};

/// The most threads, of all blocks together, that a picture has room for.
const MOST_THREADS: u64 = 64;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Nothing is launched for no elements.
    #[error("a launch over no elements has no picture; use -n 1 or more")]
    NoElements,
    /// The tree takes a power of two, and the picture has its limit.
    #[error("a picture takes blocks of 2, 4, 8, 16, 32 or {MOST_THREADS} threads, not of {0}")]
    BlockSize(u32),
    /// The lesson has no entry for such blocks.
    #[error("`{lesson}` has no entry for blocks of {block} threads; use --block {least}")]
    NotBuilt {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
        /// The smallest size that it is built for.
        least: u32,
    },
    /// Lanes that the kernel relies on would be missing.
    #[error(
        "`{lesson}` needs blocks of {least} threads or more, because the lanes of whole warps exchange values; use --block {least}"
    )]
    TooFewThreads {
        /// The lesson's id.
        lesson: &'static str,
        /// The fewest threads that it takes.
        least: u32,
    },
    /// More threads than can be drawn side by side.
    #[error(
        "a picture has room for {MOST_THREADS} threads, and {n} elements take more blocks of {block}; use -n {most} or fewer"
    )]
    TooManyElements {
        /// The number of elements asked for.
        n: usize,
        /// Threads of a block.
        block: u32,
        /// The most elements that can be drawn.
        most: u64,
    },
    /// The lesson does not take the elements, or its kernel faults.
    #[error(transparent)]
    Lesson(#[from] LessonError),
}

impl From<DeviceError> for TraceError {
    fn from(error: DeviceError) -> Self {
        Self::Lesson(error.into())
    }
}

/// Runs a lesson over the elements 1, 2, 3 … `n` on the emulator and takes its picture.
///
/// An entry that reads its block size at run time takes any power of two from the lesson's least to 64, and so smaller blocks than
/// the catalogue offers. What the kernel leaves is compared with what the CPU makes of the same values: a mistake is no error, it is in
/// the picture.
///
/// # Errors
/// Sizes that the lesson does not take or a picture has no room for; a lesson that is no reduction of type `T`; a kernel that
/// faults; a machine that is a GPU, whose threads cannot be watched.
pub fn trace<T: Reducible + From<u16>>(
    machine: &Device,
    lesson: &Lesson,
    variant: Variant,
    n: usize,
) -> Result<Picture, TraceError> {
    let entry = check(lesson, variant)?;
    let multiprocessors = machine.multiprocessors();
    let case = |values: &[T]| {
        let case = lesson::case_of_entry(lesson, entry, variant, values, multiprocessors)?;
        Ok::<_, LessonError>(case.map(Case::into_owned))
    };
    let reduction = lesson
        .reduction()
        .ok_or(LessonError::NoReduction { lesson: lesson.id })?;
    // As many whole tiles as there is room for blocks.
    let most = MOST_THREADS * reduction.elements_per_thread(variant);
    if n as u64 > most {
        return Err(TraceError::TooManyElements {
            n,
            block: variant.block,
            most,
        });
    }
    let values: Vec<T> = (1..).map(T::from).take(n).collect();
    let first = case(&values)?.ok_or(TraceError::NoElements)?;
    let kernel = machine
        .kernel(lesson.part.module(), entry)
        .map_err(LessonError::from)?;
    // SAFETY: the machine's device is the emulator, or the observation is refused.
    let mut launch = Launch(unsafe { first.load(machine, kernel)? });
    let (trace, races) = launch.record_with_races(&first)?;
    let mistake = mistake::<T>(lesson, variant, &values, &launch, first.shape.grid[0])?;
    let memory = launch.memory(&first, &buffers(reduction.finish));
    // Of all ones, a 3 changes every sum, product and maximum that it is in, without an overflow, and a 0 every minimum.
    let other = T::from(if reduction.operator == Operator::Min {
        0
    } else {
        3
    });
    let mut ones = vec![T::from(1_u16); n];
    let mut flow = Flow::new(&trace);
    if let Some(alike) = case(&ones)? {
        flow.begin(launch.record(&alike)?);
    }
    for element in 0..n {
        ones[element] = other;
        if let Some(changed) = case(&ones)? {
            flow.compare(element, launch.record(&changed)?);
        }
        ones[element] = T::from(1_u16);
    }
    let holds_totals = reduction.finish == Finish::TotalInTurns;
    let number = |cell: Option<Cell>, bits: u64| match cell {
        Some(Cell::Counter(_) | Cell::Status(_)) => Number::U64(bits),
        Some(Cell::Total(_) | Cell::Next(_)) if holds_totals => number::<T::Total>(bits),
        _ => number::<T>(bits),
    };
    let mut blocks: Vec<Block> = events_of(&trace, flow, &memory, size_of::<T>() as u64, number)
        .iter()
        .map(|events| Block {
            steps: steps::of_block(events, &races),
        })
        .collect();
    steps::align(&mut blocks);
    usage::mark_used(&mut blocks);
    Ok(Picture {
        lesson: lesson.id,
        title: lesson.title,
        n,
        block: variant.block,
        input: values.into_iter().map(Into::into).collect(),
        mistake,
        blocks,
    })
}

/// The entry for the variant.
fn check(lesson: &Lesson, variant: Variant) -> Result<&'static str, TraceError> {
    let block = variant.block;
    if !block.is_power_of_two() || !(2..=MOST_THREADS).contains(&u64::from(block)) {
        return Err(TraceError::BlockSize(block));
    }
    match (lesson.entries.find(variant), lesson.entries) {
        (Some(_), _) if block < lesson.least_block => Err(TraceError::TooFewThreads {
            lesson: lesson.id,
            least: lesson.least_block,
        }),
        (Some(entry), _) => Ok(entry),
        (None, Entries::PerBlock(sizes)) => Err(TraceError::NotBuilt {
            lesson: lesson.id,
            block,
            least: sizes
                .iter()
                .map(|&(size, _)| size)
                .min()
                .unwrap_or_default(),
        }),
        // It says which values the parameter has.
        (None, _) => Ok(lesson::entry(lesson, variant)?),
    }
}

/// What is wrong with what the launch has left, in words that follow the name of the lesson; `None` where it is right.
fn mistake<T: Reducible>(
    lesson: &Lesson,
    variant: Variant,
    values: &[T],
    launch: &Launch,
    blocks: u32,
) -> Result<Option<String>, LessonError> {
    let Some(reduction) = lesson.reduction() else {
        return Ok(None);
    };
    let (result, leftover) = lesson::result::<T>(reduction, &launch.0.outputs())?;
    let oracle = T::Oracle::new(reduction.operator, values);
    let roundings = lesson::roundings::<T>(reduction, variant, values.len(), blocks);
    if oracle.accepts(result, roundings) {
        return Ok(leftover);
    }
    let (result, expected) = (result.into(), oracle.expected());
    Ok(Some(format!("gives {result}, which should be {expected}")))
}

/// A launch, to be made again and again.
struct Launch(LoadedCase);

impl Launch {
    fn record(&mut self, case: &Case<'_>) -> Result<Trace, DeviceError> {
        self.0.reload(case)?;
        let mut trace = Trace::default();
        self.0.observe(&mut trace)?;
        Ok(trace)
    }

    /// As [`Self::record`], and the PTX lines of accesses that nothing orders.
    fn record_with_races(&mut self, case: &Case<'_>) -> Result<(Trace, Races), DeviceError> {
        self.0.reload(case)?;
        let mut observer = (Trace::default(), Racecheck::new());
        self.0.observe(&mut observer)?;
        Ok((observer.0, observer.1.lines().into_iter().collect()))
    }

    fn memory(&self, case: &Case<'_>, buffers: &[Option<CellOf>]) -> GlobalMemory {
        let arguments = self.0.arguments();
        let addresses = |index: usize| match (&arguments[index], case.arguments[index].buffer()) {
            (Argument::Address(first), Some((bytes, _))) => Some(*first..first + bytes as u64),
            _ => None,
        };
        GlobalMemory(
            buffers
                .iter()
                .enumerate()
                .filter_map(|(index, cell_of)| Some((addresses(index)?, (*cell_of)?)))
                .collect(),
        )
    }
}

/// Pairs of lines: the earlier access and the later one.
type Races = HashSet<[u32; 2]>;

/// The cell of a buffer at an index.
type CellOf = fn(usize) -> Cell;

/// What the parameters of a kernel point to that finishes like this, in order; `None` is a number.
fn buffers(finish: Finish) -> Vec<Option<CellOf>> {
    let cell = |role: &Role| -> Option<CellOf> {
        match role {
            Role::Input => Some(Cell::Input),
            Role::Partials => Some(Cell::Partials),
            Role::Total => Some(Cell::Total),
            Role::NextTotal => Some(Cell::Next),
            Role::Counter => Some(Cell::Counter),
            Role::Status => Some(Cell::Status),
            Role::Count | Role::Tile => None,
        }
    };
    finish.roles().iter().map(cell).collect()
}

/// Where the buffers lie.
struct GlobalMemory(Vec<(Range<u64>, CellOf)>);

impl GlobalMemory {
    /// The cell at an address; `None` for what a picture does not show.
    fn cell(&self, space: Space, address: u64, cell_bytes: u64) -> Option<Cell> {
        match space {
            Space::Global => {
                let mut buffers = self.0.iter();
                let (addresses, cell_of) = buffers.find(|(range, _)| range.contains(&address))?;
                Some(cell_of(((address - addresses.start) / cell_bytes) as usize))
            }
            Space::Shared => Some(Cell::Shared((address / cell_bytes) as usize)),
            _ => None,
        }
    }
}

/// The events of each block in terms of cells and what they hold.
fn events_of(
    trace: &Trace,
    flow: Flow,
    memory: &GlobalMemory,
    cell_bytes: u64,
    number: impl Fn(Option<Cell>, u64) -> Number,
) -> Vec<Vec<Event>> {
    let mut elements = flow.into_elements();
    let mut content = |cell: Option<Cell>, bits: u64| Content {
        value: number(cell, bits),
        elements: elements.next(),
    };
    let mut event_of = |event: &TraceEvent| match event {
        TraceEvent::Access {
            warp,
            line,
            kind,
            space,
            bytes,
            lanes,
            is_copy,
        } => {
            let mut moves = Vec::new();
            for access in lanes {
                let element_bytes = u64::from(*bytes) / access.values.len().max(1) as u64;
                for (index, &bits) in access.values.iter().enumerate() {
                    let address = access.address + index as u64 * element_bytes;
                    let cell = memory.cell(*space, address, cell_bytes);
                    let content = content(cell, bits);
                    if let Some(cell) = cell {
                        moves.push((access.lane, cell, content));
                    }
                }
            }
            Event::Access {
                warp: *warp,
                line: *line,
                kind: *kind,
                is_copy: *is_copy,
                moves,
            }
        }
        TraceEvent::Exchange { warp, lanes, .. } => Event::Exchange {
            warp: *warp,
            lanes: lanes
                .iter()
                .map(|lane| (lane.lane, lane.sources, content(None, lane.value.into())))
                .collect(),
        },
        TraceEvent::WarpBarrier { warp, .. } => Event::WarpBarrier { warp: *warp },
        TraceEvent::BlockBarrier { arrived } => Event::BlockBarrier {
            warps: arrived.iter().map(|&(warp, _)| warp).collect(),
        },
        TraceEvent::GridLaunch { warp, lane, grid } => Event::GridLaunch {
            warp: *warp,
            lane: *lane,
            grid: *grid,
        },
        TraceEvent::GridWait { warp, grids, .. } => Event::GridWait {
            warp: *warp,
            grids: grids.clone(),
        },
    };
    trace
        .blocks
        .iter()
        .map(|block| block.events.iter().map(&mut event_of).collect())
        .collect()
}

/// The value of type `T` that these bits stand for.
fn number<T: Partial>(bits: u64) -> Number {
    bytemuck::pod_read_unaligned::<T>(&bits.to_le_bytes()[..size_of::<T>()]).into()
}
