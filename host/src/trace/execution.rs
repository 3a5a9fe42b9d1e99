//! Running a lesson under a trace.

use super::flow::Flow;
use super::picture::{Block, Cell, Content, Picture};
use super::steps::{self, Event};
use crate::device::{Argument, Buffer, Device, DeviceError, Kernel, Module, Shape};
use crate::number::Number;
use crate::reducible::Reducible;
use std::ops::Range;
use warpfold_emulator::{Space, Trace, TraceEvent};
use warpfold_kernels::catalogue::{Entries, Lesson};

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
    /// More threads than can be drawn side by side.
    #[error(
        "a picture has room for {MOST_THREADS} threads, and {n} elements take {blocks} blocks of {block}; use -n {most} or fewer"
    )]
    TooManyElements {
        /// The number of elements asked for.
        n: usize,
        /// The blocks that they take.
        blocks: u64,
        /// Threads of a block.
        block: u32,
        /// The most elements that can be drawn.
        most: u64,
    },
    /// The device has not the memory, or the kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Runs a lesson over the elements 1, 2, 3 … `n` on the emulator and takes its picture.
///
/// An entry that reads its block size at run time takes any power of two from 2 to 64, and so smaller blocks than the catalogue
/// offers.
///
/// # Errors
/// Sizes that the lesson does not take or a picture has no room for; a kernel that faults; a `device` that is a GPU, whose
/// threads cannot be watched.
///
/// # Panics
/// Where the lesson's elements are not of type `T`.
pub fn trace<T: Reducible + From<i16>>(
    device: &Device,
    module: &Module,
    lesson: &Lesson,
    block: u32,
    n: usize,
) -> Result<Picture, TraceError> {
    assert_eq!(lesson.element_type, T::ELEMENT_TYPE, "{}", lesson.id);
    let (entry, blocks) = check(lesson, block, n)?;
    let mut launch = Launch::<T> {
        kernel: module.kernel(entry)?,
        shape: Shape::linear(blocks, block),
        input: device.allocate(n)?,
        partials: device.allocate(blocks as usize)?,
    };
    let mut values: Vec<T> = (1..).map(T::from).take(n).collect();
    let trace = launch.record(&values)?;
    let mut flow = Flow::new(&trace);
    for element in 0..n {
        let own = values[element];
        // A maximum shows the one, a minimum the other, and a sum both.
        for other in [i16::MAX, i16::MIN] {
            values[element] = other.into();
            flow.compare(element, launch.record(&values)?);
        }
        values[element] = own;
    }
    let memory = launch.memory();
    let mut blocks: Vec<Block> = events_of::<T>(&trace, flow, &memory)
        .iter()
        .map(|events| Block {
            steps: steps::of_block(events),
        })
        .collect();
    steps::align(&mut blocks);
    Ok(Picture {
        lesson: lesson.id,
        title: lesson.title,
        n,
        block,
        input: values.into_iter().map(Into::into).collect(),
        blocks,
    })
}

/// The entry and the number of blocks.
fn check(lesson: &Lesson, block: u32, n: usize) -> Result<(&'static str, u32), TraceError> {
    if !block.is_power_of_two() || !(2..=MOST_THREADS).contains(&u64::from(block)) {
        return Err(TraceError::BlockSize(block));
    }
    let entry = match lesson.entries {
        Entries::AnyBlock(entry) => entry,
        Entries::PerBlock(sizes) => {
            let built = sizes.iter().find(|(size, _)| *size == block);
            let least = sizes.iter().map(|&(size, _)| size).min();
            built.map(|&(_, entry)| entry).ok_or(TraceError::NotBuilt {
                lesson: lesson.id,
                block,
                least: least.unwrap_or_default(),
            })?
        }
    };
    let blocks = lesson.grid(n as u64, block);
    let most_blocks = MOST_THREADS / u64::from(block);
    match u32::try_from(blocks) {
        Ok(0) => Err(TraceError::NoElements),
        Ok(few) if blocks <= most_blocks => Ok((entry, few)),
        _ => Err(TraceError::TooManyElements {
            n,
            blocks,
            block,
            most: (1..)
                .take_while(|&n| lesson.grid(n, block) <= most_blocks)
                .last()
                .unwrap_or_default(),
        }),
    }
}

/// A kernel and its buffers, to be launched again and again.
struct Launch<T> {
    kernel: Kernel,
    shape: Shape,
    input: Buffer<T>,
    partials: Buffer<T>,
}

impl<T: Reducible> Launch<T> {
    fn record(&mut self, values: &[T]) -> Result<Trace, DeviceError> {
        self.input.write(values)?;
        self.partials
            .write(&vec![T::NO_PARTIAL; self.partials.len()])?;
        let arguments = [
            self.input.argument(),
            self.partials.argument(),
            values.len().into(),
        ];
        let mut trace = Trace::default();
        self.kernel.observe(&self.shape, &arguments, &mut trace)?;
        Ok(trace)
    }

    fn memory(&self) -> GlobalMemory {
        GlobalMemory {
            input: addresses(&self.input),
            partials: addresses(&self.partials),
        }
    }
}

fn addresses<T: Reducible>(buffer: &Buffer<T>) -> Range<u64> {
    let Argument::Address(first) = buffer.argument() else {
        unreachable!("a buffer is passed by its address")
    };
    first..first + buffer.bytes() as u64
}

/// Where the buffers lie.
struct GlobalMemory {
    input: Range<u64>,
    partials: Range<u64>,
}

impl GlobalMemory {
    /// The cell at an address; `None` for what a picture does not show.
    fn cell(&self, space: Space, address: u64, cell_bytes: u64) -> Option<Cell> {
        let index = |first: u64| ((address - first) / cell_bytes) as usize;
        match space {
            Space::Global if self.input.contains(&address) => {
                Some(Cell::Input(index(self.input.start)))
            }
            Space::Global if self.partials.contains(&address) => {
                Some(Cell::Partials(index(self.partials.start)))
            }
            Space::Shared => Some(Cell::Shared(index(0))),
            _ => None,
        }
    }
}

/// The events of each block in terms of cells and what they hold.
fn events_of<T: Reducible>(trace: &Trace, flow: Flow, memory: &GlobalMemory) -> Vec<Vec<Event>> {
    let mut elements = flow.into_elements();
    let mut content = |bits: u64| Content {
        value: number::<T>(bits),
        elements: elements.next(),
    };
    let cell_bytes = size_of::<T>() as u64;
    let mut event_of = |event: &TraceEvent| match event {
        TraceEvent::Access {
            warp,
            kind,
            space,
            bytes,
            lanes,
            ..
        } => {
            let mut moves = Vec::new();
            for access in lanes {
                let element_bytes = u64::from(*bytes) / access.values.len().max(1) as u64;
                for (index, &bits) in access.values.iter().enumerate() {
                    let content = content(bits);
                    let address = access.address + index as u64 * element_bytes;
                    if let Some(cell) = memory.cell(*space, address, cell_bytes) {
                        moves.push((access.lane, cell, content));
                    }
                }
            }
            Event::Access {
                warp: *warp,
                kind: *kind,
                moves,
            }
        }
        TraceEvent::Exchange { warp, lanes, .. } => Event::Exchange {
            warp: *warp,
            lanes: lanes
                .iter()
                .map(|lane| (lane.lane, lane.sources, content(lane.value.into())))
                .collect(),
        },
        TraceEvent::WarpBarrier { warp, .. } => Event::WarpBarrier { warp: *warp },
        TraceEvent::BlockBarrier { arrived } => Event::BlockBarrier {
            warps: arrived.iter().map(|&(warp, _)| warp).collect(),
        },
    };
    trace
        .blocks
        .iter()
        .map(|block| block.events.iter().map(&mut event_of).collect())
        .collect()
}

/// The value of type `T` that these bits stand for.
fn number<T: Reducible>(bits: u64) -> Number {
    bytemuck::pod_read_unaligned::<T>(&bits.to_le_bytes()[..size_of::<T>()]).into()
}
