//! The one list of kernels. The command line, the tests, the benches, the README and `cargo xtask build-ptx`
//! all read it; a test compares it with the `.entry` names in the generated PTX, both ways.

/// A part of the course; lessons are grouped by it and read in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The reduction ladder: the sum of `i32` values, one idea a step.
    Ladder,
    /// Steps of the ladder for other operators and types, through generic bodies.
    Operators,
}

impl Part {
    /// All parts in reading order.
    pub const ALL: [Self; 2] = [Self::Ladder, Self::Operators];

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ladder => "The ladder",
            Self::Operators => "Operators and types",
        }
    }
}

/// How a lesson puts values together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Addition, which wraps around for integers and rounds for floats.
    Sum,
}

/// The type of the elements that a lesson takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the Rust type of that name")]
pub enum ElementType {
    I32,
    F32,
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
    /// Each block owns a tile of `elements_per_thread × block` consecutive elements:
    /// `ceil(n / (elements_per_thread × block))` blocks.
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
    /// How it puts values together.
    pub operator: Operator,
    /// The type of the values.
    pub element_type: ElementType,
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

/// The block sizes every lesson takes.
pub const BLOCK_SIZES: [u32; 5] = [64, 128, 256, 512, 1024];

impl Lesson {
    /// The entry to launch for blocks of `block` threads, or `None` if the lesson has none for that size.
    pub fn entry(&self, block: u32) -> Option<&'static str> {
        if !BLOCK_SIZES.contains(&block) {
            return None;
        }
        match self.entries {
            Entries::AnyBlock(name) => Some(name),
            Entries::PerBlock(sizes) => sizes
                .iter()
                .find(|(size, _)| *size == block)
                .map(|(_, name)| *name),
        }
    }

    /// How many blocks of `block` threads a launch over `n` elements takes; 0 for no elements, which no launch can
    /// have: the sum of nothing needs no kernel.
    pub const fn grid(&self, n: u64, block: u32) -> u64 {
        let Geometry::Tiles {
            elements_per_thread,
        } = self.geometry;
        n.div_ceil(elements_per_thread as u64 * block as u64)
    }

    /// The names of all entries of the lesson, in the order of their block sizes.
    pub fn entry_names(&self) -> impl Iterator<Item = &'static str> {
        let (any_block, per_block) = match self.entries {
            Entries::AnyBlock(name) => (Some(name), &[][..]),
            Entries::PerBlock(sizes) => (None, sizes),
        };
        any_block
            .into_iter()
            .chain(per_block.iter().map(|(_, name)| *name))
    }
}

/// The lesson of that id.
pub fn find(id: &str) -> Option<&'static Lesson> {
    LESSONS.iter().find(|lesson| lesson.id == id)
}

/// The names of all entries of all lessons: what the module of kernels must export, no more and no less.
pub fn entry_names() -> impl Iterator<Item = &'static str> {
    LESSONS.iter().flat_map(Lesson::entry_names)
}

/// Why steps 5 to 7 are exhibits.
const NO_WARP_BARRIER: Option<&str> = Some(
    "the lanes of the last warp exchange sums through volatile accesses without a warp barrier, which is a data race: \
     since Volta (sm_70) a warp need not run in lockstep",
);

/// What the lessons of the ladder have in common; each row states the rest.
const LADDER: Lesson = Lesson {
    id: "",
    part: Part::Ladder,
    step: "",
    title: "",
    change: "",
    file: "",
    operator: Operator::Sum,
    element_type: ElementType::I32,
    entries: Entries::AnyBlock(""),
    geometry: Geometry::Tiles {
        elements_per_thread: 8,
    },
    finish: Finish::PartialPerBlock,
    in_place: true,
    least_sm: 70,
    exhibit: None,
};

/// What the instances of step 9's generic body have in common.
const GENERIC_SHUFFLE: Lesson = Lesson {
    part: Part::Operators,
    step: "1",
    file: "kernels/src/o01_shuffle.rs",
    in_place: false,
    ..LADDER
};

/// All lessons in reading order.
pub const LESSONS: &[Lesson] = &[
    Lesson {
        id: "neighbored",
        step: "1",
        title: "neighbours add up",
        change: "the tree of sums, in place: thread i works when i is a multiple of twice the stride, which doubles from 1",
        file: "kernels/src/l01_neighbored.rs",
        entries: Entries::AnyBlock("neighbored"),
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        ..LADDER
    },
    Lesson {
        id: "neighbored_less",
        step: "2",
        title: "whole warps retire",
        change: "the same sums, done by the first threads of the block instead of by every other one",
        file: "kernels/src/l02_neighbored_less.rs",
        entries: Entries::AnyBlock("neighbored_less"),
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        ..LADDER
    },
    Lesson {
        id: "interleaved",
        step: "3",
        title: "neighbours read neighbours",
        change: "the stride halves from half the block to 1, so that neighbouring threads touch neighbouring words",
        file: "kernels/src/l03_interleaved.rs",
        entries: Entries::AnyBlock("interleaved"),
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        ..LADDER
    },
    Lesson {
        id: "unroll2",
        step: "4",
        title: "two elements a thread",
        change: "each thread first adds two elements, loaded independently, so that half the blocks do the work",
        file: "kernels/src/l04_unroll.rs",
        entries: Entries::AnyBlock("unroll2"),
        geometry: Geometry::Tiles {
            elements_per_thread: 2,
        },
        ..LADDER
    },
    Lesson {
        id: "unroll4",
        step: "4",
        title: "four elements a thread",
        change: "four elements instead of two",
        file: "kernels/src/l04_unroll.rs",
        entries: Entries::AnyBlock("unroll4"),
        geometry: Geometry::Tiles {
            elements_per_thread: 4,
        },
        ..LADDER
    },
    Lesson {
        id: "unroll8",
        step: "4",
        title: "eight elements a thread",
        change: "eight elements instead of four",
        file: "kernels/src/l04_unroll.rs",
        entries: Entries::AnyBlock("unroll8"),
        ..LADDER
    },
    Lesson {
        id: "unroll_warps8",
        step: "5",
        title: "the last warp alone",
        change: "below stride 64 the first warp finishes alone, with volatile accesses and no block barrier",
        file: "kernels/src/l05_unroll_warps8.rs",
        entries: Entries::AnyBlock("unroll_warps8"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER
    },
    Lesson {
        id: "unroll_warps8_sync",
        step: "5b",
        title: "the last warp in step",
        change: "a warp barrier between the steps of the last warp instead of volatile accesses",
        file: "kernels/src/l05b_unroll_warps8_sync.rs",
        entries: Entries::AnyBlock("unroll_warps8_sync"),
        ..LADDER
    },
    Lesson {
        id: "complete_unroll_warps8",
        step: "6",
        title: "the loop written out",
        change: "step 5 with its loop written out, each step under a test of the block size",
        file: "kernels/src/l06_complete_unroll_warps8.rs",
        entries: Entries::AnyBlock("complete_unroll_warps8"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER
    },
    Lesson {
        id: "complete_unroll",
        step: "7",
        title: "the block size in the type",
        change: "the block size is a const generic, and its tests vanish when the kernel is compiled",
        file: "kernels/src/l07_complete_unroll.rs",
        entries: Entries::PerBlock(&[
            (64, "complete_unroll_64"),
            (128, "complete_unroll_128"),
            (256, "complete_unroll_256"),
            (512, "complete_unroll_512"),
            (1024, "complete_unroll_1024"),
        ]),
        exhibit: NO_WARP_BARRIER,
        ..LADDER
    },
    Lesson {
        id: "complete_unroll_shared",
        step: "8",
        title: "the tree in shared memory",
        change: "the tree runs in shared memory, and the input is only read",
        file: "kernels/src/l08_complete_unroll_shared.rs",
        entries: Entries::PerBlock(&[
            (64, "complete_unroll_shared_64"),
            (128, "complete_unroll_shared_128"),
            (256, "complete_unroll_shared_256"),
            (512, "complete_unroll_shared_512"),
            (1024, "complete_unroll_shared_1024"),
        ]),
        in_place: false,
        ..LADDER
    },
    Lesson {
        id: "shuffle",
        step: "9",
        title: "registers talk to registers",
        change: "each warp adds up by shuffles, and only one word per warp goes through shared memory",
        file: "kernels/src/l09_shuffle.rs",
        entries: Entries::PerBlock(&[
            (64, "shuffle_64"),
            (128, "shuffle_128"),
            (256, "shuffle_256"),
            (512, "shuffle_512"),
            (1024, "shuffle_1024"),
        ]),
        in_place: false,
        ..LADDER
    },
    Lesson {
        id: "shuffle_sum_i32",
        title: "step 9, generic, for the sum of i32",
        change: "step 9 with its operator and its type taken out, which costs nothing: its instructions are those of step 9",
        operator: Operator::Sum,
        element_type: ElementType::I32,
        entries: Entries::PerBlock(&[
            (64, "shuffle_sum_i32_64"),
            (128, "shuffle_sum_i32_128"),
            (256, "shuffle_sum_i32_256"),
            (512, "shuffle_sum_i32_512"),
            (1024, "shuffle_sum_i32_1024"),
        ]),
        ..GENERIC_SHUFFLE
    },
    Lesson {
        id: "shuffle_sum_f32",
        title: "the same body for the sum of f32",
        change: "the same body for floats, whose sum depends on the grouping: a tree rounds less than a loop",
        operator: Operator::Sum,
        element_type: ElementType::F32,
        entries: Entries::PerBlock(&[
            (64, "shuffle_sum_f32_64"),
            (128, "shuffle_sum_f32_128"),
            (256, "shuffle_sum_f32_256"),
            (512, "shuffle_sum_f32_512"),
            (1024, "shuffle_sum_f32_1024"),
        ]),
        ..GENERIC_SHUFFLE
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_entries_are_unique() {
        for (i, lesson) in LESSONS.iter().enumerate() {
            assert_eq!(
                LESSONS.iter().position(|other| other.id == lesson.id),
                Some(i)
            );
        }
        for (i, name) in entry_names().enumerate() {
            assert_eq!(
                entry_names().position(|other| other == name),
                Some(i),
                "{name}"
            );
        }
    }

    #[test]
    fn every_lesson_takes_every_block_size_and_no_other() {
        for lesson in LESSONS {
            for block in BLOCK_SIZES {
                assert!(lesson.entry(block).is_some(), "{} at {block}", lesson.id);
            }
            for block in [0, 1, 32, 63, 100, 2048] {
                assert_eq!(lesson.entry(block), None, "{} at {block}", lesson.id);
            }
        }
    }

    #[test]
    fn lessons_stand_in_the_order_of_the_parts() {
        assert!(LESSONS.is_sorted_by_key(|lesson| lesson.part));
        for part in Part::ALL {
            assert!(LESSONS.iter().any(|lesson| lesson.part == part), "{part:?}");
        }
    }

    #[test]
    fn the_ladder_is_the_sum_of_i32() {
        for lesson in LESSONS.iter().filter(|lesson| lesson.part == Part::Ladder) {
            let sum_of_i32 = (Operator::Sum, ElementType::I32);
            assert_eq!((lesson.operator, lesson.element_type), sum_of_i32);
        }
    }

    #[test]
    fn an_entry_per_block_size_names_its_size() {
        let lesson = find("shuffle").unwrap();
        assert_eq!(lesson.entry(512), Some("shuffle_512"));
        assert_eq!(find("unroll2").unwrap().entry(512), Some("unroll2"));
        assert_eq!(find("shuffle_512"), None);
    }

    #[test]
    fn the_grid_covers_every_element_and_has_no_block_without_one() {
        let unroll8 = find("unroll8").unwrap();
        assert_eq!(unroll8.grid(0, 512), 0);
        assert_eq!(unroll8.grid(1, 512), 1);
        assert_eq!(unroll8.grid(4096, 512), 1);
        assert_eq!(unroll8.grid(4097, 512), 2);
        assert_eq!(find("neighbored").unwrap().grid(1 << 32, 64), 1 << 26);
    }
}
