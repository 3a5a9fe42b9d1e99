//! The one list of kernels. The command line, the tests, the benches, the README and `cargo xtask build-ptx`
//! all read it; a test compares it with the `.entry` names in the generated PTX, both ways.

/// A part of the course; lessons are grouped by it and read in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Part 2: the reduction ladder.
    Ladder,
}

/// The exported PTX entries of a lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// One entry that reads its block size at run time (`%ntid.x`).
    AnyBlock(&'static str),
    /// One entry per block size, from a const generic: the host picks by the block size asked for.
    PerBlock(&'static [(u32, &'static str)]),
}

/// How many blocks a launch over `n` elements takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// Each block owns a tile of `elements_per_thread × block` consecutive elements: `ceil(n / (elements_per_thread × block))` blocks.
    Tiles {
        /// Elements that each thread of a block adds up before the tree.
        elements_per_thread: u32,
    },
}

/// What a lesson leaves behind and how it becomes one sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// One partial sum per block, in block order, which the host adds up.
    PartialPerBlock,
}

/// One lesson: a kernel, what it teaches, and all that a host needs to launch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// What the user types: `warpfold run <id>`.
    pub id: &'static str,
    /// The part of the course it belongs to.
    pub part: Part,
    /// Its number within the part, as shown: `1`, `4`, `5b`.
    pub step: &'static str,
    /// A few words for tables.
    pub title: &'static str,
    /// The one change against the step before, in one sentence.
    pub change: &'static str,
    /// The source file, relative to the repository root.
    pub file: &'static str,
    /// Exported entries.
    pub entries: Entries,
    /// Number of blocks for n elements.
    pub geometry: Geometry,
    /// How the result is completed.
    pub finish: Finish,
    /// Whether the kernel overwrites its input (the host hands it a copy).
    pub in_place: bool,
    /// The least compute capability it needs, as in `sm_70` → 70.
    pub least_sm: u32,
    /// For an exhibit, kept although it is wrong by the rules: what is wrong with it, in one sentence.
    pub exhibit: Option<&'static str>,
}

/// The block sizes every lesson of the ladder takes.
pub const BLOCK_SIZES: [u32; 5] = [64, 128, 256, 512, 1024];

/// All lessons in reading order.
pub const LESSONS: &[Lesson] = &[];
