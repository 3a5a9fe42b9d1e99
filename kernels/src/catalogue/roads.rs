//! Other roads to the same sum.

use super::ladder::{LADDER, RESIDENT_SUM, SUM};
use super::{Entries, Finish, Geometry, Lesson, Parameter, Part, Reduction, Task};

/// What the lessons of this part have in common; each row states the rest.
const ROAD: Lesson = Lesson {
    part: Part::Roads,
    task: partials(1),
    ..LADDER
};

/// So many elements a thread, and a partial sum for each block.
const fn partials(elements_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        ..SUM
    })
}

/// So many elements a thread, and each block adds its sum to the total.
const fn total(elements_per_thread: u32, shared_bytes_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        finish: Finish::Total,
        shared_bytes_per_thread,
        ..SUM
    })
}

/// The same, by a tree that overwrites the input.
const fn total_in_place(elements_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        finish: Finish::Total,
        in_place: true,
        ..SUM
    })
}

/// One block, which takes two elements a thread and leaves one sum.
const fn one_block(in_place: bool, shared_bytes_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::OneBlock {
            elements_per_thread: 2,
        },
        in_place,
        shared_bytes_per_thread,
        ..SUM
    })
}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "naive_atomic",
        step: "1",
        title: "everybody adds to one word",
        change: "one atomic addition for each element: the shortest kernel, and n of them stand in line",
        needs: &[],
        file: "kernels/src/r01_naive_atomic.rs",
        entries: Entries::AnyBlock("naive_atomic"),
        task: total(1, 0),
        ..ROAD
    },
    Lesson {
        id: "warp_aggregated_atomic",
        step: "2",
        title: "one atomic for a warp",
        change: "a warp adds up by shuffles before one lane adds to the total",
        needs: &["naive_atomic", "shuffle"],
        file: "kernels/src/r02_warp_aggregated_atomic.rs",
        entries: Entries::AnyBlock("warp_aggregated_atomic"),
        task: total(1, 0),
        ..ROAD
    },
    Lesson {
        id: "block_aggregated_atomic",
        step: "3",
        title: "one atomic for a block",
        change: "a block adds up as in step 9 before one thread adds to the total",
        needs: &["warp_aggregated_atomic"],
        file: "kernels/src/r03_block_aggregated_atomic.rs",
        entries: Entries::PerBlock(&[
            (64, "block_aggregated_atomic_64"),
            (128, "block_aggregated_atomic_128"),
            (256, "block_aggregated_atomic_256"),
            (512, "block_aggregated_atomic_512"),
            (1024, "block_aggregated_atomic_1024"),
        ]),
        task: total(1, 0),
        ..ROAD
    },
    Lesson {
        id: "blocked",
        step: "4",
        title: "a pair of elements a thread",
        change: "one block, whose thread i owns element 2i; the stride doubles, and the threads at work are scattered",
        needs: &["neighbored"],
        file: "kernels/src/r04_blocked.rs",
        entries: Entries::AnyBlock("blocked"),
        task: one_block(true, 0),
        ..ROAD
    },
    Lesson {
        id: "strided",
        step: "5",
        title: "the same, side by side",
        change: "one block, whose stride halves from B, so that threads at work and words stay side by side",
        needs: &["blocked", "interleaved"],
        file: "kernels/src/r05_strided.rs",
        entries: Entries::AnyBlock("strided"),
        task: one_block(true, 0),
        ..ROAD
    },
    Lesson {
        id: "shared_dynamic",
        step: "6",
        title: "memory by the launch",
        change: "one block, whose tree runs in shared memory that the launch sizes, after a first addition on loading",
        needs: &["strided", "complete_unroll_shared"],
        file: "kernels/src/r06_shared_dynamic.rs",
        entries: Entries::AnyBlock("shared_dynamic"),
        task: one_block(false, 4),
        ..ROAD
    },
    Lesson {
        id: "segmented_shared",
        step: "7",
        title: "any length, in segments",
        change: "a block for each 2B elements, which adds its sum to the total atomically",
        needs: &["shared_dynamic", "naive_atomic"],
        file: "kernels/src/r07_segmented_shared.rs",
        entries: Entries::AnyBlock("segmented_shared"),
        task: total(2, 4),
        ..ROAD
    },
    Lesson {
        id: "segmented_blocked",
        step: "8",
        title: "road 4 in segments",
        change: "the scattered tree at a size at which it can be measured",
        needs: &["blocked", "segmented_shared"],
        file: "kernels/src/r08_segmented_blocked.rs",
        entries: Entries::AnyBlock("segmented_blocked"),
        task: total_in_place(2),
        ..ROAD
    },
    Lesson {
        id: "segmented_strided",
        step: "9",
        title: "road 5 in segments",
        change: "the same loads and stores as the road before, in fewer sectors and by whole warps",
        needs: &["strided", "segmented_blocked"],
        file: "kernels/src/r09_segmented_strided.rs",
        entries: Entries::AnyBlock("segmented_strided"),
        task: total_in_place(2),
        ..ROAD
    },
    Lesson {
        id: "coarse",
        step: "10",
        title: "coarser threads",
        change: "each thread adds up 2K elements before the tree: K times fewer trees, barriers and atomics",
        needs: &["segmented_shared"],
        file: "kernels/src/r10_coarse.rs",
        entries: Entries::PerParameter(&[
            (1, "coarse_1"),
            (2, "coarse_2"),
            (4, "coarse_4"),
            (8, "coarse_8"),
        ]),
        parameter: Some(Parameter {
            name: "k",
            meaning: "pairs of elements that a thread adds up before the tree",
            values: &[1, 2, 4, 8],
            usual: 4,
        }),
        task: Task::Reduction(Reduction {
            geometry: Geometry::TilesTimesParameter {
                elements_per_thread: 2,
            },
            finish: Finish::Total,
            shared_bytes_per_thread: 4,
            ..SUM
        }),
        ..ROAD
    },
    Lesson {
        id: "tile_partition",
        step: "11",
        title: "a block in tiles",
        change: "a group of threads as a value, with a barrier of its own, which a function takes and needs to know no more",
        needs: &["vectorized", "segmented_shared"],
        file: "kernels/src/r11_tile_partition.rs",
        entries: Entries::PerParameter(&[
            (1, "tile_partition_1"),
            (2, "tile_partition_2"),
            (4, "tile_partition_4"),
            (8, "tile_partition_8"),
            (16, "tile_partition_16"),
            (32, "tile_partition_32"),
        ]),
        parameter: Some(Parameter {
            name: "tile",
            meaning: "threads of a tile",
            values: &[1, 2, 4, 8, 16, 32],
            usual: 32,
        }),
        task: Task::Reduction(Reduction {
            finish: Finish::Total,
            shared_bytes_per_thread: 4,
            ..RESIDENT_SUM
        }),
        ..ROAD
    },
    Lesson {
        id: "warp_shuffle_down",
        step: "12",
        title: "down a warp",
        change: "shuffles down leave the sum in one lane, and so thread 0 has that of the block",
        needs: &["shuffle"],
        file: "kernels/src/r12_warp_shuffle.rs",
        entries: Entries::AnyBlock("warp_shuffle_down"),
        task: partials(1),
        ..ROAD
    },
    Lesson {
        id: "warp_shuffle_xor",
        step: "12",
        title: "across a warp",
        change: "shuffles across leave the sum in every lane, and so every thread has that of the block",
        needs: &["warp_shuffle_down"],
        file: "kernels/src/r12_warp_shuffle.rs",
        entries: Entries::AnyBlock("warp_shuffle_xor"),
        task: partials(1),
        ..ROAD
    },
    Lesson {
        id: "grid_sync",
        step: "13",
        title: "a barrier for the whole grid",
        change: "a cooperative launch lets all blocks wait for one another, so that block 0 can finish",
        needs: &["single_pass"],
        file: "kernels/src/r13_grid_sync.rs",
        entries: Entries::PerBlock(&[
            (64, "grid_sync_64"),
            (128, "grid_sync_128"),
            (256, "grid_sync_256"),
            (512, "grid_sync_512"),
            (1024, "grid_sync_1024"),
        ]),
        task: Task::Reduction(Reduction {
            geometry: Geometry::Resident {
                elements_per_thread: 16,
                threads_per_multiprocessor: 1024,
            },
            finish: Finish::OneLaunch,
            ..SUM
        }),
        cooperative: true,
        ..ROAD
    },
    Lesson {
        id: "redux",
        step: "14",
        title: "a warp in one instruction",
        change: "since sm_80 the sum of a warp is one instruction, in the place of five shuffles and five additions",
        needs: &["shuffle"],
        file: "kernels/src/r14_redux.rs",
        entries: Entries::PerBlock(&[
            (64, "redux_64"),
            (128, "redux_128"),
            (256, "redux_256"),
            (512, "redux_512"),
            (1024, "redux_1024"),
        ]),
        task: partials(8),
        least_sm: 80,
        ..ROAD
    },
];
