//! Kernels that launch kernels.

use crate::ladder::catalogue::{LADDER, SUM};
use crate::lesson::{
    Demonstration, Entries, Finish, Geometry, Lesson, Nested, Parameter, Part, Reduction, Task,
    pages,
};

pages! { "nested":
    NESTED_SYNC_PAGE "1" "The parent waits" "n01_nested_sync";
    NESTED_NOSYNC_PAGE "2" "Nobody waits" "n02_nested_nosync";
    NESTED_FIXED_PAGE "3" "One child for all blocks" "n03_nested_fixed";
    RECURSIVE_HELLO_PAGE "4" "Who launched whom" "n04_recursive_hello";
}

impl Nested {
    /// The most blocks that each grid of the tree has; the number of elements may ask for fewer.
    pub const MOST_BLOCKS: u32 = 2;
}

/// A reduction of tiles by grids launched from the device, the first with a thread for this many elements.
const fn halving(elements_per_thread: u32, by_every_block: bool) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        finish: Finish::Nested { by_every_block },
        in_place: true,
        ..SUM
    })
}

/// What the lessons of this part have in common; each row states the rest.
const NESTED: Lesson = Lesson {
    part: Part::Nested,
    module: Part::Nested.module(),
    ..LADDER
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "nested_sync",
        title: "recursion, with a wait",
        change: "each block launches a grid for the half of its tile that is left, and waits for it; the device runtime of CUDA 12 has no such wait, so it runs on the emulator",
        needs: &["interleaved"],
        entries: Entries::AnyBlock("nested_sync"),
        task: halving(1, true),
        emulator_only: true,
        ..NESTED.on(&NESTED_SYNC_PAGE)
    },
    Lesson {
        id: "nested_nosync",
        title: "recursion, no wait",
        change: "the launch is the parent's last act, so that nobody has to wait: the last child writes the sum",
        needs: &["nested_sync"],
        entries: Entries::AnyBlock("nested_nosync"),
        task: halving(1, true),
        ..NESTED.on(&NESTED_NOSYNC_PAGE)
    },
    Lesson {
        id: "nested_fixed",
        title: "one child for all",
        change: "one tail launch per level for all blocks, with half the threads, instead of one launch per block",
        needs: &["nested_nosync"],
        entries: Entries::AnyBlock("nested_fixed"),
        task: halving(2, false),
        ..NESTED.on(&NESTED_FIXED_PAGE)
    },
    Lesson {
        id: "recursive_hello",
        title: "a tree of grids",
        change: "a kernel that launches itself from every block: who launched whom, and in which order they began",
        needs: &["nested_nosync"],
        entries: Entries::AnyBlock("recursive_hello"),
        parameter: Some(Parameter {
            name: "depth",
            meaning: "how deep the grids nest",
            values: &[0, 1, 2, 3, 4, 8],
            usual: 2,
        }),
        task: Task::Demonstration(Demonstration::Nested(Nested::Tree)),
        ..NESTED.on(&RECURSIVE_HELLO_PAGE)
    },
];
