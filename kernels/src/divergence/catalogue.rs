//! Threads of one warp that take different branches.

use crate::ladder::catalogue::SUM;
use crate::lesson::{
    Demonstration, Divergence, ElementType, Entries, Geometry, Lesson, Part, Reduction, Task, pages,
};

pages! { "divergence":
    EVEN_ODD_PAGE "1" "Even and odd" "d01_even_odd";
    ODD_EVEN_ADD_PAGE "2" "An `if` without a branch" "d02_odd_even_add";
    BLOCK_REDUCE_PAGE "3" "Two trees, and as many elements as there are" "d03_block_reduce";
}

/// What the lessons of this part have in common; each row states the rest.
const DIVERGENCE: Lesson = Lesson {
    id: "",
    part: Part::Divergence,
    module: Part::Divergence.module(),
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    least_block: 1,
    parameter: None,
    task: Task::Demonstration(Demonstration::Divergence(Divergence::EvenOdd)),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// The block sums, which differ in their tree alone.
const BLOCK_REDUCE: Lesson = Lesson {
    task: Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        in_place: true,
        // Of more than 2³¹ elements, no sum in 32 bits says much.
        result_type: ElementType::I64,
        ..SUM
    }),
    ..DIVERGENCE.on(&BLOCK_REDUCE_PAGE)
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "even_odd_divergent",
        title: "every warp takes both sides",
        change: "the parity of the thread decides a branch: half of the lanes wait while the others work",
        needs: &["neighbored_less"],
        entries: Entries::AnyBlock("even_odd_divergent"),
        ..DIVERGENCE.on(&EVEN_ODD_PAGE)
    },
    Lesson {
        id: "even_odd_warp",
        title: "every warp takes one side",
        change: "the parity of the warp decides it, for the same result: no lane waits, but the stores are further apart",
        needs: &["even_odd_divergent"],
        entries: Entries::AnyBlock("even_odd_warp"),
        ..DIVERGENCE.on(&EVEN_ODD_PAGE)
    },
    Lesson {
        id: "odd_even_add",
        title: "an `if` without a branch",
        change: "where the two sides differ in one operand, the compiler turns the branch into a selection",
        needs: &["even_odd_divergent"],
        entries: Entries::AnyBlock("odd_even_add"),
        task: Task::Demonstration(Demonstration::Divergence(Divergence::OddEvenAdd)),
        ..DIVERGENCE.on(&ODD_EVEN_ADD_PAGE)
    },
    Lesson {
        id: "block_reduce_1",
        title: "a tree of scattered threads",
        change: "the threads at work are scattered over all warps: lanes idle at every branch",
        needs: &["neighbored"],
        entries: Entries::AnyBlock("block_reduce_1"),
        ..BLOCK_REDUCE
    },
    Lesson {
        id: "block_reduce_2",
        title: "a tree of whole warps",
        change: "the same numbers of accesses and barriers, with the threads at work side by side",
        needs: &["block_reduce_1", "interleaved"],
        entries: Entries::AnyBlock("block_reduce_2"),
        ..BLOCK_REDUCE
    },
];
