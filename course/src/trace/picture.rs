//! What a picture is made of, whatever draws it.

use crate::number::Number;
use serde::Serialize;

/// A launch in steps.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// The lesson.
    pub lesson: &'static str,
    /// A few words on it.
    pub title: &'static str,
    /// Number of elements.
    pub n: usize,
    /// Threads of a block.
    pub block: u32,
    /// The input before the launch.
    pub input: Vec<Number>,
    /// What else the launch reads that was there before it: a second buffer, constant memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Write>,
    /// What is wrong with what the launch has left, in words that follow the name of the lesson: `gives 0, which should be 136`.
    pub mistake: Option<String>,
    /// The grids: the host's, and those that kernels have launched.
    pub grids: Vec<Grid>,
    /// The blocks, grid by grid, in order. All have the same number of steps, some of which may be empty.
    pub blocks: Vec<Block>,
}

impl Picture {
    /// Says of each step which line of source it comes from, as `source` does of a line of PTX.
    pub fn name_sources(&mut self, source: impl Fn(u32) -> Option<String>) {
        let blocks = self.blocks.iter_mut();
        for step in blocks.flat_map(|block| &mut block.steps) {
            step.source = step.ptx_line.and_then(&source);
        }
    }
}

/// A grid.
#[derive(Clone, Debug, Serialize)]
pub struct Grid {
    /// 0 for the host's, then 1, 2 … in the order in which kernels launch theirs.
    pub number: u64,
    /// Who has launched it; `None` for the host.
    pub launched_by: Option<Launcher>,
    /// 0 for the host's, 1 for those that it launches, and so on.
    pub generation: u32,
    /// Its blocks.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
}

/// The thread that has launched a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Launcher {
    /// Its grid.
    pub grid: u64,
    /// The number of its block in that.
    pub block: usize,
    /// Its number in the block.
    pub thread: u32,
}

/// One block of a launch.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// The number of its grid.
    pub grid: u64,
    /// Its own number in that.
    pub number: usize,
    /// The block of the host's grid that it descends from, or would if each block of its grid descended from one.
    pub place: usize,
    /// Its threads.
    pub threads: u32,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// What threads do side by side: in a step all reads come before all writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Step {
    /// What lies between the step before and this one.
    pub boundary: Boundary,
    /// The PTX line of its first write, or of its first read where it writes nothing, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx_line: Option<u32>,
    /// The line of source that this comes from and its text, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The threads at work, in ascending order; the others are idle.
    pub work: Vec<Work>,
    /// What threads hold in the registers that they exchange in this step, as far as they do.
    pub registers: Vec<Write>,
    /// How its warps access memory, in lessons that are about that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<Access>,
}

/// What one memory instruction of a warp accesses.
#[derive(Clone, Debug, Serialize)]
pub struct Access {
    /// The warp's number in its block.
    pub warp: u32,
    /// Whether it writes.
    pub is_write: bool,
    /// The first cell that it accesses.
    pub first: Cell,
    /// Bytes for each lane.
    pub bytes: u32,
    /// The lanes, and where they access the buffer or the block's shared memory, in bytes from its beginning.
    pub offsets: Vec<(u32, u64)>,
}

/// What separates a step from the one before. Where several do, the last of this list counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// Nothing: it is the first.
    #[default]
    Start,
    /// Each thread reads only what it has written itself.
    OwnThread,
    /// The launch of the grid.
    Launch,
    /// The end of grids that the block has launched.
    GridWait,
    /// An exchange of registers, which waits for the lanes that take part.
    Exchange,
    /// The arrival of what asynchronous copies bring, for which threads wait at an mbarrier.
    Copy,
    /// A warp barrier.
    WarpBarrier,
    /// A block-wide barrier.
    BlockBarrier,
    /// A barrier of the whole grid.
    GridBarrier,
    /// A lane reads what another lane of its warp has written, and nothing orders the two: racecheck finds a race.
    Unordered,
}

/// What one thread does in a step.
#[derive(Clone, Debug, Serialize)]
pub struct Work {
    /// The thread's number in its block.
    pub thread: u32,
    /// What it reads, in the order in which it does; of registers those of other threads.
    pub reads: Vec<Cell>,
    /// How many cells one of its loads brings: more than 1 for a vector.
    pub width: usize,
    /// Whether asynchronous copies read and write for it.
    pub is_copy: bool,
    /// The grids that it launches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<u64>,
    /// Whether what it writes is also made of something that it has kept in a register.
    pub from_register: bool,
    /// What it writes.
    pub writes: Vec<Write>,
    /// Whether what it does has a part in what the launch leaves: in a value, or in how blocks find out whose turn it is.
    pub is_used: bool,
}

/// A cell and what it holds from now on.
#[derive(Clone, Debug, Serialize)]
pub struct Write {
    /// The cell.
    pub cell: Cell,
    /// What it holds; `None` where the trace has not seen it, in a register.
    pub content: Option<Content>,
}

/// A place for one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// An element of the input, in global memory.
    Input(usize),
    /// A word of the block's shared memory.
    Shared(usize),
    /// The register of this thread that others read.
    Register(u32),
    /// A word of a second buffer, in global memory.
    Second(usize),
    /// A word of constant memory, counted from the first that the launch reads.
    Constant(usize),
    /// A word of the buffer that a demonstration writes, in global memory.
    Output(usize),
    /// A word of the buffer that it writes the totals of its sections to, in global memory.
    Totals(usize),
    /// A partial result, in global memory.
    Partials(usize),
    /// The result of the whole launch, in global memory.
    Total(usize),
    /// What the launch prepares for the one after it, in global memory.
    Next(usize),
    /// What blocks count each other by, in global memory.
    Counter(usize),
    /// Where errors of launches from the device are left, in global memory.
    Status(usize),
}

impl Cell {
    /// Which one it is of its kind: the number of the element, of the word, or of the thread.
    pub fn index(self) -> usize {
        match self {
            Self::Register(thread) => thread as usize,
            Self::Input(index)
            | Self::Shared(index)
            | Self::Second(index)
            | Self::Constant(index)
            | Self::Output(index)
            | Self::Totals(index)
            | Self::Partials(index)
            | Self::Total(index)
            | Self::Next(index)
            | Self::Counter(index)
            | Self::Status(index) => index,
        }
    }
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Content {
    /// The value.
    pub value: Number,
    /// The elements of the input that it is made of, in ascending order; `None` where the lesson takes other ways for other
    /// values, so that this cannot be found.
    pub elements: Option<Vec<usize>>,
}

impl Picture {
    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.blocks.first().map_or(0, |block| block.steps.len())
    }

    /// What an element of the input is before the launch.
    pub(super) fn first_content(&self, index: usize) -> Content {
        Content {
            value: self.input[index],
            elements: Some(vec![index]),
        }
    }

    /// All that cells ever hold.
    pub(super) fn contents(&self) -> impl Iterator<Item = Content> {
        let steps = self.blocks.iter().flat_map(|block| &block.steps);
        let writes = steps.flat_map(|step| {
            let work = step.work.iter().flat_map(|work| &work.writes);
            work.chain(&step.registers)
        });
        let written = writes
            .chain(&self.beside)
            .filter_map(|write| write.content.clone());
        (0..self.input.len())
            .map(|index| self.first_content(index))
            .chain(written)
    }
}
