//! Running a lesson under a trace.

use super::events::{Event, Events, LANES, Races};
use super::flow::Flow;
use super::picture::{Block, Cell, Content, Grid, Launcher, Picture, Write};
use super::steps;
use super::usage;
use crate::case::{Case, CaseArgument, LoadedCase};
use crate::demonstration;
use crate::lesson::{self, LessonError, Turns};
use crate::number::Number;
use crate::oracle::Oracle;
use crate::reducible::Reducible;
use crate::wide::with_reduction;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use warpfold::Device;
use warpfold::device::{Argument, DeviceError, Pod};
use warpfold_emulator::{AccessKind, Racecheck, Space, Trace, TraceEvent};
use warpfold_kernels::catalogue::{
    Cooperation, Demonstration, Entries, Finish, Lesson, Operator, Part, Reduction, Role, Scan,
    Shapes, Task, Variant,
};

/// The sizes of blocks that a picture takes.
const THREADS: std::ops::RangeInclusive<u32> = 2..=1024;

/// The most elements: finding out what flows where takes a launch for each of them, or for each vector of them.
pub const MOST_ELEMENTS: usize = 4096;

/// The seed of the values that demonstrations take.
const SEED: u64 = 42;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Nothing is launched for no elements.
    #[error("a launch over no elements has no picture; use -n 1 or more")]
    NoElements,
    /// The tree takes a power of two.
    #[error("a picture takes blocks of a power of two from 2 to 1024 threads, not of {0}")]
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
    /// More elements than are followed one by one.
    #[error(
        "a picture follows {MOST_ELEMENTS} elements at most, not {0}; use -n {MOST_ELEMENTS} or fewer"
    )]
    TooManyElements(usize),
    /// What the lesson does would fill more than a page, and looks the same all over.
    #[error("`{lesson}` has no picture; `warpfold run {lesson}` shows what it does")]
    NotDrawn {
        /// The lesson's id.
        lesson: &'static str,
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

/// Runs a lesson on the emulator and takes its picture: a reduction over the elements 1, 2, 3 … `n`, a demonstration over `n` random
/// ones.
///
/// A reduction's entry that reads its block size at run time takes any power of two from the lesson's least to 1024, and so smaller
/// blocks than the catalogue offers. What the kernel leaves is compared with what the CPU makes of the same values: a mistake is no
/// error, it is in the picture.
///
/// # Errors
/// Sizes that the lesson does not take or a picture has no room for; a lesson that has none; a kernel that faults; a device that is
/// a GPU, whose threads cannot be watched.
pub fn trace(
    device: &Device,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
) -> Result<Picture, TraceError> {
    if n > MOST_ELEMENTS {
        return Err(TraceError::TooManyElements(n));
    }
    match &lesson.task {
        Task::Reduction(reduction) => with_reduction!(reduction, T => {
            of_reduction::<T>(device, lesson, reduction, variant, n)
        }),
        Task::Demonstration(demonstration) if is_drawn(*demonstration) => {
            of_demonstration(device, lesson, *demonstration, variant, n)
        }
        Task::Demonstration(_) => Err(TraceError::NotDrawn { lesson: lesson.id }),
    }
}

fn is_drawn(demonstration: Demonstration) -> bool {
    match demonstration {
        Demonstration::Memory(_)
        | Demonstration::Divergence(_)
        | Demonstration::Nested(_)
        | Demonstration::Scan(Scan::Warp | Scan::Block)
        | Demonstration::Shapes(Shapes::Rows(_) | Shapes::Columns(_)) => true,
        Demonstration::Cooperation(which) => {
            matches!(which, Cooperation::Question(_) | Cooperation::ActiveMask)
        }
        Demonstration::Histogram(_)
        | Demonstration::Scan(Scan::Array)
        | Demonstration::Shapes(_) => false,
    }
}

fn of_reduction<T: Reducible + From<u16>>(
    device: &Device,
    lesson: &'static Lesson,
    reduction: &Reduction,
    variant: Variant,
    n: usize,
) -> Result<Picture, TraceError> {
    let entry = check(lesson, variant)?;
    let multiprocessors = device.multiprocessors();
    let case = |values: &[T]| {
        let case = lesson::case_of_entry(lesson, entry, variant, values, multiprocessors)?;
        Ok::<_, LessonError>(case.map(Case::into_owned))
    };
    let values: Vec<T> = (1..).map(T::from).take(n).collect();
    let first = case(&values)?.ok_or(TraceError::NoElements)?;
    let mut launch = Launch::new(device, lesson, &first)?;
    let (trace, races) = launch.record_with_races(&first)?;
    let mistake = mistake::<T>(lesson, variant, &values, &launch, first.shape.grid[0])?;
    let memory = launch.memory(
        &first,
        &trace,
        buffers(reduction.finish),
        CellBytes {
            input: size_of::<T>() as u64,
            others: size_of::<T::Partial>() as u64,
        },
    );
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
    for elements in memory.read_together(&trace, n) {
        ones[elements.clone()].fill(other);
        if let Some(changed) = case(&ones)? {
            flow.compare(elements.clone(), launch.record(&changed)?);
        }
        ones[elements].fill(T::from(1_u16));
    }
    let holds_totals = reduction.finish == Finish::TotalInTurns;
    let number = |cell: Option<Cell>, bits: u64| match cell {
        Some(Cell::Counter(_) | Cell::Status(_)) => Number::U64(bits),
        Some(Cell::Total(_) | Cell::Next(_)) if holds_totals => number::<Turns<T>>(bits),
        Some(Cell::Input(_)) => number::<T>(bits),
        _ => number::<T::Partial>(bits),
    };
    let events = events_of(&trace, Some(flow), &memory, number);
    let (grids, mut blocks) = place(&trace, &events, &races, lesson);
    usage::mark_used(&mut blocks);
    Ok(Picture {
        lesson: lesson.id,
        title: lesson.title,
        n,
        block: variant.block,
        input: values.into_iter().map(Into::into).collect(),
        beside: beside(&events),
        mistake,
        grids,
        blocks,
    })
}

fn of_demonstration(
    device: &Device,
    lesson: &'static Lesson,
    demonstration: Demonstration,
    variant: Variant,
    n: usize,
) -> Result<Picture, TraceError> {
    lesson::entry(lesson, variant)?;
    let prepared = demonstration::prepare(demonstration, lesson, variant, n, SEED)?;
    let first = prepared.case().ok_or(TraceError::NoElements)?;
    let mut launch = Launch::new(device, lesson, first)?;
    let (trace, races) = launch.record_with_races(first)?;
    let mistake = prepared
        .judge(&launch.0.outputs())
        .map_err(LessonError::from)?
        .mistake;
    let cells = cells_of(first, n);
    let input = first
        .arguments
        .iter()
        .zip(&cells)
        .find(|(_, cell)| cell.is_some_and(|cell| matches!(cell(0), Cell::Input(_))));
    let input = input.and_then(|(argument, _)| argument.buffer()?.1);
    let words = input.unwrap_or_default().chunks_exact(4);
    let word = |bytes: &[u8]| {
        number::<i32>(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into())
    };
    let input = words.map(word).collect();
    let words = CellBytes {
        input: 4,
        others: 4,
    };
    let memory = launch.memory(first, &trace, cells, words);
    let number = |_: Option<Cell>, bits: u64| number::<i32>(bits);
    let events = events_of(&trace, None, &memory, number);
    let (grids, blocks) = place(&trace, &events, &races, lesson);
    Ok(Picture {
        lesson: lesson.id,
        title: lesson.title,
        n,
        block: variant.block,
        input,
        beside: beside(&events),
        mistake,
        grids,
        blocks,
    })
}

/// The cells of a demonstration's buffers: the first that has values before the launch is the input, and of those that have none
/// the first is the output.
fn cells_of(case: &Case<'_>, n: usize) -> Vec<Option<CellOf>> {
    let (mut has_input, mut has_output) = (false, false);
    let cell_of = |argument: &CaseArgument<'_>| -> Option<CellOf> {
        let (bytes, contents) = argument.buffer()?;
        let is_array = bytes >= 4 * n;
        Some(match (contents, is_array) {
            (Some(_), true) if !has_input => {
                has_input = true;
                Cell::Input
            }
            (Some(_), true) => Cell::Second,
            (None, _) if has_output => Cell::Totals,
            (None, _) => {
                has_output = true;
                Cell::Output
            }
            (Some(_), false) if bytes == 4 => Cell::Counter,
            (Some(_), false) => Cell::Second,
        })
    };
    case.arguments.iter().map(cell_of).collect()
}

/// The grids of a launch, and its blocks with their steps, each where it belongs.
fn place(
    trace: &Trace,
    events: &[Vec<Event>],
    races: &Races,
    lesson: &Lesson,
) -> (Vec<Grid>, Vec<Block>) {
    let mut grids: BTreeMap<u64, Grid> = BTreeMap::new();
    for block in &trace.blocks {
        let grid = grids.entry(block.grid).or_insert(Grid {
            number: block.grid,
            launched_by: None,
            generation: 0,
            blocks: 0,
            threads: block.shape.iter().product(),
        });
        grid.blocks += 1;
    }
    let number_of = |index: usize| {
        let of_grid =
            |block: &&warpfold_emulator::BlockTrace| block.grid == trace.blocks[index].grid;
        trace.blocks[..index].iter().filter(of_grid).count()
    };
    // A kernel launches grids of higher numbers than its own.
    for (index, events) in events.iter().enumerate() {
        let of_grid = trace.blocks[index].grid;
        let generation = grids[&of_grid].generation + 1;
        for event in events {
            if let &Event::GridLaunch { warp, lane, grid } = event
                && let Some(child) = grids.get_mut(&grid)
            {
                child.generation = generation;
                child.launched_by = Some(Launcher {
                    grid: of_grid,
                    block: number_of(index),
                    thread: warp * LANES + lane,
                });
            }
        }
    }
    let shows_accesses = lesson.part == Part::Memory;
    let blocks: Vec<Events<'_>> = trace
        .blocks
        .iter()
        .zip(events)
        .enumerate()
        .map(|(index, (block, events))| Events {
            grid: block.grid,
            number: number_of(index),
            threads: block.shape.iter().product(),
            events,
        })
        .collect();
    let grids: Vec<Grid> = grids.into_values().collect();
    let mut blocks = steps::of_blocks(&grids, &blocks, races, lesson.cooperative);
    if !shows_accesses {
        let steps = blocks.iter_mut().flat_map(|block| &mut block.steps);
        steps.for_each(|step| step.accesses.clear());
    }
    (grids, blocks)
}

/// The entry for the variant.
fn check(lesson: &Lesson, variant: Variant) -> Result<&'static str, TraceError> {
    let block = variant.block;
    if !block.is_power_of_two() || !THREADS.contains(&block) {
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
    let oracle = T::oracle(reduction, variant, values);
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
    fn new(device: &Device, lesson: &Lesson, case: &Case<'_>) -> Result<Self, LessonError> {
        lesson::check_device(lesson, device)?;
        let kernel = device.kernel(lesson.module, case.entry)?;
        // SAFETY: the launch is only observed, which a GPU refuses, and the emulator checks every access.
        Ok(Self(unsafe { case.load(device, kernel)? }))
    }

    fn record(&mut self, case: &Case<'_>) -> Result<Trace, DeviceError> {
        let mut trace = Trace::default();
        self.0.observe_with(case, &mut trace)?;
        Ok(trace)
    }

    /// As [`Self::record`], and the PTX lines of accesses that nothing orders.
    fn record_with_races(&mut self, case: &Case<'_>) -> Result<(Trace, Races), DeviceError> {
        let mut observer = (Trace::default(), Racecheck::new());
        self.0.observe_with(case, &mut observer)?;
        Ok((observer.0, observer.1.lines().into_iter().collect()))
    }

    fn memory(
        &self,
        case: &Case<'_>,
        trace: &Trace,
        cells: Vec<Option<CellOf>>,
        cell_bytes: CellBytes,
    ) -> Places {
        let arguments = self.0.arguments();
        let addresses = |index: usize| match (&arguments[index], case.arguments[index].buffer()) {
            (Argument::Address(first), Some((bytes, _))) => Some(*first..first + bytes as u64),
            _ => None,
        };
        let buffers = cells.into_iter().enumerate();
        Places {
            buffers: buffers
                .filter_map(|(index, cell_of)| Some((addresses(index)?, cell_of?)))
                .collect(),
            constant: first_constant(trace),
            cell_bytes,
        }
    }
}

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

/// Where what a picture shows lies in memory.
struct Places {
    buffers: Vec<(Range<u64>, CellOf)>,
    /// The first address of constant memory that the launch reads.
    constant: u64,
    cell_bytes: CellBytes,
}

/// The size of a cell.
struct CellBytes {
    /// Of the input.
    input: u64,
    /// Of any other memory.
    others: u64,
}

impl Places {
    /// The cell at an address, and where that is in its buffer or in shared memory, in bytes; `None` for what a picture does not show.
    fn cell(&self, space: Space, address: u64) -> Option<(Cell, u64)> {
        match space {
            Space::Global => {
                let mut buffers = self.buffers.iter();
                let (addresses, cell_of) = buffers.find(|(range, _)| range.contains(&address))?;
                let offset = address - addresses.start;
                let cell_bytes = match cell_of(0) {
                    Cell::Input(_) => self.cell_bytes.input,
                    _ => self.cell_bytes.others,
                };
                Some((cell_of((offset / cell_bytes) as usize), offset))
            }
            Space::Shared => {
                let index = address / self.cell_bytes.others;
                Some((Cell::Shared(index as usize), address))
            }
            Space::Const => {
                let offset = address.checked_sub(self.constant)?;
                let index = offset / self.cell_bytes.others;
                Some((Cell::Constant(index as usize), offset))
            }
            _ => None,
        }
    }

    /// The elements of the input in groups whose members are always read together, by one lane as one vector.
    fn read_together(&self, trace: &Trace, n: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let mut together = n;
        for event in trace.blocks.iter().flat_map(|block| &block.events) {
            let TraceEvent::Access {
                space,
                lanes,
                is_copy: false,
                ..
            } = event
            else {
                continue;
            };
            for access in lanes {
                if let Some((Cell::Input(first), _)) = self.cell(*space, access.address) {
                    let length = access.values.len().max(1);
                    let is_whole = first.is_multiple_of(length) && length.is_power_of_two();
                    together = together.min(if is_whole { length } else { 1 });
                }
            }
        }
        // Without any read of the kernel's own nothing is known.
        let together = if together > 4 { 1 } else { together.max(1) };
        (0..n)
            .step_by(together)
            .map(move |first| first..(first + together).min(n))
    }
}

/// The events of each block in terms of cells and what they hold.
fn events_of(
    trace: &Trace,
    flow: Option<Flow>,
    memory: &Places,
    number: impl Fn(Option<Cell>, u64) -> Number,
) -> Vec<Vec<Event>> {
    let mut elements = flow.into_iter().flat_map(Flow::into_elements);
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
            let (mut moves, mut offsets) = (Vec::new(), Vec::new());
            let mut width = 1;
            for access in lanes {
                width = access.values.len().max(1);
                let element_bytes = u64::from(*bytes) / width as u64;
                for (index, &bits) in access.values.iter().enumerate() {
                    let address = access.address + index as u64 * element_bytes;
                    let cell = memory.cell(*space, address);
                    let content = content(cell.map(|(cell, _)| cell), bits);
                    if let Some((cell, offset)) = cell {
                        moves.push((access.lane, cell, content));
                        if index == 0 {
                            offsets.push((access.lane, offset));
                        }
                    }
                }
            }
            Event::Access {
                warp: *warp,
                line: *line,
                kind: *kind,
                bytes: *bytes,
                width,
                is_copy: *is_copy,
                moves,
                offsets,
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

/// The lowest address of constant memory that a launch has read.
fn first_constant(trace: &Trace) -> u64 {
    let events = trace.blocks.iter().flat_map(|block| &block.events);
    let addresses = events.flat_map(|event| match event {
        TraceEvent::Access {
            space: Space::Const,
            lanes,
            ..
        } => lanes.as_slice(),
        _ => &[],
    });
    let first = addresses.map(|access| access.address).min();
    first.unwrap_or_default()
}

/// What has been read from a second buffer, or from constant memory, and is there from the beginning.
fn beside(events: &[Vec<Event>]) -> Vec<Write> {
    let mut known: BTreeMap<Cell, Content> = BTreeMap::new();
    let mut written: BTreeSet<Cell> = BTreeSet::new();
    for event in events.iter().flatten() {
        let Event::Access { kind, moves, .. } = event else {
            continue;
        };
        for (_, cell, content) in moves {
            match cell {
                Cell::Second(_) | Cell::Constant(_) if *kind != AccessKind::Load => {
                    written.insert(*cell);
                }
                Cell::Second(_) | Cell::Constant(_) if !written.contains(cell) => {
                    known.entry(*cell).or_insert_with(|| Content {
                        elements: Some(Vec::new()),
                        ..content.clone()
                    });
                }
                _ => {}
            }
        }
    }
    let known = known.into_iter();
    known
        .map(|(cell, content)| Write {
            cell,
            content: Some(content),
        })
        .collect()
}

/// The value of type `T` that these bits stand for.
fn number<T: Pod + Into<Number>>(bits: u64) -> Number {
    bytemuck::pod_read_unaligned::<T>(&bits.to_le_bytes()[..size_of::<T>()]).into()
}
