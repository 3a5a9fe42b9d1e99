//! What the catalogue says of one lesson.

use super::{
    Cooperation, Divergence, ElementType, Finish, Histogram, Memory, Nested, Operator, Page, Part,
    PtxText, Scan, Shapes,
};
use crate::lists::for_each_block_size;

macro_rules! array {
    ($($block:literal)*) => { [$($block),*] };
}

/// The block sizes every lesson takes.
pub const BLOCK_SIZES: [u32; 5] = for_each_block_size!(array);

/// One lesson: a kernel, what it teaches, and all that a host needs to launch it.
///
/// Only the catalogue makes lessons: outside of this crate none can be made, copied or changed. Hosts launch kernels in
/// safe code by what a lesson says, so a lesson that says anything else would be unsound.
///
/// ```compile_fail
/// let copy = *warpfold_kernels::catalogue::find("shuffle").unwrap();
/// ```
/// ```compile_fail
/// use warpfold_kernels::catalogue::{Lesson, find};
/// let shuffle = find("shuffle").unwrap();
/// let changed = Lesson { cooperative: true, ..*shuffle };
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lesson {
    /// What the user types: `warpfold run <id>`.
    pub id: &'static str,
    /// The part of the course it belongs to.
    pub part: Part,
    /// The number of its page.
    pub step: &'static str,
    /// A few words for tables.
    pub title: &'static str,
    /// What its reader learns, in one sentence; on the ladder, the one change against the step before.
    pub change: &'static str,
    /// The ids of the lessons to have read before.
    pub needs: &'static [&'static str],
    /// The file of its page, relative to the repository root.
    pub file: &'static str,
    /// Exported entries.
    pub entries: Entries,
    /// The PTX text that they are in.
    pub module: PtxText,
    /// The fewest threads that a block may have where the entry reads its block size at run time: 32 for a kernel whose lanes
    /// exchange values across a whole warp. [`BLOCK_SIZES`] all have that many.
    pub least_block: u32,
    /// What can be chosen besides the block size.
    pub parameter: Option<Parameter>,
    /// What the kernel is for.
    pub task: Task,
    /// Whether its blocks wait for one another, so that all of them have to run at once.
    pub cooperative: bool,
    /// The least compute capability it needs, as in `sm_70` → 70.
    pub least_sm: u32,
    /// For an exhibit, kept although it is wrong by the rules: what is wrong with it, in one sentence.
    pub exhibit: Option<&'static str>,
    /// Whether only the emulator runs it, because no GPU does any more.
    pub emulator_only: bool,
}

/// The exported PTX entries of a lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// One entry that reads its block size at run time (`%ntid.x`).
    AnyBlock(&'static str),
    /// One entry per block size, from a const generic: the host picks by the block size asked for.
    PerBlock(&'static [(u32, &'static str)]),
    /// One entry per value of the lesson's parameter, from a const generic; each reads its block size at run time.
    PerParameter(&'static [(u32, &'static str)]),
}

/// One entry for each block size, with the size after the name: `shuffle_64`.
macro_rules! per_block {
    ($name:expr) => {
        $crate::lists::for_each_block_size!(per_block, @of $name;)
    };
    (@of $name:expr; $($block:literal)*) => {
        $crate::lesson::Entries::PerBlock(&[$(($block, concat!($name, "_", $block))),*])
    };
}

pub(crate) use per_block;

/// A number that a lesson depends on, besides the block size and the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: `stride`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub meaning: &'static str,
    /// The values it may have, in order.
    pub values: &'static [u32],
    /// The value it has unless another is asked for.
    pub usual: u32,
}

/// What a user chooses of a lesson: one of its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Threads of a block.
    pub block: u32,
    /// The value of the lesson's parameter, if it has one.
    pub parameter: Option<u32>,
}

/// What a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// It reduces many values to one.
    Reduction(Reduction),
    /// It shows something else, which the host knows how to set up and to verify.
    Demonstration(Demonstration),
}

/// Reducing many values to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// How it combines values.
    pub operator: Operator,
    /// The type of the values.
    pub element_type: ElementType,
    /// The type of what the kernel leaves: a block's partial results, or the total.
    pub partial_type: ElementType,
    /// The type of the result, in which the host combines partial results.
    pub result_type: ElementType,
    /// Number of blocks for n elements.
    pub geometry: Geometry,
    /// What it leaves, and so which arguments it takes.
    pub finish: Finish,
    /// Whether the kernel overwrites its input (the host hands it a copy).
    pub in_place: bool,
    /// Bytes of dynamic shared memory that the launch asks for, for each thread of a block.
    pub shared_bytes_per_thread: u32,
}

/// How many blocks a launch over `n` elements takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// Each block owns a tile of `elements_per_thread × block` consecutive elements:
    /// `ceil(n / (elements_per_thread × block))` blocks.
    Tiles {
        /// Elements that each thread of a block adds up before the tree.
        elements_per_thread: u32,
    },
    /// As `Tiles`, with `elements_per_thread` times the lesson's parameter.
    TilesTimesParameter {
        /// Elements that each thread adds up, divided by the parameter.
        elements_per_thread: u32,
    },
    /// One block, which takes `elements_per_thread × block` elements at most.
    OneBlock {
        /// The most elements that each thread takes.
        elements_per_thread: u32,
    },
    /// As many blocks as `Tiles` has, but no more than the device runs at once. Each goes on with the tile one grid further
    /// on until there is none.
    Resident {
        /// Elements that each thread takes of one tile.
        elements_per_thread: u32,
        /// Threads that the launch puts on each multiprocessor, in whole blocks.
        threads_per_multiprocessor: u32,
    },
}

/// What a lesson shows if it is not a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the part of that name")]
pub enum Demonstration {
    Nested(Nested),
    Divergence(Divergence),
    Memory(Memory),
    Cooperation(Cooperation),
    Histogram(Histogram),
    Scan(Scan),
    Shapes(Shapes),
}

impl Lesson {
    /// This row as one of a page.
    pub(crate) const fn on(self, page: &Page) -> Self {
        Self {
            step: page.step,
            file: page.file,
            ..self
        }
    }

    /// The entry to launch, or `None` if the lesson has none for such blocks or such a parameter.
    pub fn entry(&self, variant: Variant) -> Option<&'static str> {
        if !BLOCK_SIZES.contains(&variant.block) || !self.takes_parameter(variant.parameter) {
            return None;
        }
        self.entries.find(variant)
    }

    fn takes_parameter(&self, value: Option<u32>) -> bool {
        match (self.parameter, value) {
            (None, None) => true,
            (Some(parameter), Some(value)) => parameter.values.contains(&value),
            _ => false,
        }
    }

    /// Blocks of `block` threads, and the usual value of the parameter.
    pub fn usual(&self, block: u32) -> Variant {
        Variant {
            block,
            parameter: self.parameter.map(|parameter| parameter.usual),
        }
    }

    /// Blocks of `block` threads with every value of the parameter.
    pub fn variants_of(&self, block: u32) -> impl Iterator<Item = Variant> + use<> {
        variants_of(self.parameter, block)
    }

    /// Everything that can be chosen: each block size with each value of the parameter.
    pub fn variants(&self) -> impl Iterator<Item = Variant> + use<> {
        let parameter = self.parameter;
        BLOCK_SIZES
            .into_iter()
            .flat_map(move |block| variants_of(parameter, block))
    }

    /// Whether different runs may give different results that are all right, because its blocks take numbers in the order
    /// in which they come.
    pub const fn results_in_any_order(&self) -> bool {
        matches!(
            self.task,
            Task::Demonstration(
                Demonstration::Nested(Nested::Tree)
                    | Demonstration::Cooperation(Cooperation::CoalescedGroup)
            )
        )
    }

    /// The reduction that it is, if it is one.
    pub const fn reduction(&self) -> Option<&Reduction> {
        match &self.task {
            Task::Reduction(reduction) => Some(reduction),
            Task::Demonstration(_) => None,
        }
    }

    /// The names of all entries of the lesson, in their order.
    pub fn entry_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (one, several) = match self.entries {
            Entries::AnyBlock(name) => (Some(name), &[][..]),
            Entries::PerBlock(entries) | Entries::PerParameter(entries) => (None, entries),
        };
        one.into_iter().chain(several.iter().map(|(_, name)| *name))
    }
}

/// Blocks of `block` threads with every value of the parameter.
fn variants_of(parameter: Option<Parameter>, block: u32) -> impl Iterator<Item = Variant> {
    let values = parameter.map(|parameter| parameter.values);
    let without = values.is_none().then_some(None);
    let with = values.into_iter().flatten().map(|&value| Some(value));
    without
        .into_iter()
        .chain(with)
        .map(move |parameter| Variant { block, parameter })
}

impl Entries {
    /// The entry for the variant, whether or not the lesson offers it: one that reads its block size at run time takes any.
    pub fn find(&self, variant: Variant) -> Option<&'static str> {
        let named = |entries: &[(u32, &'static str)], key| {
            let found = entries.iter().find(|(of, _)| *of == key);
            found.map(|&(_, name)| name)
        };
        match *self {
            Self::AnyBlock(name) => Some(name),
            Self::PerBlock(entries) => named(entries, variant.block),
            Self::PerParameter(entries) => named(entries, variant.parameter?),
        }
    }
}

impl Reduction {
    /// The types of the values, of what the kernel leaves, and of the result.
    pub const fn types(&self) -> [ElementType; 3] {
        [self.element_type, self.partial_type, self.result_type]
    }

    /// The same of values of one type throughout.
    pub(crate) const fn of_type(self, element_type: ElementType) -> Self {
        Self {
            element_type,
            partial_type: element_type,
            result_type: element_type,
            ..self
        }
    }

    /// How many blocks a launch over `n` elements takes on a device of this many multiprocessors. It is 0 for no elements:
    /// no launch can have 0 blocks, and an empty input needs no kernel.
    pub fn blocks(&self, n: u64, variant: Variant, multiprocessors: u32) -> u64 {
        let tiles = n.div_ceil(self.elements_per_thread(variant) * u64::from(variant.block));
        match self.geometry {
            Geometry::Tiles { .. } | Geometry::TilesTimesParameter { .. } => tiles,
            Geometry::OneBlock { .. } => tiles.min(1),
            Geometry::Resident {
                threads_per_multiprocessor,
                ..
            } => {
                let each = (threads_per_multiprocessor / variant.block).max(1);
                tiles.min(u64::from(multiprocessors) * u64::from(each))
            }
        }
    }

    /// Elements that each thread takes of one tile.
    pub fn elements_per_thread(&self, variant: Variant) -> u64 {
        match self.geometry {
            Geometry::Tiles {
                elements_per_thread,
            }
            | Geometry::OneBlock {
                elements_per_thread,
            }
            | Geometry::Resident {
                elements_per_thread,
                ..
            } => elements_per_thread.into(),
            Geometry::TilesTimesParameter {
                elements_per_thread,
            } => u64::from(elements_per_thread) * u64::from(variant.parameter.unwrap_or(1)),
        }
    }

    /// The most elements that a launch takes, if the geometry has a limit.
    pub fn most_elements(&self, variant: Variant) -> Option<u64> {
        match self.geometry {
            Geometry::OneBlock { .. } => {
                Some(self.elements_per_thread(variant) * u64::from(variant.block))
            }
            Geometry::Tiles { .. }
            | Geometry::TilesTimesParameter { .. }
            | Geometry::Resident { .. } => None,
        }
    }

    /// Dynamic shared memory of a block, in bytes.
    pub const fn dynamic_shared_bytes(&self, variant: Variant) -> u32 {
        self.shared_bytes_per_thread * variant.block
    }
}
