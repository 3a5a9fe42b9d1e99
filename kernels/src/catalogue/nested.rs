//! Kernels that launch kernels.

use super::{
    Demonstration, ElementType, Entries, Finish, Geometry, Lesson, Operator, Parameter, Part,
    Reduction, Task,
};

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {
    /// The tree of grids of a kernel that launches itself.
    Tree,
}

impl Nested {
    /// The most blocks that each grid of the tree has; the number of elements may ask for fewer.
    pub const MOST_BLOCKS: u32 = 2;
}

/// A reduction of tiles by grids launched from the device.
const fn halving(by_every_block: bool) -> Task {
    Task::Reduction(Reduction {
        operator: Operator::Sum,
        element_type: ElementType::I32,
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        finish: Finish::Nested { by_every_block },
        in_place: true,
        shared_bytes_per_thread: 0,
    })
}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "nested_sync",
        part: Part::Nested,
        step: "1",
        title: "recursion, with a wait",
        change: "each block launches a grid for the half of its tile that is left, and waits for it; no GPU can do so since CUDA 12",
        needs: &["interleaved"],
        file: "kernels/src/n01_nested_sync.rs",
        entries: Entries::AnyBlock("nested_sync"),
        parameter: None,
        task: halving(true),
        cooperative: false,
        least_sm: 70,
        exhibit: None,
        emulator_only: true,
    },
    Lesson {
        id: "nested_nosync",
        part: Part::Nested,
        step: "2",
        title: "recursion, no wait",
        change: "the launch is the parent's last act, so that nobody has to wait: the last child writes the sum",
        needs: &["nested_sync"],
        file: "kernels/src/n02_nested_nosync.rs",
        entries: Entries::AnyBlock("nested_nosync"),
        parameter: None,
        task: halving(true),
        cooperative: false,
        least_sm: 70,
        exhibit: None,
        emulator_only: false,
    },
    Lesson {
        id: "nested_fixed",
        part: Part::Nested,
        step: "3",
        title: "one child for all",
        change: "one tail launch per level for all blocks, with half the threads, instead of one launch per block",
        needs: &["nested_nosync"],
        file: "kernels/src/n03_nested_fixed.rs",
        entries: Entries::AnyBlock("nested_fixed"),
        parameter: None,
        task: halving(false),
        cooperative: false,
        least_sm: 70,
        exhibit: None,
        emulator_only: false,
    },
    Lesson {
        id: "recursive_hello",
        part: Part::Nested,
        step: "4",
        title: "a tree of grids",
        change: "a kernel that launches itself from every block: who launched whom, and in which order they began",
        needs: &["nested_nosync"],
        file: "kernels/src/n04_recursive_hello.rs",
        entries: Entries::AnyBlock("recursive_hello"),
        parameter: Some(Parameter {
            name: "depth",
            meaning: "how deep the grids nest",
            values: &[0, 1, 2, 3, 4, 8],
            usual: 2,
        }),
        task: Task::Demonstration(Demonstration::Nested(Nested::Tree)),
        cooperative: false,
        least_sm: 70,
        exhibit: None,
        emulator_only: false,
    },
];
