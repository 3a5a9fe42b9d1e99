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
    /// What is wrong with what the launch has left, in words that follow the name of the lesson: `gives 0, which should be 136`.
    pub mistake: Option<String>,
    /// The blocks in order. All have the same number of steps, some of which may be empty.
    pub blocks: Vec<Block>,
}

/// One block of a launch.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// Its steps.
    pub steps: Vec<Step>,
}

/// What threads do side by side: in a step all reads come before all writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Step {
    /// What lies between the step before and this one.
    pub boundary: Boundary,
    /// The threads at work, in ascending order; the others are idle.
    pub work: Vec<Work>,
    /// What threads hold in the registers that they exchange in this step, as far as they do.
    pub registers: Vec<Write>,
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
    /// An exchange of registers, which waits for the lanes that take part.
    Exchange,
    /// The arrival of what asynchronous copies bring, for which threads wait at an mbarrier.
    Copy,
    /// A warp barrier.
    WarpBarrier,
    /// A block-wide barrier.
    BlockBarrier,
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

    /// The work of all blocks in a step: block and work.
    pub(super) fn work(&self, step: usize) -> impl Iterator<Item = (usize, &Work)> {
        self.blocks
            .iter()
            .enumerate()
            .flat_map(move |(number, block)| {
                block.steps[step]
                    .work
                    .iter()
                    .map(move |work| (number, work))
            })
    }

    /// What lies before a step, in all blocks together.
    pub(super) fn boundary(&self, step: usize) -> Boundary {
        self.blocks
            .iter()
            .map(|block| block.steps[step].boundary)
            .max()
            .unwrap_or_default()
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
        let written = writes.filter_map(|write| write.content.clone());
        (0..self.n)
            .map(|index| self.first_content(index))
            .chain(written)
    }

    /// The number of threads of all blocks.
    pub(super) fn threads(&self) -> usize {
        self.blocks.len() * self.block as usize
    }
}
